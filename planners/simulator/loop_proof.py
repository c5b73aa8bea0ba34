"""The rounds of a loop after its first, from one of them, as `docs/program.md` argues.

The second round is replayed with what moves kept as affine numbers. Every condition of a replay is
then one on such numbers, and the state after the round must be that before it, moved: induction
carries it through all rounds. What one round does not decide raises `NotProven`, and is replayed
round by round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TypeAlias

from planners.core.access import share_of_macs
from planners.core.boxes import Box, joined, meet
from planners.core.graph import Operator
from planners.core.loops import expanded, moves_of, numbers_of, round_of
from planners.core.program import (
    Barrier,
    Compute,
    Instruction,
    Item,
    Load,
    Move,
    Operand,
    Piece,
    Region,
    Release,
    Repeat,
    Span,
    Store,
    piece_bytes,
)
from planners.simulator.engines import Engines
from planners.simulator.loop_affine import (
    Motion,
    Motions,
    Moves,
    NotProven,
    Vector,
    hull,
    largest,
    least,
    progression,
    shifted,
)
from planners.simulator.loop_lines import Lines, LoopStay
from planners.simulator.loop_needs import Reading
from planners.simulator.state import ReplayState
from planners.simulator.unfinished import Unfinished

MOST_BOXES = 20_000
Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class LoopEffects:
    """What some rounds of a loop do.

    `gone` is what was resident before them of the tensors that they touch, `come` what is then.
    """

    rounds: int
    step: int = 0
    loaded: int = 0
    stored: int = 0
    macs: int = 0
    extent: int = 0
    occupancy: dict[int, int] = field(default_factory=dict)
    home: dict[Key, list[Box]] = field(default_factory=lambda: defaultdict(list))
    written: dict[str, list[Box]] = field(default_factory=lambda: defaultdict(list))
    fetched: dict[str, list[Box]] = field(default_factory=lambda: defaultdict(list))
    gone: list[tuple[str, Piece]] = field(default_factory=list)
    come: list[tuple[Operand, str, Unfinished | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Around:
    """What a loop is replayed in: the state before it and the network's operators."""

    state: ReplayState
    operators: Mapping[str, Operator]
    engines: Engines | None
    counts_parameters: bool


def later_rounds(around: Around, loop: Repeat) -> LoopEffects:
    """What all rounds of a loop do after the first, which has been replayed.

    Raises `NotProven` or `InvalidPlan` where one round does not decide it.
    """
    return LoopProof(around, loop).run()


