"""Parameters streamed into the bytes that a program leaves free, in the order of their reads.

A program that reads parameters in place says when each is read first and last, and which bytes are
taken when. Parameters come to where they can come earliest: after what lay there before has gone,
and not before those that are read sooner, for transfers keep their order. Those that are read by
turns (rows of several operators) lie side by side. An operator whose parameters are larger than a
slice runs in slices of its output channels, each with its part of them (Demand Layering, slices).

Fused groups are written as loops, in which nothing is read in place, and stay so: a loop is one
item, in front of which or after which transfers may come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from planners.core.access import share_of_macs
from planners.core.boxes import common
from planners.core.compute_seconds import ComputeSeconds
from planners.core.gc_pause import no_collection
from planners.core.graph import Graph, Operator
from planners.core.loops import LoopedInstructions, expanded, first_step, items_of
from planners.core.machine import Machine
from planners.core.program import (
    AddressSpace,
    Box,
    Compute,
    Instruction,
    Item,
    Load,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
    piece_bytes,
)
from planners.joined.concatenate import POOL
from planners.joined.free_intervals import Occupied, occupied
from planners.joined.pool import (
    channel_axis,
    channels_box,
    least_slice_bytes,
    parameter_pieces,
    slice_channels,
)

Rows = npt.NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Parameters that lie side by side: transfers of pieces, and the items that read first and last
    by number."""

    transfers: tuple[tuple[Piece, ...], ...]
    first: int
    last: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ParameterPlace:
    """Where parameters lie, and in front of which item they are loaded."""

    wanted: Wanted
    offset: int
    load_at: int


class LastReads:
    """Boxes of a tensor, and when each is read last."""

    def __init__(self, axes: int) -> None:
        self._axes, self._count = axes, 0
        self._rows = np.empty((16, 2 * axes + 1), dtype=np.int64)

    def add(self, box: Box, last: int) -> None:
        if self._count == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        starts, stops = [start for start, _ in box], [stop for _, stop in box]
        self._rows[self._count] = [*starts, *stops, last]
        self._count += 1

    def last_read(self, box: Box) -> int:
        """The last read of any box that shares elements with this one; -1 where none does."""
        rows, axes = self._rows[: self._count], self._axes
        starts, stops = [start for start, _ in box], [stop for _, stop in box]
        begins, ends = rows[:, :axes] < stops, rows[:, axes : 2 * axes] > starts
        return int(rows[(begins & ends).all(axis=1), -1].max(initial=-1))


class NoRoom(Exception):
    """Some parameters find no bytes that are free while they are read, first by an `operator`."""

    operator = ""


