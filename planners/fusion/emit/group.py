"""The instructions of one group, strip by strip.

Rows of the inputs are loaded, each operator makes the rows that it now can from circular line
buffers, with its parameters kept or refilled, outputs are stored, and rows that nothing needs any
more are released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from time import perf_counter
from typing import NamedTuple

from planners.core.access import needs, needs_of_all, share_of_macs
from planners.core.graph import Operator
from planners.core.loops import rolled
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Item,
    Load,
    Operand,
    Piece,
    Region,
    Release,
    Store,
    piece_bytes,
)
from planners.core.progress import TimeOver
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.residents import PiecesInOrder, Residents, home
from planners.fusion.emit.tile_loops import LEAST_ROUNDS, TileState, tiles_in_loops
from planners.fusion.tile.axes import Axes, box_of, rows_in, rows_of
from planners.fusion.tile.channel_streaming import AdvancingUnit
from planners.fusion.tile.cuts import channel_breaks, in_order, parameter_boxes
from planners.fusion.tile.passes import input_channels, pass_ranges, stretches
from planners.fusion.tile.rows import OperatorRows

Range = tuple[int, int]
_Share = tuple[int, Range | None, Range | None, bool]
"""An operator's place in its group, channels made, channels summed, and whether these are last."""


class Sum(NamedTuple):
    """Channels whose products are added to what is there, and whether they are the last."""

    channels: Range
    last: bool


def _key_of(member: OperatorRows, index: int, channels: Range | None) -> tuple[int, Range]:
    """Of which parameters these are: a member's, for these of its channels or for all."""
    return index, (channels if member.sliced else None) or (0, 0)


