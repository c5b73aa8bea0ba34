"""Blocks of a network in a circular pool, outputs over dying inputs, with room for parameters.

As overlap's own search for the quickest layout (`planners.overlap.search.coarse_blocks`), but each
run also needs bytes for the parameters that it reads while they are there: all of them where it
makes rows after rows, a slice of them where output channels can be made one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import TypeAlias

from planners.core.access import needs
from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.program import Box, Piece, Program, piece_bytes
from planners.core.progress import Clock
from planners.overlap.emit.program import emit
from planners.overlap.kernels.candidates import BufferNeed, RunCandidate
from planners.overlap.kernels.levels import Cost, Levels
from planners.overlap.model.rows import TensorRows
from planners.overlap.search.chain import ChainWay, turned
from planners.overlap.search.coarse import Coarse
from planners.overlap.search.coarse_blocks import NOTHING, BlockSplits

# ---- Output channels made one after the other, each with its part of the parameters --------------


def channel_axis(graph: Graph, op: Operator) -> int | None:
    """The axis of its one output along which slices need the least parameters; None where none.

    Of convolutions these are the channels, of products the last axis, wherever tokens lie.
    """
    if len(op.outputs) != 1 or not op.parameters:
        return None
    shape = graph.tensors[op.outputs[0]].shape
    sizes = [(_one(graph, op, axis), axis) for axis, n in enumerate(shape) if n > 1]
    one, axis = min((size for size in sizes if size[0]), default=(0, -1))
    return axis if one and 2 * one <= sum(map(graph.size_bytes, op.parameters)) else None


def channels_box(shape: tuple[int, ...], axis: int, start: int, stop: int) -> Box:
    """All of a tensor but these channels only."""
    return tuple((start, stop) if k == axis else (0, n) for k, n in enumerate(shape))


def parameter_pieces(graph: Graph, op: Operator, box: Box) -> tuple[Piece, ...]:
    """The parameters that a box of the one output needs."""
    read = needs(graph, op, op.outputs[0], box)
    return tuple(Piece(name, part) for name, part in read if name in op.parameters)


def least_slice_bytes(graph: Graph, op: Operator) -> int | None:
    """The parameters of the largest slice of one channel; None where slices spare nothing."""
    axis = channel_axis(graph, op)
    return None if axis is None else _one(graph, op, axis)


def _one(graph: Graph, op: Operator, axis: int) -> int:
    """Bytes of the parameters that a slice along an axis needs: at either edge, or inside.

    Of what is concatenated with something made of parameters, only some slices need any.
    """
    shape = graph.tensors[op.outputs[0]].shape
    some = {0, shape[axis] // 2, shape[axis] - 1}
    boxes = (channels_box(shape, axis, at, at + 1) for at in some)
    return max(
        sum(piece_bytes(graph, piece) for piece in parameter_pieces(graph, op, box))
        for box in boxes
    )


STEP_MARGIN = 1.5
"""Times the bytes of a slice that one may have to be a whole step of an array."""


def slice_channels(one_bytes: int, slice_bytes: int, step: int) -> int:
    """Channels of a slice of so many bytes, where each has `one_bytes` of parameters: whole steps
    of an array that makes `step` at a time, unless one has far more bytes."""
    channels = max(1, slice_bytes // one_bytes)
    if channels >= step:
        return channels - channels % step
    return step if step * one_bytes <= STEP_MARGIN * slice_bytes else channels


@dataclass(frozen=True)
class SlicedCost(Cost):
    """Seconds of runs; what reads more than `slice_bytes` of parameters and runs at once does so in
    slices of its channels, unless parameters are read in place."""

    slice_bytes: int = 0
    _channels: dict[str, int] = field(default_factory=dict, compare=False)

    def channels(self, op: Operator) -> int:
        """Output channels of a slice of an operator; 0 where it does not run in slices."""
        if op.name not in self._channels:
            self._channels[op.name] = self._slice(op)
        return self._channels[op.name]

    def _slice(self, op: Operator) -> int:
        size = sum(map(self.graph.size_bytes, op.parameters))
        axis = channel_axis(self.graph, op)
        if self.parameters or size <= self.slice_bytes or axis is None:
            return 0
        step = self._compute.at_once(op.name)[axis]
        return slice_channels(_one(self.graph, op, axis), self.slice_bytes, step)

    def _array_s(self, op: Operator, times: int) -> float:
        whole_s = super()._array_s(op, times)
        channels = self.channels(op) if times == 1 else 0
        axis = channel_axis(self.graph, op) if channels else None
        if axis is None:
            return whole_s
        shape = self.graph.tensors[op.outputs[0]].shape
        box = channels_box(shape, axis, 0, min(channels, shape[axis]))
        sliced_s = self._compute.parts_s(op, box, -(-shape[axis] // channels))
        # While parameters come, which no way spares, an array may be as idle as it is.
        loaded = sum(map(self.graph.size_bytes, op.parameters))
        loads_s = loaded / self.machine.memory(self.machine.parameters).read_bytes_per_s
        return whole_s + max(0.0, sliced_s - max(whole_s, loads_s))


# --------------------------------------------------------------------------------------------------

KnownLevels: TypeAlias = dict[tuple[int, int], Levels]
BEGUN = 16
"""Parts in which the network's input comes and is read, about."""
ROOM = "parameters"
"""The workspace of a run that is for its parameters: the layout keeps it free."""