class ParameterStream:
    """Brings what a program reads in place into the free bytes of its scratchpad."""

    def __init__(self, graph: Graph, machine: Machine, program: Program, budget_bytes: int) -> None:
        self.graph, self.machine, self.budget = graph, machine, budget_bytes
        self.operators = {op.name: op for op in graph.operators}
        self.program = program
        self.spaces = AddressSpace(program.memories)
        self.items = list(items_of(program))
        self.compute = ComputeSeconds(graph, machine)

    @cached_property
    def _occupied(self) -> Occupied:
        intervals = occupied(self.graph, self.program, self.machine.parameters)
        if intervals is None:
            raise NoRoom("more instructions than columns hold")
        return intervals

    @no_collection()
    def streamed(self, slice_bytes: int) -> Program:
        """The program with its parameters loaded, in slices of so many bytes where it can.

        Raises `NoRoom`.
        """
        slices = self._in_slices(slice_bytes)
        sliced = [part for parts in slices for part in parts]
        placed = self._placed(sliced, np.cumsum([0, *map(len, slices)]))
        written = LoopedInstructions(tuple(self._written(sliced, placed)))
        return replace(self.program, instructions=written)

    # ---- slices --------------------------------------------------------------------------------

    def _in_slices(self, slice_bytes: int) -> list[Sequence[Item]]:
        """The items, each in its slices: operators that run at once and read more are cut, where
        they can be."""
        times: dict[str, int] = {}
        for item in self.items:
            if isinstance(item, Compute):
                times[item.operator] = times.get(item.operator, 0) + 1
        return [
            self._slices(item, slice_bytes)
            if isinstance(item, Compute) and times[item.operator] == 1
            else (item,)
            for item in self.items
        ]

    def _slices(self, item: Compute, slice_bytes: int) -> list[Compute]:
        op = self.operators[item.operator]
        total = sum(region.size_bytes for _, region in item.reads if region.offset is None)
        one = least_slice_bytes(self.graph, op)
        if total <= slice_bytes or one is None or not self._may_slice(item):
            return [item]
        axis = channel_axis(self.graph, op)
        assert axis is not None
        shape = self.graph.tensors[op.outputs[0]].shape
        if any(operand.piece.box[axis] != (0, shape[axis]) for operand in item.writes):
            return [item]
        step = self.compute.at_once(op.name)[axis]
        channels = slice_channels(one, slice_bytes, step)
        step = step if channels >= step else 1  # Whole steps of the array, spread evenly.
        steps, count = -(-shape[axis] // step), -(-shape[axis] // channels)
        marks = [min(shape[axis], step * -(-steps * k // count)) for k in range(count + 1)]
        boxes = [channels_box(shape, axis, *marked) for marked in pairwise(marks)]
        return [self._slice(item, op, box, last=box is boxes[-1]) for box in boxes]

    def _slice(self, item: Compute, op: Operator, box: Box, *, last: bool) -> Compute:
        """The part that makes these channels, with the parameters that it needs, in place."""
        kept = tuple(operand for operand in item.reads if operand.region.offset is not None)
        home = self.machine.parameters
        parameters = tuple(
            Operand(piece, Region(home, None, piece_bytes(self.graph, piece)))
            for piece in parameter_pieces(self.graph, op, box)
        )
        frees = item.frees if last else ()
        parts = tuple(common(operand.piece.box, box) or box for operand in item.writes)
        macs = sum(share_of_macs(self.graph, op, op.outputs[0], part) for part in parts)
        return replace(item, reads=kept + parameters, macs=macs, frees=frees, parts=parts)

    def _may_slice(self, item: Compute) -> bool:
        """Whether it makes all of one output at once, apart from all that it reads."""
        names = {operand.piece.tensor for operand in item.writes}
        if len(names) != 1 or item.sums or item.parts:
            return False
        elements = sum(operand.piece.elements for operand in item.writes)
        if elements != self.graph.tensors[names.pop()].elements:
            return False
        inside = sum(operand.region.offset is not None for operand in item.reads)
        if any(at >= inside for at in item.frees):  # Places in what a slice reads are the same.
            return False
        written = [span for _, region in item.writes for span in self.spaces.spans(region)]
        freed = [s for at in item.frees for s in self.spaces.spans(item.reads[at].region)]
        return not any(a.start < b.stop and b.start < a.stop for a in written for b in freed)

    # ---- places --------------------------------------------------------------------------------

    def _wanted(self, items: Sequence[Item]) -> list[Wanted]:
        """Parameters in the order in which they are read first; those read by turns together."""
        spans: dict[tuple[str, tuple[Piece, ...]], list[int]] = {}
        for at, item in enumerate(items):
            if isinstance(item, Compute):
                pieces = tuple(piece for piece, region in item.reads if region.offset is None)
                if pieces:
                    spans.setdefault((item.operator, pieces), [at, at])[1] = at
        wanted: list[Wanted] = []
        for (_, pieces), (first, last) in spans.items():
            size = sum(piece_bytes(self.graph, piece) for piece in pieces)
            if wanted and first <= wanted[-1].last:
                before = wanted.pop()
                before_pieces = {piece for transfer in before.transfers for piece in transfer}
                if not before_pieces.isdisjoint(pieces):
                    raise NoRoom(pieces[0].tensor)
                transfers = (*before.transfers, pieces)
                last, size = max(last, before.last), size + before.size_bytes
                wanted.append(Wanted(transfers, before.first, last, size))
            else:
                wanted.append(Wanted((pieces,), first, last, size))
        return wanted

    def _inputs(self, items: Sequence[Item]) -> list[tuple[int, int]]:
        """When what comes in front of all work is read first, and where it comes; in that order."""
        loads: dict[Piece, int] = {}
        first: dict[Piece, int] = {}
        begun = False
        for at, item in _numbered(items):
            if isinstance(item, Compute):
                begun = True
                for piece, _ in item.reads:
                    if piece in loads:
                        first.setdefault(piece, at)
            elif isinstance(item, Load) and not begun:
                loads[item.piece] = at
            if begun and len(first) == len(loads):
                break
        return sorted((at, loads[piece]) for piece, at in first.items())

    def _placed(self, items: Sequence[Item], begun: Rows) -> list[ParameterPlace]:
        """A place for all parameters, in front of the item from which on it is free.

        `begun` has where the slices of each of the program's items begin, and their number.
        """
        occupied, ended = self._occupied, np.append(begun[1:] - 1, begun[-1])
        taken, placed_rows = occupied.taken.copy(), np.zeros((0, 4), dtype=np.int64)
        placed: list[ParameterPlace] = []
        there: dict[str, LastReads] = {}
        not_before = 0
        inputs = self._inputs(items)
        others = sorted((int(begun[a]), int(ended[b]), piece) for a, b, piece in occupied.loaded)
        taken[:, 2], taken[:, 3] = begun[taken[:, 2]], ended[taken[:, 3]]
        for wanted in self._wanted(items):
            while others and others[0][0] < wanted.first:  # Fused groups have them for themselves.
                _, end, piece = others.pop(0)
                there.setdefault(piece.tensor, LastReads(len(piece.box))).add(piece.box, end)
            while inputs and inputs[0][0] <= wanted.first:  # What is read sooner comes first.
                not_before = max(not_before, inputs.pop(0)[1] + 1)
            pieces = [piece for transfer in wanted.transfers for piece in transfer]
            # What is there for an operator before goes first: a piece is nowhere twice.
            reads_of = [(there.setdefault(p.tensor, LastReads(len(p.box))), p.box) for p in pieces]
            not_before = max([not_before, *(reads.last_read(box) + 1 for reads, box in reads_of)])
            for reads, box in reads_of:
                reads.add(box, wanted.last)
            taken, placed_rows = (rows[rows[:, 3] >= not_before] for rows in (taken, placed_rows))
            near = np.concatenate((taken[taken[:, 2] <= wanted.last], placed_rows))
            try:
                offset, not_before = self.place(wanted, near, not_before)
            except NoRoom as error:
                reader = items[wanted.first]
                assert isinstance(reader, Compute)
                error.operator = reader.operator
                raise
            placed.append(ParameterPlace(wanted, offset, not_before))
            spans = self.spaces.spans(Region(POOL, offset, wanted.size_bytes))
            rows = [(span.start, span.stop, not_before, wanted.last) for span in spans]
            placed_rows = np.concatenate((placed_rows, np.array(rows, dtype=np.int64)))
        return placed

    def place(self, wanted: Wanted, near: Rows, not_before: int) -> tuple[int, int]:
        """The lowest offset at which parameters can come earliest, and in front of what."""
        size = wanted.size_bytes
        # Addresses of the pool go round: twice around it is all of them from any first one on.
        again = near + np.array([self.budget, self.budget, 0, 0])
        near, whole = np.concatenate((near, again)), 2 * self.budget
        edges = np.unique(np.concatenate(([0, whole], near[:, 0], near[:, 1])))
        # By range between two edges: from which item on it is free, for all of the reads.
        free = np.full(len(edges) - 1, not_before, dtype=np.int64)
        low, high = np.searchsorted(edges, near[:, 0]), np.searchsorted(edges, near[:, 1])
        after = np.where(near[:, 3] < wanted.first, near[:, 3] + 1, NEVER)
        for a, b, at in zip(low.tolist(), high.tolist(), after.tolist(), strict=True):
            np.maximum(free[a:b], at, out=free[a:b])
        offsets = np.unique(np.concatenate((edges[:-1], edges[1:] - size)))
        offsets = offsets[(offsets >= 0) & (offsets < self.budget) & (size <= self.budget)]
        begin = np.searchsorted(edges, offsets, side="right") - 1
        end = np.searchsorted(edges, offsets + size, side="left")
        best = (NEVER, 0)
        for offset, a, b in zip(offsets.tolist(), begin.tolist(), end.tolist(), strict=True):
            best = min(best, (int(free[a:b].max()), offset))
        if best[0] == NEVER:
            raise NoRoom(wanted.transfers[0][0].tensor)
        return best[1], best[0]

    # ---- the program written -------------------------------------------------------------------

    def _written(self, items: Sequence[Item], placed: Sequence[ParameterPlace]) -> Iterator[Item]:
        loads: dict[int, list[ParameterPlace]] = {}
        ends: dict[int, list[ParameterPlace]] = {}
        for place in placed:
            loads.setdefault(place.load_at, []).append(place)
            ends.setdefault(place.wanted.last, []).append(place)
        there: dict[Piece, Operand] = {}
        for index, item in enumerate(items):
            for place in loads.get(index, ()):
                yield from self._loads(first_step(item), place, there)
            if isinstance(item, Compute) and any(o.region.offset is None for o in item.reads):
                reads = (there[o.piece] if o.region.offset is None else o for o in item.reads)
                yield replace(item, reads=tuple(reads))
            else:
                yield item
            for place in ends.get(index, ()):
                for pieces in place.wanted.transfers:
                    for piece in pieces:
                        yield Release(first_step(item), *there.pop(piece))

    def _loads(
        self, step: int, place: ParameterPlace, there: dict[Piece, Operand]
    ) -> Iterator[Load]:
        """A transfer for each operator: its parameters side by side."""
        offset = place.offset
        for pieces in place.wanted.transfers:
            for number, piece in enumerate(pieces):
                size = piece_bytes(self.graph, piece)
                there[piece] = Operand(piece, Region(POOL, offset % self.budget, size))
                home = Region(self.machine.parameters, None, size)
                yield Load(step, piece, home, there[piece].region, joined=number > 0)
                offset += size


def _numbered(items: Sequence[Item]) -> Iterator[tuple[int, Instruction]]:
    """Every instruction, with the number of the item that it is, or is in."""
    for at, item in enumerate(items):
        if isinstance(item, Repeat):
            for each in expanded((item,)):
                yield at, each
        else:
            yield at, item
