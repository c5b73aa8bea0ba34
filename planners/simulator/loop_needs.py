"""What an operator needs in each round of the loops around it, and whether it reads that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from planners.core.access import detailed, is_local, needs, reduced
from planners.core.boxes import Box, joined, uncovered
from planners.core.graph import Graph, Operator
from planners.core.program import Piece
from planners.simulator.loop_affine import NotProven, Vector, corners, least, shifted

Reads: TypeAlias = Mapping[str, Sequence[tuple[Box, tuple[Vector, ...]]]]
"""What is read of each tensor: boxes, and how each moves in each loop."""

Ends: TypeAlias = tuple[tuple[int, int], ...]
"""How the two ends of a box move along each of its axes in a round."""

MOST_ROUNDS = 5_000


@dataclass(frozen=True, slots=True)
class Need:
    """A box that is needed, and how its ends move in each loop."""

    tensor: str
    box: Box
    by: tuple[Ends, ...]


class Reading:
    """What operators need, by loops."""

    def __init__(self, graph: Graph, counts_parameters: bool) -> None:
        self.graph, self.counts_parameters = graph, counts_parameters
        self._reduced: dict[str, int | None] = {}
        self._local: dict[str, bool] = {}

    def reduced(self, op: Operator) -> int | None:
        """Channels that it sums over, where it can do so in parts."""
        if op.name not in self._reduced:
            self._reduced[op.name] = reduced(self.graph, op)
        return self._reduced[op.name]

    def covers(
        self,
        op: Operator,
        made: Piece,
        by: Sequence[Vector],
        sums: tuple[int, int] | None,
        sums_by: Vector,
        last: bool,
        read: Reads,
        rounds: Sequence[int],
    ) -> bool:
        """Whether what is read has, in all rounds, what it takes to make a piece that moves so.

        For windows, products and element-wise operators each end of a need is affine, clipped at
        the tensor's ends: where that of the first two rounds and of the corners lie on one line in
        each loop, all do. What calls that move elements need is asked round by round.
        """

        def at(index: Sequence[int]) -> dict[str, Box]:
            box, moved = _moved(made.box, by, index), sums
            if sums is not None:
                start = sums[0] + sum(k * d for k, d in zip(index, sums_by, strict=True))
                moved = (start, start + sums[1] - sums[0])
            found = needs(self.graph, op, made.tensor, box, moved, last)
            return {name: box for name, box in found if self._counts(name)}

        joint = _joint(read)
        moves = [any(v) for v in by]
        if sums is not None:
            moves = [m or bool(d) for m, d in zip(moves, sums_by, strict=True)]
        turns = [k if m else 0 for k, m in zip(rounds, moves, strict=True)]
        if any(turns) and (detailed(op) or not self._is_affine(op, made.tensor, by)):
            if prod(k + 1 for k in rounds) > MOST_ROUNDS:
                raise NotProven("too many rounds to ask one by one")
            return all(
                name in joint and not uncovered(box, joint[name].at(index))
                for index in product(*(range(k + 1) for k in rounds))
                for name, box in at(index).items()
            )
        return all(
            need.tensor in joint and joint[need.tensor].covers(need, rounds)
            for need in _affine(at, turns)
        )

    def _counts(self, tensor: str) -> bool:
        return self.counts_parameters or self.graph.tensors[tensor].kind != "parameter"

    def _is_affine(self, op: Operator, output: str, by: Sequence[Vector]) -> bool:
        """Whether needs move in proportion: channels of groups only by whole groups."""
        if op.name not in self._local:
            self._local[op.name] = is_local(self.graph, op, self.graph.tensors[output])
        shape = self.graph.tensors[output].shape
        if not self._local[op.name] or op.groups == 1 or len(shape) < 2:
            return True  # What is not local needs everything, whatever it makes.
        group = max(1, shape[1] // op.groups)
        return all(vector[1] % group == 0 for vector in by)


def _affine(at: Callable[[Sequence[int]], dict[str, Box]], rounds: Sequence[int]) -> list[Need]:
    """What is needed, and how it moves in each loop. Raises `NotProven` where it is clipped."""
    first = at([0] * len(rounds))
    by: dict[str, list[Ends]] = {name: [] for name in first}
    for level, last in enumerate(rounds):
        second = at([int(each == level) for each in range(len(rounds))]) if last else first
        if second.keys() != first.keys():
            raise NotProven("needs another tensor")
        for name, box in first.items():
            pairs = zip(box, second[name], strict=True)
            by[name].append(tuple([(c - a, d - b) for (a, b), (c, d) in pairs]))
    for index in corners(rounds):
        there = at(index)
        for name, box in first.items():
            for k, ends in zip(index, by[name], strict=True):
                both = zip(box, ends, strict=True)
                box = tuple([(a + k * low, b + k * high) for (a, b), (low, high) in both])
            if there.get(name) != box:
                raise NotProven("a need is clipped in some rounds")
    return [Need(name, box, tuple(by[name])) for name, box in first.items()]


def _joint(read: Reads) -> dict[str, JointRead]:
    joint = {}
    for tensor, items in read.items():
        if any(by != items[0][1] for _, by in items):
            raise NotProven("reads move apart")
        joint[tensor] = JointRead(joined([box for box, _ in items]), items[0][1])
    return joint


def _moved(box: Box, by: Sequence[Vector], index: Sequence[int]) -> Box:
    for k, vector in zip(index, by, strict=True):
        if k:
            box = shifted(box, vector, k)
    return box


@dataclass(frozen=True, slots=True)
class JointRead:
    """What is read of a tensor, in as few boxes, which move together."""

    boxes: list[Box]
    by: tuple[Vector, ...]

    def at(self, index: Sequence[int]) -> list[Box]:
        """The boxes in one round of each loop."""
        return [_moved(box, self.by, index) for box in self.boxes]

    def covers(self, need: Need, rounds: Sequence[int]) -> bool:
        """Whether it has all of a need in all rounds."""
        if any(_lies_in(need, box, self.by, rounds) for box in self.boxes):
            return True
        together = all(
            (d, d) == ends
            for vector, axes, last in zip(self.by, need.by, rounds, strict=True)
            if last
            for d, ends in zip(vector, axes, strict=True)
        )
        return together and not uncovered(need.box, self.boxes)


def _lies_in(need: Need, box: Box, by: tuple[Vector, ...], rounds: Sequence[int]) -> bool:
    for axis, ((a, b), (c, d)) in enumerate(zip(box, need.box, strict=True)):
        low = [ends[axis][0] - vector[axis] for ends, vector in zip(need.by, by, strict=True)]
        high = [vector[axis] - ends[axis][1] for ends, vector in zip(need.by, by, strict=True)]
        if least(c - a, low, rounds) < 0 or least(b - d, high, rounds) < 0:
            return False
    return True
