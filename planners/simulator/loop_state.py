"""What is where while the rounds of loops are proven: pieces, and how they move.

The state of `planners.simulator.state`, with every box and offset as an affine number of the
rounds. What is not so in all of them raises `NotProven`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from planners.core.boxes import Box, joined, meet
from planners.core.loops import expanded
from planners.core.program import (
    Item,
    Move,
    Operand,
    Piece,
    Region,
    Span,
    piece_bytes,
)
from planners.simulator.loop_affine import (
    Motion,
    Motions,
    NotProven,
    Vector,
    hull,
    largest,
    least,
    progression,
    shifted,
)
from planners.simulator.loop_bodies import come_of, gone_of, motions_of, touched_of
from planners.simulator.loop_lines import Lines, LoopStay
from planners.simulator.state import ReplayState
from planners.simulator.unfinished import Unfinished

MOST_BOXES = 20_000
Key: TypeAlias = tuple[str, str]
"""A memory and a tensor."""


class LoopState:
    """What is resident in a round that stands for all of them.

    `rounds` has, for each loop around, how many rounds follow this one. `touched` are the tensors
    of which rounds place or release something: all else rests.
    """

    def __init__(self, state: ReplayState, body: Sequence[Item]) -> None:
        self.state, self.graph, self.spaces = state, state.graph, state.spaces
        self.rounds: list[int] = []
        self.live: dict[Key, dict[Piece, LoopStay]] = defaultdict(dict)
        self.gone: list[tuple[str, Piece]] = []
        self.resident_bytes = state.resident_bytes
        self.fullest = 0  # bytes resident at any moment of this instruction
        self.extent = 0
        self.stored_here: list[tuple[Key, Box, tuple[Vector, ...]]] = []
        self._extents: set[tuple[Region, tuple[tuple[int, int], ...]]] = set()
        self.touched = touched_of(body)
        for (root, piece), stay in state.resident.items():
            if piece.tensor in self.touched:
                unfinished = stay.unfinished.copy() if stay.unfinished else None
                held = LoopStay(stay.operand, (), root, unfinished=unfinished)
                self.live[root, piece.tensor][piece] = held
                self.gone.append((root, piece))
        self.lines = Lines(self.spaces, self.rounds, self._obstacles())

    def _obstacles(self) -> list[Span]:
        """Bytes of what no round touches, together where they touch each other."""
        spans: list[Span] = []
        for root, taken in self.state.taken.items():
            for start, stop, stay in taken:
                if stay.operand.piece.tensor in self.touched:
                    continue
                if spans and spans[-1].memory == root and spans[-1].stop == start:
                    start = spans.pop().start
                spans.append(Span(root, start, stop))
        return spans

    # ---- loops -----------------------------------------------------------------------------

    def enter(self, body: Sequence[Item], moves: Sequence[Move], last: int) -> list[LoopStay]:
        """Begin a loop: which of what is resident stays, and which moves with the rounds."""
        inside = self._after(body)
        motions = motions_of(body, moves)
        before = []
        self.rounds.append(last)
        for key, stays in self.live.items():
            after = inside.get(key[1])
            moving = None
            if after is not None and after != set(stays):
                found = motions.get(key[1], set())
                moving = next(iter(found)) if len(found) == 1 else None
            for piece, stay in stays.items():
                motion = Motion((0,) * len(piece.box), 0)
                if moving is not None and after is not None:
                    follows = Piece(piece.tensor, shifted(piece.box, moving.box)) in after
                    motion = moving if follows else motion
                if stay.unfinished is not None and not motion.rests:
                    raise NotProven("moves before it is complete")
                stay.motions = (*stay.motions, motion)
                before.append(stay)
            self._distinct(stays.values())
        self.lines.rebuilt(before)
        return before

    def _after(self, body: Iterable[Item]) -> dict[str, set[Piece]]:
        """The pieces of each tensor once this round is over."""
        there: dict[str, set[Piece]] = defaultdict(set)
        for (_, tensor), stays in self.live.items():
            there[tensor] |= set(stays)
        for item in expanded(body):
            for piece in gone_of(item):
                there[piece.tensor].discard(piece)
            for piece in come_of(item):
                there[piece.tensor].add(piece)
        return there

    def _distinct(self, stays: Collection[LoopStay]) -> None:
        """Pieces of one tensor that move differently must never become the same."""
        moving = [s for s in stays if not all(m.rests for m in s.motions)]
        for stay in moving:
            mine = self._swept(stay)
            for other in stays:
                if other.motions != stay.motions and meet(mine, self._swept(other)):
                    raise NotProven("pieces may become the same")

    def _swept(self, stay: LoopStay) -> Box:
        return hull(stay.operand.piece.box, [m.box for m in stay.motions], self.rounds)

    def leave(self, before: Sequence[LoopStay]) -> None:
        """End a loop: what was there is there again, moved; go to the last of the rounds."""
        if sum(map(len, self.live.values())) != len(before):
            raise NotProven("a round leaves more or less than it finds")
        for stay in before:
            self._grow(stay)
            motion = stay.motions[-1]
            piece, region = stay.operand
            now = self.live[stay.root, piece.tensor]
            if motion.rests:
                if now.get(piece) is not stay:
                    raise NotProven("a piece that rests has gone")
                continue
            there = now.get(Piece(piece.tensor, shifted(piece.box, motion.box)))
            offset = (region.offset or 0) + motion.offset
            if (
                there is None
                or there.motions != stay.motions
                or there.operand.region != region._replace(offset=offset)
                or there.unfinished is not None
            ):
                raise NotProven("a piece does not move with the rounds")
        last = self.rounds.pop()
        stays = [stay for stays in self.live.values() for stay in stays.values()]
        self.live.clear()
        for stay in stays:
            *rest, motion = stay.motions
            piece, region = stay.operand
            if not motion.rests:
                offset = (region.offset or 0) + last * motion.offset
                piece = Piece(piece.tensor, shifted(piece.box, motion.box, last))
                stay.operand = Operand(piece, region._replace(offset=offset))
            stay.motions = tuple(rest)
            stay.since = min(stay.since, len(rest))
            self.live[stay.root, piece.tensor][piece] = stay
        self.lines.rebuilt(stays)

    # ---- pieces ----------------------------------------------------------------------------

    def add(
        self,
        operand: Operand,
        motions: Motions,
        begun: Unfinished,
        part: Box,
        apart: Sequence[Vector],
        size: int,
    ) -> bool:
        """Add a part to a piece that was begun in this round, or another one in each round.

        Whether the piece is then complete. One that grows must not be, until the loop is over.
        `size`: its bytes until then.
        """
        root = self.spaces.root(operand.region.memory).name
        stay = self.live[root, operand.piece.tensor].get(operand.piece)
        if stay is None:
            stay = self.place(operand, motions, size)
            stay.unfinished = begun
        elif not self._same(stay, operand, motions):
            raise NotProven("adds to another piece")
        left, depth = stay.unfinished, len(self.rounds)
        if left is None or left.sums != begun.sums or any(any(by) for by in apart[:-1]):
            raise NotProven("adds to a complete piece, or in an outer loop")
        if not any(apart[-1]) and stay.since == depth:
            _add(left, [part])
            if left.complete:
                stay.unfinished = None
                self._settle(stay)
            return left.complete
        if stay.since != depth - 1 or not stay.motions[-1].rests:
            raise NotProven("adds the same again")
        stay.growing.append((part, apart[-1]))
        return False

    def _settle(self, stay: LoopStay) -> None:
        """A sum that is complete takes its own bytes, the first of those that it had."""
        piece, region = stay.operand
        size = piece_bytes(self.graph, piece)
        self.resident_bytes -= region.size_bytes - size
        stay.operand = Operand(piece, region._replace(size_bytes=size))

    def _grow(self, stay: LoopStay) -> None:
        """Add what all rounds of the innermost loop add."""
        if not stay.growing:
            return
        assert stay.unfinished is not None
        by: dict[Vector, list[Box]] = defaultdict(list)
        for part, vector in stay.growing:
            by[vector].append(part)
        for vector, parts in by.items():
            for box in joined(parts):
                _add(stay.unfinished, _grown(box, vector, self.rounds[-1]))
        if stay.unfinished.complete:
            raise NotProven("complete in the last round only")
        stay.growing = []

    def _same(self, stay: LoopStay, operand: Operand, motions: Motions) -> bool:
        here, there = stay.operand.region, operand.region
        if stay.motions != motions or here.memory != there.memory:
            return False
        size = self.spaces.memories[here.memory]
        if here.offset is None or there.offset is None or here.size_bytes != there.size_bytes:
            return False
        if size.circular and size.size_bytes:
            return (here.offset - there.offset) % size.size_bytes == 0
        return here.offset == there.offset

    def found(self, operand: Operand, motions: Motions) -> LoopStay:
        """The stay that an operand names in all rounds."""
        root = self.spaces.root(self.state.memory(operand.region).name).name
        stay = self.live[root, operand.piece.tensor].get(operand.piece)
        if stay is None or not self._same(stay, operand, motions):
            raise NotProven("not resident")
        if stay.unfinished is not None:
            raise NotProven("unfinished")
        return stay

    def find(self, operand: Operand, motions: Motions) -> LoopStay | None:
        """The stay that an operand names; None where no round ends it, or it is one after another.

        Pieces that all rest may be read one after the other.
        """
        if operand.piece.tensor not in self.touched:
            self._find_resting(operand, motions)
            return None
        if motions[-1].rests:
            return self.found(operand, motions)
        root = self.spaces.root(self.state.memory(operand.region).name).name
        stays = self.live[root, operand.piece.tensor]
        stay = stays.get(operand.piece)
        if stay is not None and stay.motions == motions:
            return self.found(operand, motions)
        box, by = operand.piece.box, motions[-1]
        resting = (*motions[:-1], Motion((0,) * len(box), 0))
        for k in range(self.rounds[-1] + 1):
            piece = Piece(operand.piece.tensor, shifted(box, by.box, k))
            offset = (operand.region.offset or 0) + k * by.offset
            self.found(Operand(piece, operand.region._replace(offset=offset)), resting)
        return None

    def _find_resting(self, operand: Operand, motions: Motions) -> None:
        """See that what no round touches is there, one piece or, in turn, several."""
        piece, region = operand
        turns = [range(k + 1) if not m.rests else (0,) for k, m in zip(self.rounds, motions)]
        if prod(map(len, turns)) > MOST_BOXES:
            raise NotProven("too many pieces")
        for index in product(*turns):
            box, offset = piece.box, region.offset or 0
            for k, motion in zip(index, motions, strict=True):
                if k:
                    box, offset = shifted(box, motion.box, k), offset + k * motion.offset
            self.state.find(Operand(Piece(piece.tensor, box), region._replace(offset=offset)))

    def find_at_home(self, operand: Operand, boxes: tuple[Vector, ...]) -> None:
        """One box that was at home before the loops, or one stored in this round, has it all."""
        self._inside(operand.piece, boxes)
        self.state.checked_home(operand)
        key = (operand.region.memory, operand.piece.tensor)
        swept = hull(operand.piece.box, boxes, self.rounds)
        for box in self.state.home[key]:
            if all(a <= c and d <= b for (a, b), (c, d) in zip(box, swept, strict=True)):
                return
        for other, box, moves in self.stored_here:
            still = [(0,) * len(box)] * (len(boxes) - len(moves))
            if (other, box, (*moves, *still)) == (key, operand.piece.box, boxes):
                return
        raise NotProven("not at home before the loop")

    def _inside(self, piece: Piece, boxes: Sequence[Vector]) -> None:
        """See that a piece lies in its tensor in all rounds."""
        tensor = self.graph.tensors.get(piece.tensor)
        if tensor is None or len(tensor.shape) != len(piece.box):
            raise NotProven("no such tensor")
        swept = hull(piece.box, boxes, self.rounds)
        if not all(0 <= a < b <= n for (a, b), n in zip(swept, tensor.shape, strict=True)):
            raise NotProven("outside of its tensor")

    def place(self, operand: Operand, motions: Motions, size: int | None = None) -> LoopStay:
        piece, region = operand
        self._inside(piece, [m.box for m in motions])
        memory, root = self.state.memory(region), self.spaces.root(region.memory)
        if region.offset is None or not memory.addressed or root.offchip:
            raise NotProven("no address on chip")
        if region.size_bytes != (piece_bytes(self.graph, piece) if size is None else size):
            raise NotProven("a region of another size")
        offsets = [m.offset for m in motions]
        limit = memory.size_bytes
        if least(region.offset, offsets, self.rounds) < 0 or limit is None:
            raise NotProven("out of range")
        if not memory.circular:
            if largest(region.offset, offsets, self.rounds) + region.size_bytes > limit:
                raise NotProven("out of range")
        stays = self.live[root.name, piece.tensor]
        if piece in stays:
            raise NotProven("is resident")
        stay = LoopStay(operand, motions, root.name, len(self.rounds))
        stays[piece] = stay
        self._distinct_from(stay, stays.values())
        self.lines.add(stay)
        self._note_extent(region, offsets)
        self.resident_bytes += region.size_bytes
        self.fullest = max(self.fullest, self.resident_bytes)
        return stay

    def _distinct_from(self, stay: LoopStay, others: Collection[LoopStay]) -> None:
        if any(other.motions != stay.motions for other in others):
            self._distinct(others)

    def release(self, stay: LoopStay) -> None:
        piece, region = stay.operand
        if self.live[stay.root, piece.tensor].get(piece) is not stay:
            raise NotProven("not resident")
        self.lines.remove(stay)
        del self.live[stay.root, piece.tensor][piece]
        self.resident_bytes -= region.size_bytes

    # ---- what is counted -------------------------------------------------------------------

    def all_rounds(self, box: Box, boxes: Sequence[Vector]) -> list[Box]:
        """What a box is in all rounds."""
        return progression(box, boxes, self.rounds, MOST_BOXES)

    def _note_extent(self, region: Region, offsets: Sequence[int]) -> None:
        """The end of the highest byte, over all rounds."""
        by = tuple([(d, last) for d, last in zip(offsets, self.rounds) if d and last])
        if (region, by) in self._extents:
            return
        self._extents.add((region, by))
        at = {region.offset or 0}
        memory = self.spaces.memories[region.memory]
        for d, last in by:
            steps = range(last + 1) if memory.circular else (0, last)
            at = {a + d * k for a in at for k in steps}
            if memory.circular and memory.size_bytes:
                at = {a % memory.size_bytes for a in at}
            if len(at) > MOST_BOXES:
                raise NotProven("too many addresses")
        stop = max(
            span.stop for offset in at for span in self.spaces.spans(region._replace(offset=offset))
        )
        self.extent = max(self.extent, stop)


def _add(unfinished: Unfinished, parts: Iterable[Box]) -> None:
    try:
        for part in parts:
            unfinished.add(part)
    except ValueError as error:
        raise NotProven(str(error)) from None


def _grown(part: Box, by: Vector, last: int) -> Iterator[Box]:
    """A part in all rounds, in one box where each begins where the one before ends."""
    axes = [axis for axis, d in enumerate(by) if d]
    if len(axes) == 1 and abs(by[axes[0]]) == part[axes[0]][1] - part[axes[0]][0]:
        yield hull(part, [by], [last])
    else:
        for k in range(last + 1):
            yield shifted(part, by, k)
