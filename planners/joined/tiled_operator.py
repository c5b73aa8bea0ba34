"""An operator alone, from host to host, box by box of its output.

What fused groups cannot cut finely enough (weights of a product over tokens, two operands of
attention, a norm over whole planes) still runs in little memory: any box of an output needs boxes
of what the operator reads. Those that the next box needs too stay on chip. The grid of boxes and
the order in which they are made are those that move least, or take least, of what fits; what
changes from box to box has two places where that fits, so that one box comes while another is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import prod
from typing import TypeAlias

from planners.core.access import needs_apart, share_of_macs
from planners.core.compute_seconds import ComputeSeconds
from planners.core.graph import Graph, Operator
from planners.core.integers import rounded_up
from planners.core.machine import Machine
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
)
from planners.core.progress import Clock

Own: TypeAlias = tuple[str, int]
"""What is read of an operand, by its name: the parts of it that lie apart are counted."""
MOST_BOXES = 4096
MOST_SIZES, MOST_GRIDS = 9, 12
"""Sizes of boxes along an axis, and grids, that are tried."""
MOST_FITTING = 200
"""Sizes of boxes that fit, those of fewest boxes first, of which the best are taken."""
MOST_PERMUTED = 3
"""Axes in any order; of more, any is innermost, and the others in their own order."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Boxes of so many elements along each axis, made with axes in this `order`, the last of them
    innermost; `places` for what changes there; bytes on chip and moved, and seconds, about."""

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    places: int
    held_bytes: int
    moved_bytes: int
    seconds: float


@dataclass(frozen=True)
class OperatorBoxes:
    """One operator in a budget, of which parameters that are read `in_place` take no byte."""

    graph: Graph
    machine: Machine
    budget_bytes: int
    op: Operator
    in_place: bool = False

    @property
    def output(self) -> str:
        return self.op.outputs[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.graph.tensors[self.output].shape

    def best(self, objective: str, clock: Clock) -> list[Grid]:
        """Some grids of least bytes or seconds of those that fit, about; none for several outputs,
        and fewer where the clock ends the search."""
        if len(self.op.outputs) != 1 or not prod(self.shape):
            return []
        fit = list(self._grids(clock))
        if objective == "latency":
            return sorted(fit, key=lambda grid: (grid.seconds, grid.moved_bytes))[:MOST_GRIDS]
        return sorted(fit, key=lambda grid: (grid.moved_bytes, grid.seconds))[:MOST_GRIDS]

    def program(self, grids: Sequence[Grid]) -> Program | None:
        """The program in the first of these grids that fits; None where none does."""
        for grid in grids:  # Inside, boxes may be larger than where it was looked at.
            instructions = [*self._boxes(grid)]
            read = [self._operands(box) for box in instructions]
            slots = self._slots(grid, instructions, read)
            if sum(slot.size_bytes * slot.places for slot in slots.values()) <= self.budget_bytes:
                return self._program(instructions, read, slots)
        return None

    # ---- grids ---------------------------------------------------------------------------------

    def _grids(self, clock: Clock) -> Iterator[Grid]:
        """Grids that fit with what they take, by the boxes at both ends and in the middle."""
        fitting, every = 0, product(*map(_sizes, self.shape, self._compute.at_once(self.op.name)))
        for sizes in sorted(every, key=lambda sizes: prod(self._counts(sizes))):
            counts = self._counts(sizes)
            if prod(counts) > MOST_BOXES or fitting == MOST_FITTING or clock.expired():
                return
            grids = [*self._orders(sizes, counts)]
            fitting += bool(grids)
            yield from grids

    def _counts(self, sizes: tuple[int, ...]) -> list[int]:
        """How many boxes of a size there are along each axis."""
        return [-(-n // size) for n, size in zip(self.shape, sizes, strict=True)]

    def _orders(self, sizes: tuple[int, ...], counts: Sequence[int]) -> Iterator[Grid]:
        """The grids of boxes of a size."""
        output_bytes = self.graph.bytes_of(self.output, prod(sizes))
        if output_bytes > self.budget_bytes:
            return
        ends = ([0] * len(counts), [n // 2 for n in counts], [n - 1 for n in counts])
        some = [self._operands(self._box(sizes, at)) for at in ends]
        bytes_of = {
            own: max(self._bytes(own, each[own]) for each in some if own in each)
            for own in dict.fromkeys(own for each in some for own in each)
        }
        held_bytes = (
            sum(size for own, size in bytes_of.items() if self._is_held(own)) + output_bytes
        )
        if held_bytes > self.budget_bytes:
            return
        cut = [axis for axis, count in enumerate(counts) if count > 1]
        moves = {axis: self._moved(sizes, counts, axis) for axis in cut}
        work_s = self._work_s(sizes, prod(counts), bytes_of)
        for order in _permuted(cut):
            loaded = {
                own: size * self._times(own, order, moves, counts) for own, size in bytes_of.items()
            }
            moved = sum(loaded.values()) + self.graph.size_bytes(self.output)
            in_s, out_s = self._moving_s(loaded)
            yield Grid(sizes, order, 1, held_bytes, moved, in_s + work_s + out_s)
            if order:
                changing = [n for n in bytes_of if n in moves[order[-1]] and self._is_held(n)]
                both = held_bytes + output_bytes + sum(bytes_of[own] for own in changing)
                if both <= self.budget_bytes:
                    waits = [
                        self._times(n, order, moves, counts) for n in bytes_of if n not in changing
                    ]
                    waited_s = max((n for n in waits if n > 1), default=0) * work_s / prod(counts)
                    first_s, _ = self._moving_s(bytes_of)
                    ends_s = first_s + out_s / prod(counts)
                    seconds = max(in_s - first_s, work_s, out_s) + ends_s + waited_s
                    yield Grid(sizes, order, 2, both, moved, seconds)

    def _work_s(self, sizes: Sequence[int], count: int, bytes_of: Mapping[Own, int]) -> float:
        """Seconds to make so many boxes of a size that read so much each; the last along each axis
        are what is left of it."""
        machine, read_s = self.machine, dict[str, float]()
        onchip = machine.memory(machine.onchip)
        for own, size in bytes_of.items():
            memory = onchip if self._is_held(own) else machine.memory(machine.parameters)
            crossing = self._compute.crossing(own[0], memory.name) * size * count
            read_s[memory.name] = read_s.get(memory.name, 0.0) + crossing / memory.read_bytes_per_s
        written = self.graph.size_bytes(self.output) / onchip.write_bytes_per_s
        along = [_lengths(n, size) for n, size in zip(self.shape, sizes, strict=True)]
        array_s = sum(
            self._compute.parts_s(self.op, tuple((0, n) for n, _ in each), prod(k for _, k in each))
            for each in product(*along)
        )
        written_s = {onchip.name: written}
        return self._compute.instructions_s(self.op, count, array_s, read_s, written_s)

    def _moving_s(self, loaded: Mapping[Own, int]) -> tuple[float, float]:
        """Seconds for what is loaded, and for the output."""
        machine, in_s = self.machine, 0.0
        for own, size in loaded.items():
            if self._is_held(own):
                home = machine.parameters if own[0] in self.op.parameters else machine.offchip
                in_s += size / machine.memory(home).read_bytes_per_s
        host = machine.memory(machine.offchip)
        return in_s, self.graph.size_bytes(self.output) / host.write_bytes_per_s

    @cached_property
    def _compute(self) -> ComputeSeconds:
        return ComputeSeconds(self.graph, self.machine)

    def _is_held(self, own: Own) -> bool:
        """Whether a part of an operand takes bytes on chip."""
        return not (self.in_place and own[0] in self.op.parameters)

    def _bytes(self, own: Own, box: Box) -> int:
        return piece_bytes(self.graph, Piece(own[0], box))

    def _times(
        self,
        own: Own,
        order: Sequence[int],
        moves: Mapping[int, set[Own]],
        counts: Sequence[int],
    ) -> int:
        """How often it is read: for each box of the axes down to the last it needs."""
        deepest = max((at for at, axis in enumerate(order) if own in moves[axis]), default=-1)
        if not self._is_held(own):
            deepest = len(order) - 1  # For each box, whatever it is.
        return prod(counts[axis] for axis in order[: deepest + 1])

    def _moved(self, sizes: Sequence[int], counts: Sequence[int], axis: int) -> set[Own]:
        """What of the operands changes along an axis."""
        at = [0] * len(counts)
        first = self._operands(self._box(sizes, at))
        at[axis] = counts[axis] - 1
        last = self._operands(self._box(sizes, at))
        return {own for own in {*first, *last} if first.get(own) != last.get(own)}

    def _box(self, sizes: Sequence[int], at: Sequence[int]) -> Box:
        ends = zip(self.shape, sizes, at, strict=True)
        return tuple((k * size, min(n, (k + 1) * size)) for n, size, k in ends)

    def _operands(self, box: Box) -> dict[Own, Box]:
        """What a box of the output reads; what it reads nothing of is not there."""
        boxes, counts = dict[Own, Box](), dict[str, int]()
        for name, part in needs_apart(self.graph, self.op, self.output, box):
            if all(start < stop for start, stop in part):
                counts[name] = counts.get(name, -1) + 1
                boxes[name, counts[name]] = part
        return boxes

    # ---- a program -----------------------------------------------------------------------------

    def _boxes(self, grid: Grid) -> Iterator[Box]:
        """The boxes of the output in the order in which they are made."""
        counts = self._counts(grid.sizes)
        for numbers in product(*(range(counts[axis]) for axis in grid.order)):
            at = [0] * len(counts)
            for axis, number in zip(grid.order, numbers, strict=True):
                at[axis] = number
            yield self._box(grid.sizes, at)

    def _slots(
        self, grid: Grid, made: Sequence[Box], read: Sequence[Mapping[Own, Box]]
    ) -> dict[Own, _Slots]:
        """Places for each part of an operand and for the output, one after the other."""
        slots: dict[Own, _Slots] = {}
        end, inner = 0, 1
        if grid.order:
            inner = -(-self.shape[grid.order[-1]] // grid.sizes[grid.order[-1]])
        for own in dict.fromkeys(own for each in read for own in each):
            if not self._is_held(own):
                continue
            changes = any(
                read[number - 1].get(own) != read[number].get(own)
                for number in range(len(read))
                if number % inner
            )
            size = max(self._bytes(own, each[own]) for each in read if own in each)
            slots[own] = _Slots(end, size, grid.places if changes else 1)
            end += size * slots[own].places
        size = max(self._bytes((self.output, 0), box) for box in made)
        slots[self.output, 0] = _Slots(end, size, grid.places if len(made) > 1 else 1)
        return slots

    def _program(
        self, made: Sequence[Box], read: Sequence[Mapping[Own, Box]], slots: Mapping[Own, _Slots]
    ) -> Program:
        machine, name = self.machine, self.op.name
        memories = [
            Memory(machine.onchip, self.budget_bytes),
            Memory(machine.offchip, None, offchip=True, addressed=False),
        ]
        if machine.parameters != machine.offchip:
            memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
        homes = {
            "input": machine.offchip,
            "output": machine.offchip,
            "parameter": machine.parameters,
        }
        steps = tuple(f"{name} {number} of {len(made)}" for number in range(1, len(made) + 1))
        return Program(tuple(memories), tuple(self._instructions(made, read, slots)), homes, steps)

    def _instructions(
        self, made: Sequence[Box], read: Sequence[Mapping[Own, Box]], slots: Mapping[Own, _Slots]
    ) -> Iterator[Instruction]:
        graph, machine, there = self.graph, self.machine, dict[Own, Operand]()
        for step, (box, needed) in enumerate(zip(made, read, strict=True)):
            for own, part in needed.items():
                if own in there:
                    continue
                piece, size = Piece(own[0], part), self._bytes(own, part)
                parameter = own[0] in self.op.parameters
                home = Region(machine.parameters if parameter else machine.offchip, None, size)
                if self._is_held(own):
                    there[own] = slots[own].next(graph, machine, piece)
                    yield Load(step, piece, home, there[own].region)
                else:
                    there[own] = Operand(piece, home)
            written = slots[self.output, 0].next(graph, machine, Piece(self.output, box))
            reads = tuple(there[own] for own in needed)
            macs = share_of_macs(graph, self.op, self.output, box)
            yield Compute(step, self.op.name, reads, (written,), macs)
            home = Region(machine.offchip, None, written.region.size_bytes)
            yield Store(step, written.piece, written.region, home)
            yield Release(step, *written)
            after = read[step + 1] if step + 1 < len(read) else {}
            for own, operand in [*there.items()]:
                if after.get(own) != operand.piece.box:
                    del there[own]
                    if self._is_held(own):
                        yield Release(step, *operand)


@dataclass(slots=True)
class _Slots:
    """Places for the pieces of one operand, taken in turn."""

    offset: int
    size_bytes: int
    places: int
    turn: int = 0

    def next(self, graph: Graph, machine: Machine, piece: Piece) -> Operand:
        """The piece in the next place."""
        at = self.offset + self.turn * self.size_bytes
        self.turn = (self.turn + 1) % self.places
        return Operand(piece, Region(machine.onchip, at, piece_bytes(graph, piece)))


def _permuted(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Orders of the axes: all of few, of more one for each that is innermost."""
    if len(axes) <= MOST_PERMUTED:
        yield from permutations(axes)
        return
    for inner in axes:
        yield (*(axis for axis in axes if axis != inner), inner)


def _lengths(length: int, size: int) -> list[tuple[int, int]]:
    """The lengths of parts of an axis, and how many there are of each."""
    whole, rest = divmod(length, size)
    return [(size, whole), *([(rest, 1)] if rest else [])]


def _sizes(length: int, at_once: int) -> list[int]:
    """Sizes of parts of an axis, the whole first: some of those that differ in their number, and
    whole steps of an array that makes so many at once; one element, which reads least."""
    halved = [length] if length else []
    while 0 < len(halved) < MOST_SIZES and halved[-1] > 1:
        halved.append(-(-halved[-1] // 2))
    halved += [1] * (length > 1)
    stepped = (min(length, rounded_up(size, at_once)) for size in halved)
    return sorted({*halved, *stepped}, reverse=True)