class LoopProof:
    """A replay of one round of each loop that stands for all of them."""

    def __init__(self, around: Around, loop: Repeat) -> None:
        state = around.state
        self.state, self.operators, self.engines = state, around.operators, around.engines
        self.graph, self.spaces = state.graph, state.spaces
        self.loop, self.body = loop, [*round_of(loop, 1)]
        self.reading = Reading(self.graph, around.counts_parameters)
        self.rounds: list[int] = []  # after the first, of each loop around
        self.live: dict[Key, dict[Piece, LoopStay]] = defaultdict(dict)
        self.effects = LoopEffects(loop.count - 1)
        self.step = state.step
        self.step_by = 0
        self.resident_bytes = state.resident_bytes
        self.stored_here: list[tuple[Key, Box, tuple[Vector, ...]]] = []
        self.peaks: dict[int, int] = {}  # bytes resident in the steps of the second round
        self.extents: set[tuple[Region, tuple[tuple[int, int], ...]]] = set()
        self.touched = _touched(self.body)
        for (root, piece), stay in state.resident.items():
            if piece.tensor in self.touched:
                unfinished = stay.unfinished.copy() if stay.unfinished else None
                held = LoopStay(stay.operand, (), root, unfinished=unfinished)
                self.live[root, piece.tensor][piece] = held
                self.effects.gone.append((root, piece))
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

    def run(self) -> LoopEffects:
        """Prove the rounds from the second on."""
        last = self.loop.count - 2
        first = next(expanded(self.body)).step
        self.step_by = numbers_of(_first_move(self.loop))[0]
        if first < self.step or self.step_by < 0:
            raise NotProven("steps out of order")
        self._rounds(self.body, self.loop.moves, [], last)
        # A round begins where the one before has ended, or after it.
        if self.step - self.step_by * last > first + self.step_by:
            raise NotProven("steps out of order")
        self.effects.step = self.step
        for step, held in self.peaks.items():
            for k in range(last + 1):
                at = step + k * self.step_by
                self.effects.occupancy[at] = max(self.effects.occupancy.get(at, 0), held)
        for stays in self.live.values():
            for stay in stays.values():
                self.effects.come.append((stay.operand, stay.root, stay.unfinished))
        return self.effects

    # ---- loops -----------------------------------------------------------------------------

    def _rounds(
        self,
        body: Sequence[Item],
        moves: Sequence[Move],
        outer: Sequence[Sequence[Move]],
        last: int,
    ) -> None:
        """A body `last` times more, after this round of it."""
        before = self._enter(body, moves, last)
        deeper = len(self.rounds) > 1
        first = next(expanded(body)).step
        stored = len(self.stored_here)
        self._items(body, [*outer, moves])
        del self.stored_here[stored:]
        if deeper and self.step != first:
            raise NotProven("an inner loop over steps")
        self._leave(before)
        if not deeper:
            self.step += last * self.step_by

    def _enter(self, body: Sequence[Item], moves: Sequence[Move], last: int) -> list[LoopStay]:
        """Begin a loop: which of what is resident stays, and which moves with the rounds."""
        inside = self._after(body)
        motions = _motions(body, moves)
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
            for piece in _gone(item):
                there[piece.tensor].discard(piece)
            for piece in _come(item):
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

    def _leave(self, before: Sequence[LoopStay]) -> None:
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

    def _items(self, items: Sequence[Item], moves: Sequence[Sequence[Move]]) -> None:
        for at, item in enumerate(items):
            mine = [each[at] for each in moves]
            if isinstance(item, Repeat):
                self._loop(item, [moves_of(move) for move in mine])
            else:
                self._instruction(item, mine)

    def _loop(self, loop: Repeat, outer: Sequence[Sequence[Move]]) -> None:
        """A loop inside: its first round, the next one for all others."""
        self._items(loop.body, outer)
        if loop.count > 1:
            self._rounds([*round_of(loop, 1)], loop.moves, outer, loop.count - 2)

    # ---- instructions ----------------------------------------------------------------------

    @property
    def _times(self) -> int:
        return prod(last + 1 for last in self.rounds)

    def _instruction(self, item: Instruction, moves: Sequence[Move]) -> None:
        by = Moves(item, moves)
        steps = by.number()
        if item.step < self.step or steps[0] != self.step_by or any(steps[1:]):
            raise NotProven("steps out of order")
        self.step = item.step
        match item:
            case Load() | Store():
                self._transfer(item, by)
            case Compute():
                self._compute(item, by)
            case Release():
                operand = Operand(item.piece, item.region)
                self._release(self._found(operand, by.operand(len(item.piece.box), True)))
            case Barrier():
                pass

    def _transfer(self, item: Load | Store, by: Moves) -> None:
        source, target = self.state.memory(item.source), self.state.memory(item.target)
        boxes = by.box(len(item.piece.box))
        here = by.number() if item.source.offset is not None else _still(self.rounds)
        there = by.number() if item.target.offset is not None else _still(self.rounds)
        if self.spaces.root(source.name) is self.spaces.root(target.name):
            raise NotProven("moves within a memory")
        operand = Operand(item.piece, item.source)
        if source.addressed:
            self._find(operand, _joined(boxes, here))
        else:
            self._find_at_home(operand, boxes)
        self._check_engine(item)
        operand = Operand(item.piece, item.target)
        if target.addressed:
            self._place(operand, _joined(boxes, there))
        else:
            self.state.checked_home(operand)
            key = (target.name, item.piece.tensor)
            self.stored_here.append((key, item.piece.box, boxes))
            self.effects.home[key] += self._all(item.piece.box, boxes)
        if source.offchip and not target.offchip:
            self.effects.loaded += item.source.size_bytes * self._times
            self.effects.fetched[item.piece.tensor] += self._all(item.piece.box, boxes)
        elif target.offchip and not source.offchip:
            self.effects.stored += item.source.size_bytes * self._times

    def _check_engine(self, item: Load | Store | Compute) -> None:
        if self.engines is not None and self.engines.fault(item):
            raise NotProven("an engine cannot do it")

    def _compute(self, item: Compute, by: Moves) -> None:
        op = self.operators.get(item.operator)
        if op is None or (item.parts and item.sums is not None):
            raise NotProven("no operator, or sums and parts")
        self._check_engine(item)
        reads = [by.operand(len(p.box), r.offset is not None) for p, r in item.reads]
        writes = [by.operand(len(p.box), r.offset is not None) for p, r in item.writes]
        sums = by.number() if item.sums is not None else ()
        read: dict[str, list[tuple[Box, tuple[Vector, ...]]]] = {}
        found: list[LoopStay | None] = []
        for operand, motions in zip(item.reads, reads, strict=True):
            tensor = operand.piece.tensor
            if tensor not in op.inputs and tensor not in op.parameters:
                raise NotProven("reads what the operator does not")
            boxes = tuple([m.box for m in motions])
            found.append(self._read(operand, motions, boxes))
            read.setdefault(tensor, []).append((operand.piece.box, boxes))
        for at in item.frees:
            stay = found[at] if 0 <= at < len(found) else None
            if stay is None:
                raise NotProven("frees what is not there")
            found[at] = None
            self._release(stay)
        macs = 0
        if item.parts and len(item.parts) != len(item.writes):
            raise NotProven("parts")
        for operand, motions, made in zip(item.writes, writes, item.made, strict=True):
            tensor = operand.piece.tensor
            if tensor not in op.outputs:
                raise NotProven("writes what the operator does not")
            boxes = tuple([m.box for m in motions])
            part = by.box(len(made.box)) if item.parts else boxes
            complete = self._written(op, item, operand, motions, made.box, part, sums)
            if self.state.memory(operand.region).offchip:
                self.effects.stored += piece_bytes(self.graph, made) * self._times
            whole = item.sums is None or complete
            sides = (item.sums, sums, whole, read, self.rounds)
            if not self.reading.covers(op, made, part, *sides):
                raise NotProven("needs more than it reads")
            if complete:
                self.effects.written[tensor] += self._all(operand.piece.box, boxes)
            if tensor == op.outputs[0]:
                macs += share_of_macs(self.graph, op, tensor, made.box, item.sums)
        if macs != item.macs:
            raise NotProven("MACs")
        self.effects.macs += macs * self._times
        self._note_occupancy()

    def _read(
        self, operand: Operand, motions: Motions, boxes: tuple[Vector, ...]
    ) -> LoopStay | None:
        memory = self.state.memory(operand.region)
        stay = None
        if memory.addressed:
            stay = self._find(operand, motions)
        else:
            self._find_at_home(operand, boxes)
        if memory.offchip:
            self.effects.loaded += operand.region.size_bytes * self._times
            self.effects.fetched[operand.piece.tensor] += self._all(operand.piece.box, boxes)
        return stay

    def _written(
        self,
        op: Operator,
        item: Compute,
        operand: Operand,
        motions: Motions,
        made: Box,
        part: tuple[Vector, ...],
        sums: Vector,
    ) -> bool:
        """Place what is written, or add to it; whether it is then complete."""
        if item.sums is not None:
            channels = self.reading.reduced(op)
            if channels is None or self.spaces.root(operand.region.memory).offchip:
                raise NotProven("sums off chip, or of an operator that has none")
            begun = Unfinished(((0, channels),), sums=True)
            size = self.graph.sum_bytes(op, operand.piece.elements)
            moves = [(by,) for by in sums]
            return self._add(operand, motions, begun, (item.sums,), moves, size)
        if item.parts:
            begun = Unfinished(operand.piece.box, sums=False)
            apart = [
                tuple([a - b for a, b in zip(x, m.box, strict=True)])
                for x, m in zip(part, motions, strict=True)
            ]
            size = piece_bytes(self.graph, operand.piece)
            return self._add(operand, motions, begun, made, apart, size)
        self._place(operand, motions)
        return True

    def _add(
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
            stay = self._place(operand, motions, size)
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

    # ---- what is where ---------------------------------------------------------------------

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

    def _found(self, operand: Operand, motions: Motions) -> LoopStay:
        """The stay that an operand names in all rounds."""
        root = self.spaces.root(self.state.memory(operand.region).name).name
        stay = self.live[root, operand.piece.tensor].get(operand.piece)
        if stay is None or not self._same(stay, operand, motions):
            raise NotProven("not resident")
        if stay.unfinished is not None:
            raise NotProven("unfinished")
        return stay

    def _find(self, operand: Operand, motions: Motions) -> LoopStay | None:
        """The stay that an operand names; None where no round ends it, or it is one after another.

        Pieces that all rest may be read one after the other.
        """
        if operand.piece.tensor not in self.touched:
            self._find_resting(operand, motions)
            return None
        if motions[-1].rests:
            return self._found(operand, motions)
        root = self.spaces.root(self.state.memory(operand.region).name).name
        stays = self.live[root, operand.piece.tensor]
        stay = stays.get(operand.piece)
        if stay is not None and stay.motions == motions:
            return self._found(operand, motions)
        box, by = operand.piece.box, motions[-1]
        resting = (*motions[:-1], Motion((0,) * len(box), 0))
        for k in range(self.rounds[-1] + 1):
            piece = Piece(operand.piece.tensor, shifted(box, by.box, k))
            offset = (operand.region.offset or 0) + k * by.offset
            self._found(Operand(piece, operand.region._replace(offset=offset)), resting)
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

    def _find_at_home(self, operand: Operand, boxes: tuple[Vector, ...]) -> None:
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

    def _place(self, operand: Operand, motions: Motions, size: int | None = None) -> LoopStay:
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
        self._note_occupancy()
        return stay

    def _distinct_from(self, stay: LoopStay, others: Collection[LoopStay]) -> None:
        if any(other.motions != stay.motions for other in others):
            self._distinct(others)

    def _release(self, stay: LoopStay) -> None:
        piece, region = stay.operand
        if self.live[stay.root, piece.tensor].get(piece) is not stay:
            raise NotProven("not resident")
        self.lines.remove(stay)
        del self.live[stay.root, piece.tensor][piece]
        self.resident_bytes -= region.size_bytes

    # ---- what is counted -------------------------------------------------------------------

    def _all(self, box: Box, boxes: Sequence[Vector]) -> list[Box]:
        """What a box is in all rounds."""
        return progression(box, boxes, self.rounds, MOST_BOXES)

    def _note_occupancy(self) -> None:
        self.peaks[self.step] = max(self.peaks.get(self.step, 0), self.resident_bytes)

    def _note_extent(self, region: Region, offsets: Sequence[int]) -> None:
        """The end of the highest byte, over all rounds."""
        by = tuple([(d, last) for d, last in zip(offsets, self.rounds) if d and last])
        if (region, by) in self.extents:
            return
        self.extents.add((region, by))
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
        self.effects.extent = max(self.effects.extent, stop)


def _still(rounds: Sequence[int]) -> Vector:
    return (0,) * len(rounds)


def _joined(boxes: Sequence[Vector], offsets: Sequence[int]) -> Motions:
    return tuple([Motion(box, by) for box, by in zip(boxes, offsets, strict=True)])


def _first_move(loop: Repeat) -> Move:
    """How the first instruction of a loop moves with it."""
    item, move = loop.body[0], loop.moves[0]
    while isinstance(item, Repeat):
        item, move = item.body[0], moves_of(move)[0]
    return move


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


def _touched(items: Iterable[Item]) -> set[str]:
    """The tensors of which rounds place or release something."""
    touched: set[str] = set()
    for item in items:
        if isinstance(item, Repeat):
            touched |= _touched(item.body)
        else:
            touched.update(piece.tensor for piece in (*_gone(item), *_come(item)))
    return touched


def _gone(item: Instruction) -> list[Piece]:
    if isinstance(item, Release):
        return [item.piece]
    if isinstance(item, Compute):
        return [item.reads[at].piece for at in item.frees if 0 <= at < len(item.reads)]
    return []


def _come(item: Instruction) -> list[Piece]:
    if isinstance(item, Load):
        return [item.piece]
    return [operand.piece for operand in item.writes] if isinstance(item, Compute) else []


def _motions(items: Sequence[Item], moves: Sequence[Move]) -> dict[str, set[Motion]]:
    """How what is read, written or released of each tensor moves in a round."""
    found: dict[str, set[Motion]] = defaultdict(set)
    for item, move in zip(items, moves, strict=True):
        if isinstance(item, Repeat):
            for tensor, some in _motions(item.body, moves_of(move)).items():
                found[tensor] |= some
            continue
        by = Moves(item, [move])
        by.number()
        if isinstance(item, Compute):
            for piece, region in (*item.reads, *item.writes):
                motions = by.operand(len(piece.box), region.offset is not None)
                found[piece.tensor].add(motions[0])
        elif isinstance(item, Release):
            motions = by.operand(len(item.piece.box), item.region.offset is not None)
            found[item.piece.tensor].add(motions[0])
    return found
