"""A partition with a way to run each group becomes a program, strip by strip.

Rows of the inputs are loaded, each operator makes the rows that it now can from circular line
buffers, with its parameters kept or refilled, outputs are stored, and rows that nothing needs any
more are released. Between groups everything is off chip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planners.fusion.group import GroupPlan, goes_by_channel
from planners.fusion.layout import Arranger, Layout
from planners.fusion.passes import input_channels, pass_ranges
from planners.fusion.rows import Axes, Rows, box_of, rows_in, rows_of
from planners.fusion.strips import Group
from planners.graph.access import needs, share_of_macs
from planners.graph.model import Graph
from planners.machine import Machine
from planners.program import (
    Compute,
    Instruction,
    LazyInstructions,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
    whole,
)
from planners.simulator.boxes import meet

Range = tuple[int, int]


@dataclass(frozen=True)
class Laid:
    """A group with the way it runs and its addresses."""

    name: str
    group: Group
    plan: GroupPlan
    layout: Layout
    arranger: Arranger


def lay_out(
    graph: Graph,
    groups: Sequence[tuple[Group, GroupPlan]],
    budget_bytes: int,
    *,
    double_buffer: bool = True,
) -> tuple[Laid, ...]:
    """Addresses for each group within the budget."""
    found = []
    for number, (group, plan) in enumerate(groups):
        arranger = Arranger(graph, group, plan)
        layout = arranger.arrange(budget_bytes, double_buffer)
        found.append(Laid(f"g{number}", group, plan, layout, arranger))
    return tuple(found)


def emit(graph: Graph, machine: Machine, groups: Sequence[Laid], budget_bytes: int) -> Program:
    """The program of these groups, one after the other; its instructions are made as they run."""
    memories = [
        Memory(machine.onchip, budget_bytes),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if machine.parameters != machine.offchip:
        memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
    for laid in groups:
        memories += [
            Memory(
                _ring_name(laid, tensor),
                ring.size_bytes,
                True,
                False,
                True,
                machine.onchip,
                ring.base,
            )
            for tensor, ring in laid.layout.rings.items()
        ]
    steps = tuple(name for laid in groups for name in _step_names(laid))

    def instructions() -> Iterator[Instruction]:
        step = 0
        for laid in groups:
            yield from GroupEmitter(graph, machine, laid, step).run()
            step += len(_step_names(laid))

    homes = {"input": machine.offchip, "output": machine.offchip, "parameter": machine.parameters}
    return Program(tuple(memories), LazyInstructions(instructions), homes, steps)


def _ring_name(laid: Laid, tensor: str) -> str:
    return f"{laid.name} rows of {tensor}"


def _step_names(laid: Laid) -> list[str]:
    last, count = laid.group.members[-1].op.name, laid.plan.strips
    return [f"{laid.name} {last} {i + 1}/{count}" for i in range(count)]


class GroupEmitter:
    """The instructions of one group."""

    def __init__(self, graph: Graph, machine: Machine, laid: Laid, step: int) -> None:
        self.graph, self.machine, self.laid, self.step = graph, machine, laid, step
        self.group, self.plan, self.layout = laid.group, laid.plan, laid.layout
        self.flows, self.batches = laid.arranger.flows, laid.arranger.batches
        self.resident: dict[str, list[Operand]] = defaultdict(list)
        self.parameters: dict[tuple[int, Range], tuple[Operand, ...]] = {}
        self.cuts = {t: self._cuts(t) for t in self.group.tensors}
        self.channels: dict[str, Range] = {}
        self.images: Range = (0, 0)
        self.turn = 0
        self.tile = 0

    def _cuts(self, tensor: str) -> list[int]:
        """Where rows are cut into pieces, so that pieces come and go whole."""
        marks = {0, rows_of(self.graph.tensors[tensor])}
        for counts in (self.flows.upto[tensor], self.flows.start[tensor]):
            marks.update(int(n) for n in counts)
        return sorted(marks)

    def run(self) -> Iterator[Instruction]:
        """Pass by pass over the channels, tile by tile of the images, strip by strip."""
        for part in self._channel_passes():
            for batch in range(self.batches):
                self.images = (batch * self.plan.images, (batch + 1) * self.plan.images)
                for strip in range(len(self.flows.upto[self.group.made[0]])):
                    yield from self._strip(strip, part)
                    self.step += 1
                self.turn += 1
            yield from self._drop_parameters()

    def _channel_passes(self) -> tuple[Range | None, ...]:
        if self.plan.channel_passes == 1:
            return (None,)
        out = self.graph.tensors[self.group.made[0]]
        return pass_ranges(out.shape[Axes.of(out.shape).channel or 0], self.plan.channel_tile)

    def _strip(self, strip: int, part: Range | None) -> Iterator[Instruction]:
        taken = None if part is None else input_channels(self.graph, self.group, part)
        for tensor in self.group.loaded:
            if taken is None or tensor in taken:
                yield from self._load_rows(tensor, strip, None if taken is None else taken[tensor])
        for index, member in enumerate(self.group.members):
            yield from self._run(index, member, strip, part)
        last = strip + 1 == len(self.flows.upto[self.group.made[0]])
        for tensor in self.group.tensors:
            low = (
                rows_of(self.graph.tensors[tensor]) if last else self.flows.start[tensor][strip + 1]
            )
            yield from self._release(tensor, int(low))

    # ---- rows ------------------------------------------------------------------------------

    def _pieces(self, tensor: str, rows: Range) -> Iterator[Range]:
        for start, stop in pairwise(self.cuts[tensor]):
            if rows[0] <= start and stop <= rows[1]:
                yield start, stop

    def _operand(self, tensor: str, rows: Range, channels: Range | None) -> Operand:
        """A piece in its line buffer, whose addresses count on from turn to turn."""
        shape = self.graph.tensors[tensor]
        box = box_of(shape, rows, channels, self.images if self.batches > 1 else None)
        piece = Piece(tensor, box)
        size = piece_bytes(self.graph, piece)
        ring = self.layout.rings[tensor]
        offset = (self.turn * rows_of(shape) + rows[0]) * ring.slot_bytes
        if channels is not None and not self._narrow(tensor):
            offset += size // (channels[1] - channels[0]) * channels[0]
        return Operand(piece, Region(_ring_name(self.laid, tensor), offset, size))

    def _narrow(self, tensor: str) -> bool:
        """Whether a line buffer holds no more than the channels at hand."""
        return self.plan.channel_passes > 1 or goes_by_channel(self.group, tensor) is not None

    def _home(self, piece: Piece) -> Region:
        kind = self.graph.tensors[piece.tensor].kind
        memory = self.machine.parameters if kind == "parameter" else self.machine.offchip
        return Region(memory, None, piece_bytes(self.graph, piece))

    def _load_rows(self, tensor: str, strip: int, channels: Range | None) -> Iterator[Instruction]:
        begin = max(self.flows.start[tensor][strip], self.flows.before[tensor][strip])
        for rows in self._pieces(tensor, (int(begin), int(self.flows.upto[tensor][strip]))):
            operand = self._operand(tensor, rows, channels)
            yield Load(self.step, operand.piece, self._home(operand.piece), operand.region)
            self.resident[tensor].append(operand)

    def _release(self, tensor: str, below: int) -> Iterator[Instruction]:
        shape = self.graph.tensors[tensor]
        staying = []
        for operand in self.resident[tensor]:
            if rows_in(shape, operand.piece.box)[1] <= below:
                yield Release(self.step, *operand)
            else:
                staying.append(operand)
        self.resident[tensor] = staying

    # ---- operators -------------------------------------------------------------------------

    def _run(
        self, index: int, member: Rows, strip: int, part: Range | None
    ) -> Iterator[Instruction]:
        """The rows that an operator makes in a strip, some channels after the other."""
        out = member.op.outputs[0]
        rows = (int(self.flows.before[out][strip]), int(self.flows.upto[out][strip]))
        if rows[0] == rows[1]:
            return
        at_once = goes_by_channel(self.group, out) is not None
        for channels in self._channel_tiles(index, member, part):
            parameters = self.parameters.get((index, channels or (0, 0)), ())
            if not parameters and member.parameter_bytes:
                parameters = self._parameter_tile(index, member, channels)
                for operand in parameters:
                    yield Load(self.step, operand.piece, self._home(operand.piece), operand.region)
                if index in self.plan.kept:
                    self.parameters[index, channels or (0, 0)] = parameters
            writes = tuple(
                self._operand(name, block, channels)
                for name in member.op.outputs
                for block in self._pieces(name, self._made(name, strip))
            )
            yield self._compute(member, writes, rows, channels, parameters)
            if index not in self.plan.kept:
                for operand in parameters:
                    yield Release(self.step, *operand)
            yield from self._leave(writes, at_once)

    def _made(self, tensor: str, strip: int) -> Range:
        return int(self.flows.before[tensor][strip]), int(self.flows.upto[tensor][strip])

    def _leave(self, writes: Iterable[Operand], at_once: bool) -> Iterator[Instruction]:
        """What goes off chip is stored; what nothing here reads is then released, if at once."""
        for operand in writes:
            name = operand.piece.tensor
            if name in self.group.stored:
                yield Store(self.step, operand.piece, operand.region, self._home(operand.piece))
            if at_once:
                yield Release(self.step, *operand)
            else:
                self.resident[name].append(operand)

    def _channel_tiles(
        self, index: int, member: Rows, part: Range | None
    ) -> tuple[Range | None, ...]:
        if part is not None:
            return (part,)
        if not member.sliced or self.layout.channels[index] == member.channels:
            return (None,)
        return pass_ranges(member.channels, self.layout.channels[index])

    def _compute(
        self,
        member: Rows,
        writes: tuple[Operand, ...],
        rows: Range,
        channels: Range | None,
        parameters: tuple[Operand, ...],
    ) -> Compute:
        op, out = member.op, self.graph.tensors[member.op.outputs[0]]
        images = self.images if self.batches > 1 else None
        wanted = needs(self.graph, op, out.name, box_of(out, rows, channels, images))
        reads = tuple(
            operand
            for name, box in wanted
            if name in op.inputs
            for operand in self.resident[name]
            if meet(operand.piece.box, box)
        )
        macs = sum(
            share_of_macs(self.graph, op, out.name, operand.piece.box)
            for operand in writes
            if operand.piece.tensor == out.name
        )
        return Compute(self.step, op.name, reads + parameters, writes, macs)

    # ---- parameters ------------------------------------------------------------------------

    def _parameter_tile(
        self, index: int, member: Rows, channels: Range | None
    ) -> tuple[Operand, ...]:
        """The parameters of these channels, in their place or in the next weight tile."""
        if index in self.plan.kept:
            at = self.layout.kept[index]
            if channels is not None and self.plan.channel_passes == 1:
                at += channels[0] * member.channel_bytes
        else:
            at = self.layout.tiles[self.tile % len(self.layout.tiles)]
            self.tile += 1
        found = []
        for name in member.op.parameters:
            piece = whole(self.graph.tensors[name])
            if channels is not None and member.sliced:
                piece = Piece(name, (channels, *piece.box[1:]))
            size = piece_bytes(self.graph, piece)
            found.append(Operand(piece, Region(self.machine.onchip, at, size)))
            at += size
        return tuple(found)

    def _drop_parameters(self) -> Iterator[Instruction]:
        for operands in self.parameters.values():
            for operand in operands:
                yield Release(self.step - 1, *operand)
        self.parameters.clear()