class RoomyBlocks(BlockSplits):
    """Ways to run blocks within a budget, with room for slices of parameters of so many bytes."""

    def __init__(
        self,
        graph: Graph,
        machine: Machine,
        budget_bytes: int,
        slice_bytes: int,
        clock: Clock,
        levels: KnownLevels,
        *,
        in_place: bool = False,
        marks: Sequence[int] = (),
    ) -> None:
        """`levels` are those of ranges of operators without room, shared by searches.

        `in_place`: parameters are read at their home, which takes seconds and no room. `marks`: the
        positions between which blocks lie, where only some of those that there are may be taken.
        """
        self.sliced_cost = SlicedCost(graph, machine, in_place, slice_bytes)
        self.whole_cost = Cost(graph, machine, in_place)
        super().__init__(graph, budget_bytes, self.sliced_cost, clock)
        if marks:
            self.marks = [*marks]
        self.machine, self.slice_bytes, self.levels = machine, slice_bytes, levels
        self.in_place = in_place
        self._alone: Coarse | None = None

    def _levels(self, first: int, stop: int) -> Levels:
        if (first, stop) not in self._known:
            if (first, stop) not in self.levels:
                self.levels[first, stop] = Levels(self.graph, range(first, stop), False)
            self._known[first, stop] = RoomyLevels(self, self.levels[first, stop])
        return self._known[first, stop]

    @property
    def alone(self) -> Coarse:
        """Operators alone in blocks of many."""
        if self._alone is None:
            self._alone = TimedCoarse(self)
        return self._alone

    def large(self) -> Iterator[ChainWay]:
        """As any blocks', while there is time."""
        with suppress(TimeIsOver):
            yield from super().large()

    def _whole(self, first: int, stop: int) -> ChainWay | None:
        """As any blocks'; the network's input comes by rows where it can, to be read meanwhile."""
        way = super()._whole(first, stop)
        return way if way is None or first else self._begun_early(way) or way

    def _begun_early(self, way: ChainWay) -> ChainWay | None:
        """The same with the first operator by rows; None where it has too few, or does not fit."""
        for run in self._levels(0, 1):
            count = TensorRows(self.graph, run.writes[0]).count if len(run.writes) == 1 else 0
            if run.rows and BEGUN * run.rows <= count:
                return self._way(0, way.stop, [run, *way.runs[1:]])
        return None

    def _block(self, first: int, stop: int) -> ChainWay | None:
        return None if self.clock.expired() else super()._block(first, stop)

    def room(self, positions: Sequence[int], at_once: bool) -> int:
        """Bytes for the parameters that operators need to be there together."""
        return sum(self._room(position, at_once) for position in positions)

    def _room(self, position: int, at_once: bool) -> int:
        if self.in_place:
            return 0
        size = sum(map(self.graph.size_bytes, self.graph.operators[position].parameters))
        if at_once and self.sliced(position):
            op = self.graph.operators[position]
            one = least_slice_bytes(self.graph, op)
            assert one is not None
            return max(one * self.sliced_cost.channels(op), self.slice_bytes)
        return size

    def sliced(self, position: int) -> bool:
        """Whether an operator that runs at once runs in slices of its parameters."""
        return self.sliced_cost.channels(self.graph.operators[position]) > 0

    def least_s(self, first: int, stop: int) -> float:
        """Seconds, about, of operators one after the other, each at once."""
        return sum(map(self.whole_cost.seconds, self._wholes(first, stop)))

    def split(
        self, first: int, stop: int, parts: Sequence[tuple[int, int]], *, rows: bool
    ) -> Iterator[ChainWay]:
        """Ways to run a split of blocks: with any `rows` each, or as coarse as it can be."""
        choices: Iterable[tuple[RunCandidate, ...]]
        if rows:
            choices = product(*(list(self._levels(*part)) for part in parts))
        else:
            runs = self._coarsest(first, stop, parts)
            choices = [] if runs is None else [tuple(runs)]
        for each in choices:
            if self.clock.expired():
                return
            if (way := self._way(first, stop, each)) is not None:
                yield way

    def whole(self, first: int, stop: int) -> ChainWay | None:
        """Each operator of a block at once; None where that does not fit."""
        return self._whole(first, stop)

    def layout(self, ways: Sequence[ChainWay]) -> PoolLayout:
        """The layout of ways of consecutive blocks in a pool of the budget's size."""
        layout = turned(self.graph, ways, self.budget)
        runs = tuple(
            replace(run, buffers=tuple(b for b in run.buffers if b.tensor != ROOM))
            for run in layout.runs
        )
        return replace(layout, runs=runs)


