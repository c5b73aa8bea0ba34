"""How coarse an operator's segments may be, and about how long it then takes on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile

from planners.core.compute_seconds import ComputeSeconds
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from planners.overlap.kernels.row_lines import alone_in_rows, joins, line_in_rows
from planners.overlap.model.rows import TensorRows
from planners.overlap.model.segments import Segments


@dataclass(frozen=True)
class Cost:
    """The approximate seconds of kernels by the simulator's model: weights are read for each
    instruction, windows overlap, and each instruction begins anew. What the network is given
    arrives, and what it returns leaves, while other parts are made.
    """

    graph: Graph
    machine: Machine
    parameters: bool

    def seconds(self, run: RunCandidate) -> float:
        """Of all operators of a run, one after the other."""
        last = self.graph.operators[run.operators[-1]]
        times = self._times(last, run.rows)
        ops = [self.graph.operators[p] for p in run.operators]
        again = self._compute.macs_s(run.extra_macs, ops)
        return again + sum(self._of(op, min(times, self._times(op, run.rows and 1))) for op in ops)

    @cached_property
    def _compute(self) -> ComputeSeconds:
        return ComputeSeconds(self.graph, self.machine)

    def _array_s(self, op: Operator, times: int) -> float:
        """Seconds of array and outputs where an operator is made in so many parts, by rows of
        which some parts have one more than the others."""
        rows = TensorRows(self.graph, op.outputs[0])
        if times > rows.count:
            return self._compute.parts_s(op, Segments(self.graph, op.outputs[0]).box(0), times)
        fewer, with_more = divmod(rows.count, times)
        some_s = self._compute.parts_s(op, rows.box(0, fewer), times - with_more)
        if not with_more:
            return some_s
        return some_s + self._compute.parts_s(op, rows.box(0, fewer + 1), with_more)

    def _times(self, op: Operator, rows: int) -> int:
        if not rows:
            return Segments(self.graph, op.outputs[0]).count
        return -(-TensorRows(self.graph, op.outputs[0]).count // rows)

    def _of(self, op: Operator, times: int) -> float:
        machine, graph = self.machine, self.graph
        onchip, home = machine.memory(machine.onchip), machine.memory(machine.parameters)
        read_s = {home.name: 0.0, onchip.name: 0.0}
        for name in op.parameters if self.parameters else ():
            crossing = self._compute.crossing(name, home.name) * graph.size_bytes(name)
            read_s[home.name] += crossing * times / home.read_bytes_per_s
        for name in op.inputs:
            again = max(0, op.kernel[0] - op.stride[0]) if op.kernel else 0
            share = 1 + again * (times - 1) / TensorRows(graph, name).count
            read_s[onchip.name] += graph.size_bytes(name) * share / onchip.read_bytes_per_s
        written = sum(map(graph.size_bytes, op.outputs)) / onchip.write_bytes_per_s
        array_s, written_s = self._array_s(op, times), {onchip.name: written}
        made_s = self._compute.instructions_s(op, times, array_s, read_s, written_s)
        return made_s + sum(_waited_s(each, made_s, times) for each in self._moved_s(op))

    def _moved_s(self, op: Operator) -> Iterator[float]:
        """Seconds for what an operator reads of the network's inputs, and makes of its outputs."""
        graph, host = self.graph, self.machine.memory(self.machine.offchip)
        arriving = sum(graph.size_bytes(name) for name in op.inputs if name in graph.inputs)
        leaving = sum(graph.size_bytes(name) for name in op.outputs if name in graph.outputs)
        yield arriving / host.read_bytes_per_s
        yield leaving / host.write_bytes_per_s


def _waited_s(moving_s: float, made_s: float, parts: int) -> float:
    """What moving adds to making where each part is made while another moves."""
    return moving_s / parts + max(0.0, moving_s - made_s) * (parts - 1) / parts


def row_levels(count: int) -> Iterator[int]:
    """Rows at once: all of so many, half of them, and so on down to one."""
    yield count
    while count > 1:
        count = -(-count // 2)
        yield count


class Levels:
    """Ever finer segments for operators that make one run, made on demand.

    All rows at once, fewer, and, where `pixels` is set, segment by segment; several operators then
    in each form that makes pixels anew, too.
    """

    def __init__(self, graph: Graph, positions: Sequence[int], pixels: bool) -> None:
        self.graph, self.positions, self.pixels = graph, positions, pixels
        self._more = self._made()
        self._found: list[RunCandidate] = []

    def at(self, number: int) -> RunCandidate | None:
        """A level, 0 is the coarsest; None where there is none so fine."""
        while len(self._found) <= number:
            run = next(self._more, None)
            if run is None:
                return None
            self._found.append(run)
        return self._found[number]

    def __iter__(self) -> Iterator[RunCandidate]:
        return iter(takewhile(bool, map(self.at, count())))  # type: ignore[arg-type]

    def _made(self) -> Iterator[RunCandidate]:
        graph, positions = self.graph, self.positions
        outputs = graph.operators[positions[-1]].outputs
        all_rows = TensorRows(graph, outputs[0]).count if len(outputs) == 1 else 1
        if len(positions) == 1:
            yield from (alone_in_rows(graph, positions[0], rows) for rows in row_levels(all_rows))
            if self.pixels:
                yield alone(graph, positions[0])
        elif joins(graph, positions):
            fewer = (rows for rows in row_levels(all_rows) if rows == 1 or rows < all_rows)
            lines = (line_in_rows(graph, positions, rows) for rows in fewer)
            yield from (run for run in lines if run is not None)
            if self.pixels and (run := line(graph, positions)) is not None:
                yield run
                yield from recomputing(graph, positions)