class GroupEmitter:
    """The instructions of one group."""

    def __init__(self, residents: Residents, laid: LaidGroup, step: int) -> None:
        self.graph, self.machine = residents.graph, residents.machine
        self.residents, self.held = residents, laid.stays.at
        self.laid, self.step, self.first_step = laid, step, step
        self.following: GroupEmitter | None = None
        self.group, self.plan, self.layout = laid.group, laid.plan, laid.layout
        self.flows, self.batches = laid.arranger.flows, laid.arranger.batches
        self.sliced = laid.arranger.sliced
        self.state = TileState(frozenset(t for t in self.sliced if t in self.held))
        self.resident, self.parameters = self.state.pieces, self.state.parameters
        self.boxes: dict[_Share, dict[str, Box]] = {}  # of parameters that are read
        self.cuts = {t: self._cuts(t) for t in self.group.tensors}
        self.images: Range | None = None
        self.columns: dict[str, Range] = {}  # of this band, where there are several
        self.part: Range | None = None  # the output channels of this pass
        self.wanted: dict[str, Range] | None = None  # the input channels of this pass
        self.turn = 0
        self.irregular = {i for i, m in enumerate(self.group.members) if not in_order(m.op)}

    def _cuts(self, tensor: str) -> list[int]:
        """Where rows are cut into pieces, so that pieces come and go whole."""
        marks = {0, rows_of(self.graph.tensors[tensor])}
        for counts in (self.flows.upto[tensor], self.flows.start[tensor]):
            marks.update(int(n) for n in counts)
        return sorted(marks)

    def run(self, following: GroupEmitter | None = None) -> Iterator[Item]:
        """Its items; what the group that is `following` has early is loaded meanwhile."""
        self.following = following
        yield from self.residents.come_and_go(self.laid.stays, self.step)
        self.resident.update({t: self.residents.pieces[t] for t in self.held})
        if any(self.residents.uneven(tensor) for tensor in self.held):
            self.irregular.update(range(len(self.group.members)))
        for part in self.laid.arranger.passes():
            for _ in self._rounds(part):
                yield from rolled([*self._strips()])
                self.turn += 1
            yield from self._drop_parameters()
        for tensor in self.laid.stays.over:
            yield from self.residents.leave(tensor, self.step - 1)

    def sample(self, strips: int) -> Iterator[list[Item]]:
        """So many strips of the first round over the maps, which the others are like."""
        next(self._rounds(self.laid.arranger.passes()[0]))
        return islice(self._strips(), strips)

    def _rounds(self, part: Range | None) -> Iterator[None]:
        """Of a pass over the channels: over tiles of images and bands."""
        self.part = part
        if self.part is not None:
            self.wanted = input_channels(self.graph, self.group, self.part)
        for batch in range(self.batches):
            if self.batches > 1:
                self.images = (batch * self.plan.images, (batch + 1) * self.plan.images)
            for band in range(self.laid.arranger.bands.count):
                columns = self.laid.arranger.bands.columns.items()
                self.columns = {tensor: ranges[band] for tensor, ranges in columns}
                yield

    def _strips(self) -> Iterator[list[Item]]:
        for strip in range(len(self.flows.upto[self.group.made[0]])):
            following = self.following
            ahead: Iterable[Item] = ()
            if following and self.step - self.first_step == following.laid.early_at:
                ahead = following.load_early(self.step)
            yield [*self._strip(strip), *ahead]
            self.step += 1

    def _strip(self, strip: int) -> Iterator[Item]:
        for tensor in self.group.loaded:
            if tensor not in self.sliced and (self.wanted is None or tensor in self.wanted):
                channels = None if self.wanted is None else self.wanted[tensor]
                yield from self._load(tensor, strip, channels)
        for unit, count in zip(self.laid.arranger.units, self.layout.channels, strict=True):
            if unit.channels:
                yield from self._channel_by_channel(unit, strip, count)
            else:
                yield from self._alone(unit.members[0], strip, count)
        last = strip + 1 == len(self.flows.upto[self.group.made[0]])
        for tensor in self.group.tensors:
            size = rows_of(self.graph.tensors[tensor])
            low = size if last else self.flows.start[tensor][strip + 1]
            yield from self._release(tensor, int(low))

    # ---- operators -------------------------------------------------------------------------

    def _alone(self, index: int, strip: int, count: int) -> Iterator[Item]:
        """The rows that an operator makes in a strip, some of its channels after the other."""
        member = self.group.members[index]
        rows = self._fresh(member.op.outputs[0], strip)
        if rows[0] == rows[1]:
            return
        parts: Sequence[Range | None] = (self.part,)
        if self.part is None and member.sliced and count < member.channels:
            parts = pass_ranges(member.channels, count)
        writes = self._places(member.op.outputs, strip, self.part)

        def tile(channels: Range | None) -> Iterator[Instruction]:
            return self._compute(index, writes, rows, channels, None)

        yield from self._tiled((index,), parts, strip, tile)
        yield from self._leave(writes)

    def _channel_by_channel(self, unit: AdvancingUnit, strip: int, count: int) -> Iterator[Item]:
        """Operators that pass channels on: a few of them through all, then the next few."""
        members = [(i, self.group.members[i]) for i in unit.members]
        around = {t for _, m in members for t in m.op.inputs}
        loaded = [t for t in self.group.loaded if t in self.sliced and t in around]
        outputs_sliced = [t for _, m in members for t in m.op.outputs if t in self.sliced]
        whole: dict[int, tuple[Operand, ...]] = {}  # complete after the last channels
        parts = pass_ranges(unit.channels, count)

        def tile(channels: Range | None) -> Iterator[Instruction]:
            for tensor in loaded:
                yield from self._load(tensor, strip, channels)
            for index, member in members:
                rows = self._fresh(member.op.outputs[0], strip)
                if rows[0] == rows[1]:
                    continue
                outputs = member.op.outputs
                if index not in whole:
                    others = [t for t in outputs if t not in self.sliced]
                    whole[index] = self._places(others, strip, self.part)
                few = self._places([t for t in outputs if t in self.sliced], strip, channels)
                if member.adds_up(self.sliced):
                    assert channels is not None
                    part = Sum(channels, channels == parts[-1]) if len(parts) > 1 else None
                    yield from self._compute(index, whole[index] + few, rows, self.part, part)
                else:
                    yield from self._compute(index, whole[index] + few, rows, channels, None)
                yield from self._leave(few)
            for tensor in (*loaded, *outputs_sliced):
                yield from self._release(tensor, rows_of(self.graph.tensors[tensor]))

        yield from self._tiled(unit.members, parts, strip, tile)
        for writes in whole.values():
            yield from self._leave(writes)

    def _tiled(
        self,
        members: Sequence[int],
        parts: Sequence[Range | None],
        strip: int,
        tile: Callable[[Range | None], Iterator[Instruction]],
    ) -> Iterator[Item]:
        """Tiles of channels of some members: loops of those that are equal, and the rest."""
        if not parts[0] or self.irregular.intersection(members):
            yield from rolled([[*tile(channels)] for channels in parts[:-1]])
        else:
            breaks = {
                c
                for i in members
                for c in channel_breaks(self.graph, self.group.members[i].op)
                if len(parts) > LEAST_ROUNDS
            }
            turns, kept = max(1, len(self.layout.tiles)), partial(self._kept, strip)
            for few in stretches([part for part in parts[:-1] if part], breaks):
                yield from tiles_in_loops(few, turns, tile, self.state, kept)
        yield from tile(parts[-1])

    def _compute(
        self,
        index: int,
        writes: tuple[Operand, ...],
        rows: Range,
        channels: Range | None,
        part: Sum | None,
    ) -> Iterator[Instruction]:
        """Load what parameters are not there, compute, and let them go unless they are kept."""
        if perf_counter() > self.residents.until_s:
            raise TimeOver
        member = self.group.members[index]
        op, out = member.op, self.graph.tensors[member.op.outputs[0]]
        box = box_of(out, rows, channels, self.images, self.columns.get(out.name))
        sums, last = (None, True) if part is None else part
        wanted = dict(needs(self.graph, op, out.name, box, sums, last))
        if len(op.outputs) > 1:
            wanted = needs_of_all(self.graph, op)
        reads = tuple(
            operand
            for name, box in wanted.items()
            if name in op.inputs
            for operand in self.resident[name].meeting(box)
        )
        kept = index in self.plan.kept
        key = _key_of(member, index, channels)
        parameters = self.parameters.get(key, ())
        if member.parameter_bytes and not parameters:
            # For all strips: some parameters, of positions, have rows too.
            about = (index, channels, *((None, True) if kept else (sums, last)))
            if about not in self.boxes:
                self.boxes[about] = parameter_boxes(self.graph, op, *about[1:])
            boxes = self.boxes[about]
            parameters = self._parameters(index, boxes, channels if member.sliced else None)
            for operand in parameters:
                yield Load(self.step, operand.piece, self._home(operand.piece), operand.region)
            if kept:
                self.parameters[key] = parameters
        outputs = [self._of_channels(operand.piece, channels) for operand in writes]
        macs = sum(
            share_of_macs(self.graph, op, out.name, box, sums)
            for (piece, _), box in zip(writes, outputs, strict=True)
            if piece.tensor == out.name
        )
        all_of_it = all(box == piece.box for (piece, _), box in zip(writes, outputs, strict=True))
        parts = () if all_of_it else tuple(outputs)
        if sums is not None:
            writes = tuple(self._as_sums(op, operand) for operand in writes)
        sides = (reads + parameters, writes)
        yield Compute(self.step, op.name, *sides, macs, sums=sums, parts=parts)
        if not kept:
            for operand in parameters:
                yield Release(self.step, *operand)

    def _as_sums(self, op: Operator, operand: Operand) -> Operand:
        """A piece with the bytes of the accumulators that it is until it is complete."""
        piece, region = operand
        size = self.graph.sum_bytes(op, piece.elements)
        return Operand(piece, region._replace(size_bytes=size))

    def _of_channels(self, piece: Piece, channels: Range | None) -> Box:
        """The box of these channels of a piece."""
        axis = Axes.from_shape(self.graph.tensors[piece.tensor].shape).channel
        if channels is None or axis is None:
            return piece.box
        return (*piece.box[:axis], channels, *piece.box[axis + 1 :])

    def _leave(self, writes: Iterable[Operand]) -> Iterator[Instruction]:
        """What goes off chip is stored; a few channels that nothing here reads are let go."""
        for operand in writes:
            name = operand.piece.tensor
            is_resident = name in self.held
            if name in self.graph.outputs or (name in self.group.stored and not is_resident):
                yield Store(self.step, operand.piece, operand.region, self._home(operand.piece))
            # Channels that nothing here reads make room for the next.
            if self.part is None and name in self.sliced & self.group.sinks and not is_resident:
                yield Release(self.step, *operand)
            else:
                self.resident[name].append(operand)

    def _kept(self, strip: int, tensor: str, parts: Sequence[Range]) -> list[Operand]:
        """What tiles of these channels leave of a tensor that stays on chip."""
        return [operand for part in parts for operand in self._places([tensor], strip, part)]

    # ---- rows ------------------------------------------------------------------------------

    def _fresh(self, tensor: str, strip: int) -> Range:
        """The rows of a tensor that a strip makes."""
        begin = self.flows.start if tensor in self.sliced else self.flows.before
        return int(begin[tensor][strip]), int(self.flows.upto[tensor][strip])

    def _places(
        self, outputs: Sequence[str], strip: int, channels: Range | None
    ) -> tuple[Operand, ...]:
        """Where the rows of a strip of what an operator makes are written."""
        return tuple(
            self._operand(name, rows, channels)
            for name in outputs
            for rows in self._pieces(name, self._fresh(name, strip))
        )

    def _pieces(self, tensor: str, rows: Range) -> Iterator[Range]:
        if tensor in self.sliced:
            yield from () if rows[0] == rows[1] else (rows,)
            return
        for start, stop in pairwise(self.cuts[tensor]):
            if rows[0] <= start and stop <= rows[1]:
                yield start, stop

    def _operand(self, tensor: str, rows: Range, channels: Range | None) -> Operand:
        """A piece in its line buffer, whose addresses count on from turn to turn."""
        shape = self.graph.tensors[tensor]
        columns = self.columns.get(tensor)
        piece = Piece(tensor, box_of(shape, rows, channels, self.images, columns))
        if tensor in self.held:
            return Operand(piece, self.residents.place(piece, self.held[tensor], channels))
        size = piece_bytes(self.graph, piece)
        if tensor in self.sliced:
            offset = self.state.addresses[tensor]
            self.state.addresses[tensor] += size
        else:
            ring = self.layout.rings[tensor]
            offset = (self.turn * rows_of(shape) + rows[0]) * ring.slot_bytes
            if channels is not None and self.plan.channel_passes == 1:
                offset += size // (channels[1] - channels[0]) * channels[0]
        return Operand(piece, Region(self.laid.ring_name(tensor), offset, size))

    def _home(self, piece: Piece) -> Region:
        return home(self.graph, self.machine, piece)

    def _load(self, tensor: str, strip: int, channels: Range | None) -> Iterator[Instruction]:
        if tensor in self.held:
            return
        begin = int(self.flows.fresh(tensor)[strip])
        for rows in self._pieces(tensor, (begin, int(self.flows.upto[tensor][strip]))):
            operand = self._operand(tensor, rows, channels)
            yield Load(self.step, operand.piece, self._home(operand.piece), operand.region)
            self.resident[tensor].append(operand)

    def _release(self, tensor: str, below: int) -> Iterator[Instruction]:
        if tensor in self.held:
            return
        shape = self.graph.tensors[tensor]
        staying = []
        for operand in self.resident[tensor]:
            if rows_in(shape, operand.piece.box)[1] <= below:
                yield Release(self.step, *operand)
            else:
                staying.append(operand)
        self.resident[tensor] = PiecesInOrder(staying)

    # ---- parameters ------------------------------------------------------------------------

    def load_early(self, step: int) -> Iterator[Instruction]:
        """Load the parameters that are there before the group begins, in a step of another's."""
        tiles = zip(self.laid.arranger.units, self.layout.channels, strict=True)
        count_of = {i: (unit, count) for unit, count in tiles for i in unit.members}
        (first_pass, *_) = self.laid.arranger.passes()
        for index in self.laid.early:
            member, (unit, count) = self.group.members[index], count_of[index]
            parts: Sequence[Range | None] = (first_pass,)
            if unit.channels and member.sliced and not member.adds_up(self.sliced):
                parts = pass_ranges(unit.channels, count)
            for channels in parts:
                boxes = parameter_boxes(self.graph, member.op, channels, None, True)
                parameters = self._parameters(index, boxes, channels if member.sliced else None)
                for operand in parameters:
                    yield Load(step, operand.piece, self._home(operand.piece), operand.region)
                self.parameters[_key_of(member, index, channels)] = parameters

    def _parameters(
        self, index: int, boxes: dict[str, Box], channels: Range | None
    ) -> tuple[Operand, ...]:
        """These parameters in their place, or in the next weight tile."""
        member = self.group.members[index]
        if index in self.plan.kept:
            at = self.layout.kept[index]
            if channels is not None and self.plan.channel_passes == 1:
                at += channels[0] * member.channel_bytes
        else:
            at = self.layout.tiles[self.state.weight_tiles % len(self.layout.tiles)]
            self.state.weight_tiles += 1
        operands = []
        for name, box in boxes.items():
            piece = Piece(name, box)
            size = piece_bytes(self.graph, piece)
            operands.append(Operand(piece, Region(self.machine.onchip, at, size)))
            at += size
        return tuple(operands)

    def _drop_parameters(self) -> Iterator[Instruction]:
        for operands in self.parameters.values():
            for operand in operands:
                yield Release(self.step - 1, *operand)
        self.parameters.clear()