class TimeIsOver(Exception):
    """Segments were not chosen for all operators in the time."""


class TimedCoarse(Coarse):
    """Operators in the default order, each at once or by rows, with room for its parameters; raises
    `TimeIsOver`."""

    def __init__(self, blocks: RoomyBlocks) -> None:
        self.blocks = blocks
        super().__init__(blocks.graph, range(len(blocks.graph.operators)), blocks.budget, NOTHING)

    def _levels(self, position: int) -> Levels:
        return self.blocks._levels(position, position + 1)

    @cached_property
    def _hopeless(self) -> frozenset[int]:
        """The steps of parts in which one does not fit, whatever its segments."""
        parts = (range(*span) for span in self.spans)
        large = (part for part in parts if any(self.steps[n].least > self.budget for n in part))
        return frozenset(chain.from_iterable(large))

    def _coarsest(self, number: int) -> int:
        if number in self._hopeless:
            return self.budget + 1
        if self.blocks.clock.expired():
            raise TimeIsOver
        return super()._coarsest(number)


class RoomyLevels(Levels):
    """Ever finer segments, each with room for the parameters that it needs."""

    def __init__(self, blocks: RoomyBlocks, levels: Levels) -> None:
        super().__init__(blocks.graph, levels.positions, False)
        self.blocks, self.levels = blocks, levels
        self._roomy: dict[int, RunCandidate | None] = {}

    def at(self, number: int) -> RunCandidate | None:
        if number not in self._roomy:
            self._roomy[number] = self._at(number)
        return self._roomy[number]

    def _at(self, number: int) -> RunCandidate | None:
        run = self.levels.at(number)
        if run is None:
            return None
        at_once = len(run.operators) == 1 and (
            len(self.graph.operators[run.operators[0]].outputs) > 1
            or run.rows >= TensorRows(self.graph, run.writes[0]).count
        )
        if room := self.blocks.room(run.operators, at_once):
            run = replace(run, needs=(*run.needs, BufferNeed(ROOM, 1, room)))
        # What is made in slices reads all of its inputs again for each: they cannot give way.
        apart = at_once and self.blocks.sliced(run.operators[0])
        return replace(run, distances={}) if apart else run


def emitted(graph: Graph, machine: Machine, layout: PoolLayout) -> Program:
    """The program of a layout, its parameters read in place; without loops, so that these may come
    in front of any instruction."""
    program = emit(graph, machine, layout, parameters=True)
    return replace(program, instructions=tuple(program.instructions))
