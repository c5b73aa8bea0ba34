"""How long an instruction computes: the one rule that scoreboards, floors and planners ask.

    seconds = setup + max(array steps, output elements / their rate, bytes by port, writes)

The setup is the compute engine's `latency_s`. Steps are those of the quickest map that is for the
operator's kind, with every axis rounded up; without such a map MACs run at `macs_per_s`. Ports that
read side by side take as long as the slowest. On a machine without maps, rates and ports this is
the roofline of an ideal machine. An operator whose seconds were measured takes these, and a part of
it what its steps are of those of all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, TypeAlias

from planners.core.access import share_of_macs
from planners.core.boxes import Box, around
from planners.core.compute_maps import ENTROPY, ComputeMap
from planners.core.graph import Graph, Operator
from planners.core.loop_nest import EACH_BY_ITSELF, Extents, OperatorLoops, loop_nest
from planners.core.machine import Machine
from planners.core.program import Piece, whole

Sums: TypeAlias = tuple[int, int] | None
Seconds: TypeAlias = Any
"""A number, or a column of them."""


def map_cycles(used: ComputeMap, extents: Extents) -> float:
    """Cycles of a part of an operator on a map: every axis in whole steps."""
    rows, columns = used.pixels
    high, wide = extents.pixels
    pixels = -(-high // rows) * -(-wide // columns)
    holds = sum(count * -(-channels // used.outputs) for count, channels in extents.outputs)
    holds *= -(-extents.inputs // used.inputs) * -(-extents.kernel // used.kernel)
    return extents.times * holds * max(pixels * used.cycles, used.hold_cycles)


def seconds_by_port(
    read_s: Mapping[str, Seconds],
    written_s: Mapping[str, Seconds],
    machine: Machine,
    longest: Callable[[Seconds, Seconds], Seconds],
) -> Seconds:
    """Seconds of reads and writes, from those of each memory: see `ComputePorts`."""
    ports = machine.compute_ports
    named = {name for group in ports.parallel for name in group}
    rest = tuple(level.name for level in machine.memories if level.name not in named)
    port_seconds = _in_turn(written_s, set(written_s) - set(ports.shared), machine)
    for group in (*ports.parallel, rest):
        reads = _in_turn(read_s, group, machine)
        port_seconds = longest(
            reads + _in_turn(written_s, set(group) & set(ports.shared), machine), port_seconds
        )
    return port_seconds


def _in_turn(seconds: Mapping[str, Seconds], names: Iterable[str], machine: Machine) -> Seconds:
    total: Seconds = 0.0
    for level in machine.memories:
        if level.name in names and level.name in seconds:
            total = total + seconds[level.name]
    return total


@dataclass(frozen=True, slots=True)
class _Work:
    """What a machine does of an operator: maps that it may take, and its output's pace."""

    output: str
    streamed: str
    nest: OperatorLoops
    kind: str
    maps: tuple[ComputeMap, ...]
    elements_per_s: float
    given: _GivenWork | None


@dataclass(frozen=True, slots=True)
class _GivenWork:
    """The seconds that were measured of an operator, and what it does in them."""

    seconds: float
    box: Box
    elements: int
    macs: int


