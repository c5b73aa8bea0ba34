"""The rounds of a loop after its first, from one of them, as `docs/program.md` argues.

The second round is replayed with what moves kept as affine numbers. Every condition of a replay is
then one on such numbers, and the state after the round must be that before it, moved: induction
carries it through all rounds. What one round does not decide raises `NotProven`, and is replayed
round by round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from planners.core.access import share_of_macs
from planners.core.boxes import Box
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
    Release,
    Repeat,
    Store,
    piece_bytes,
)
from planners.simulator.ground.engines import Engines
from planners.simulator.loop_affine import (
    Motion,
    Motions,
    Moves,
    NotProven,
    Vector,
)
from planners.simulator.loop_lines import LoopStay
from planners.simulator.loop_needs import Reading
from planners.simulator.loop_state import Key, LoopState
from planners.simulator.state import ReplayState
from planners.simulator.unfinished import Unfinished


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
        self.held = LoopState(state, self.body)
        self.rounds = self.held.rounds
        self.effects = LoopEffects(loop.count - 1, gone=self.held.gone)
        self.step = state.step
        self.step_by = 0
        self.peaks: dict[int, int] = {}  # bytes resident in the steps of the second round

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
        self.effects.extent = self.held.extent
        for stays in self.held.live.values():
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
        before = self.held.enter(body, moves, last)
        deeper = len(self.rounds) > 1
        first = next(expanded(body)).step
        stored = len(self.held.stored_here)
        self._items(body, [*outer, moves])
        del self.held.stored_here[stored:]
        if deeper and self.step != first:
            raise NotProven("an inner loop over steps")
        self.held.leave(before)
        if not deeper:
            self.step += last * self.step_by

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
                self.held.release(self.held.found(operand, by.operand(len(item.piece.box), True)))
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
            self.held.find(operand, _joined(boxes, here))
        else:
            self.held.find_at_home(operand, boxes)
        self._check_engine(item)
        operand = Operand(item.piece, item.target)
        if target.addressed:
            self.held.place(operand, _joined(boxes, there))
            self._note_occupancy()
        else:
            self.state.checked_home(operand)
            key = (target.name, item.piece.tensor)
            self.held.stored_here.append((key, item.piece.box, boxes))
            self.effects.home[key] += self.held.all_rounds(item.piece.box, boxes)
        if source.offchip and not target.offchip:
            self.effects.loaded += item.source.size_bytes * self._times
            self.effects.fetched[item.piece.tensor] += self.held.all_rounds(item.piece.box, boxes)
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
            self.held.release(stay)
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
                self.effects.written[tensor] += self.held.all_rounds(operand.piece.box, boxes)
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
            stay = self.held.find(operand, motions)
        else:
            self.held.find_at_home(operand, boxes)
        if memory.offchip:
            self.effects.loaded += operand.region.size_bytes * self._times
            self.effects.fetched[operand.piece.tensor] += self.held.all_rounds(
                operand.piece.box, boxes
            )
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
            return self.held.add(operand, motions, begun, (item.sums,), moves, size)
        if item.parts:
            begun = Unfinished(operand.piece.box, sums=False)
            apart = [
                tuple([a - b for a, b in zip(x, m.box, strict=True)])
                for x, m in zip(part, motions, strict=True)
            ]
            size = piece_bytes(self.graph, operand.piece)
            return self.held.add(operand, motions, begun, made, apart, size)
        self.held.place(operand, motions)
        return True

    def _note_occupancy(self) -> None:
        most = max(self.held.fullest, self.held.resident_bytes)
        self.peaks[self.step] = max(self.peaks.get(self.step, 0), most)
        self.held.fullest = 0


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