@dataclass(frozen=True)
class ComputeSeconds:
    """Seconds of a graph's operators, and of parts of them, on a machine."""

    graph: Graph | None
    machine: Machine
    _works: dict[str, _Work] = field(default_factory=dict, compare=False)
    _known: dict[tuple[object, ...], float] = field(default_factory=dict, compare=False)
    _cycles: dict[tuple[object, ...], tuple[float, int]] = field(
        default_factory=dict, compare=False
    )

    @cached_property
    def is_ideal(self) -> bool:
        """Whether all that counts of a part of an operator are its MACs."""
        return self.machine.is_ideal and not (self.graph is not None and self.graph.is_timed)

    def is_given(self, operator: str) -> bool:
        """Whether an operator's seconds were measured: setup and bytes are among them."""
        graph = self.graph
        return graph is not None and graph.operators[graph.index[operator]].seconds is not None

    @cached_property
    def _onchip(self) -> frozenset[str]:
        return frozenset((self.machine.onchip, *self.machine.slower))

    def array_s(self, operator: str, made: Sequence[Piece], sums: Sums, macs: int) -> float:
        """Seconds of array and outputs for a part of an operator: what it makes of each output,
        over the range `sums` of its inputs or all of them, with so many MACs."""
        if self.is_ideal:
            return macs / self.machine.macs_per_s
        box = self.made_box(operator, made)
        return self.part_s(operator, box, sum(piece.elements for piece in made), sums, macs)

    def made_box(self, operator: str, made: Sequence[Piece]) -> Box | None:
        """The box around what is made of an operator's first output; None for nothing of it."""
        output, box = self._work(operator).output, None
        for piece in made:
            if piece.tensor == output:
                box = around(piece.box, box)
        return box

    def part_s(self, operator: str, box: Box | None, elements: int, sums: Sums, macs: int) -> float:
        """The same of a part that makes this box of the first output (None for nothing of it), and
        so many elements of all outputs."""
        work = self._work(operator)
        box = None if box is None else work.nest.like(box)
        key = (operator, box, elements, sums, macs)
        seconds = self._known.get(key)
        if seconds is None:
            seconds = self._known[key] = max(
                self._side_by_side(operator, box, elements, sums, macs)
            )
        return seconds

    def array_and_outputs(
        self, operator: str, made: Sequence[Piece], sums: Sums, macs: int
    ) -> tuple[float, float]:
        """Seconds of the array's steps for a part of an operator, and of its outputs, of which
        `array_s` is the longer."""
        if self.is_ideal:
            return macs / self.machine.macs_per_s, 0.0
        elements, box = sum(piece.elements for piece in made), self.made_box(operator, made)
        box = None if box is None else self._work(operator).nest.like(box)
        return self._side_by_side(operator, box, elements, sums, macs)

    def _side_by_side(
        self, operator: str, box: Box | None, elements: int, sums: Sums, macs: int
    ) -> tuple[float, float]:
        work = self._work(operator)
        steps_s = self._steps_s(operator, box, sums, macs)
        if work.given is None:
            return steps_s, elements / work.elements_per_s
        # In proportion to the steps of all of it, and never less than its share of the work.
        whole_part, share = work.given, elements / work.given.elements
        if whole_part.macs:
            share = macs / whole_part.macs
        whole_s = self._steps_s(operator, work.nest.like(whole_part.box), None, whole_part.macs)
        return whole_part.seconds * max(share, steps_s / whole_s if whole_s else 0.0), 0.0

    def input_reads(self, operator: str, box: Box | None, sums: Sums) -> int:
        """How often the array reads each input for a part of an operator: once for each run of the
        output channels that its quickest map has at a time; once where it has none."""
        work = self._work(operator)
        if self.machine.is_ideal or box is None or not work.maps:
            return 1
        return self._laid(operator, work.nest.like(box), sums)[1]

    def at_once(self, operator: str) -> tuple[int, ...]:
        """How many elements of each axis of the first output a step of the array makes, on the map
        that does most in a cycle; ones where it has none."""
        work = self._work(operator)
        graph = self.graph
        steps = [1] * (len(graph.tensors[work.output].shape) if graph else 0)
        if work.maps and not work.nest.moves:  # Where elements are moved its axes are others.
            used = max(work.maps, key=lambda each: each.macs_per_cycle)
            for axis, step in zip(work.nest.axes, (*used.pixels, used.outputs), strict=True):
                if axis >= 0:
                    steps[axis] = step
        return tuple(steps)

    def grouped_axis(self, operator: str) -> int:
        """The axis of the first output along which it matters where a box lies; -1 for none."""
        return self._work(operator).nest.grouped_axis

    def _steps_s(self, operator: str, box: Box | None, sums: Sums, macs: int) -> float:
        machine, work = self.machine, self._work(operator)
        if not work.maps:
            return macs / machine.macs_per_s
        if box is None:  # Of a part that makes nothing of the first output no loops are known.
            return macs / max(each.macs_per_cycle for each in work.maps) / machine.clock_hz
        return self._laid(operator, box, sums)[0] / machine.clock_hz

    def _laid(self, operator: str, box: Box, sums: Sums) -> tuple[float, int]:
        """Cycles of a part on its quickest map, and how often that reads each input."""
        key = (operator, box, sums)
        cycles_and_reads = self._cycles.get(key)
        if cycles_and_reads is None:
            work = self._work(operator)
            extents = work.nest.extents(box, sums, work.kind)
            cycles, at = min((map_cycles(each, extents), i) for i, each in enumerate(work.maps))
            runs = (-(-channels // work.maps[at].outputs) for _, channels in extents.outputs)
            reads = 1 if work.kind in EACH_BY_ITSELF else max(runs)
            cycles_and_reads = self._cycles[key] = cycles, reads
        return cycles_and_reads

    def crossing(self, tensor: str, memory: str) -> float:
        """What part of its bytes of a tensor are read where a compute reads it from a memory: of
        weights in a memory off chip those that the machine's ports say."""
        weights = self.machine.compute_ports.weights
        if weights == 1 or self.graph is None or memory in self._onchip:
            return 1.0
        if self.graph.tensors[tensor].kind != "parameter":
            return 1.0
        return self.graph.tensors[tensor].compressed if weights == ENTROPY else float(weights)

    def streamed(self, operator: str) -> str:
        """The operand that an array streams past those that it holds: the first input."""
        return self._work(operator).streamed

    def least_s(self, op: Operator) -> float:
        """Seconds that array and outputs need for all of an operator, in whatever parts it is made.

        Rates of full steps: no part beats them, because it rounds each axis up.
        """
        machine, graph = self.machine, self.graph
        if op.seconds is not None:
            return op.seconds
        if self.is_ideal or graph is None:
            return op.macs / machine.macs_per_s
        work = self._work(op.name)
        elements = sum(graph.tensors[name].elements for name in op.outputs)
        if not work.maps:
            return max(op.macs / machine.macs_per_s, elements / work.elements_per_s)
        products = op.macs or graph.tensors[op.outputs[0]].elements * work.nest.kernel
        best = max(each.macs_per_cycle for each in work.maps)
        return max(products / best / machine.clock_hz, elements / work.elements_per_s)

    def whole_s(self, op: Operator) -> float:
        """Seconds of array and outputs for an operator that is made at once."""
        if self.is_ideal or self.graph is None:
            return op.macs / self.machine.macs_per_s
        outputs = [whole(self.graph.tensors[name]) for name in op.outputs]
        return self.array_s(op.name, outputs, None, op.macs)

    def parts_s(self, op: Operator, box: Box, count: int) -> float:
        """Seconds of array and outputs for an operator that is made in so many parts, each about as
        large as this box of its first output."""
        if self.is_ideal or self.graph is None:
            return op.macs / self.machine.macs_per_s
        macs = share_of_macs(self.graph, op, op.outputs[0], box)
        return count * self.array_s(op.name, [Piece(op.outputs[0], box)], None, macs)

    def instructions_s(
        self,
        op: Operator,
        count: int,
        array_s: float,
        read_s: Mapping[str, float],
        written_s: Mapping[str, float],
    ) -> float:
        """Seconds of so many instructions of an operator, from those that array and outputs take in
        all of them, and in which each memory is read and written."""
        if op.seconds is not None:
            return array_s
        ports_s: float = seconds_by_port(read_s, written_s, self.machine, max)
        return self.machine.engine("compute").latency_s * count + max(array_s, ports_s)

    def macs_s(self, macs: int, ops: Iterable[Operator]) -> float:
        """Seconds of so many MACs at the pace of some operators, each made at once."""
        some = list(ops)
        theirs = sum(op.macs for op in some)
        if self.is_ideal or not theirs:
            return macs / self.machine.macs_per_s
        return macs * sum(self.whole_s(op) for op in some if op.macs) / theirs

    def _work(self, operator: str) -> _Work:
        if operator not in self._works:
            if self.graph is None:
                raise ValueError(f"seconds of {operator!r} without the graph that it is of")
            op = self.graph.operators[self.graph.index[operator]]
            self._works[operator] = _work(self.graph, op, self.machine)
        return self._works[operator]


def _work(graph: Graph, op: Operator, machine: Machine) -> _Work:
    nest = loop_nest(graph, op)
    kind, maps = "", tuple[ComputeMap, ...]()
    for kind in nest.kinds:
        maps = tuple(each for each in machine.compute_maps if kind in each.kinds)
        if maps:
            break
    rates = machine.compute_rates
    rates_of_parts = (next((rates[n] for n in names if n in rates), None) for names in nest.rates)
    slowest = min(
        (rate for rate in rates_of_parts if rate is not None), default=rates.get("default", inf)
    )
    given = None
    if op.seconds is not None:
        outputs = [whole(graph.tensors[name]) for name in op.outputs]
        given = _GivenWork(op.seconds, outputs[0].box, sum(p.elements for p in outputs), op.macs)
    pace = slowest * machine.clock_hz
    return _Work(op.outputs[0], next(iter(op.inputs), ""), nest, kind, maps, pace, given)
