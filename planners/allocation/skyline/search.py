"""Exact search over skylines: which block sits lowest in one valley of what is placed so far.

The blocks placed so far have a *skyline*, the height they reach in each section; a *valley* is a
stretch of it lower than both neighbours. In a packing with the smallest sum of offsets every block
rests on the floor or on another, so one of two things is true of any valley at height h: some
block that lies within it sits at h, or everything up to its lower wall is empty. The search
branches on the first such block from the valley's left end, or on emptiness, in the valley with
the fewest choices; at an end with no room for emptiness there is little to choose from. No packing
with the smallest sum is left out, so a search that ends without one is a proof.

What cuts the tree are rules, each with its reason (`rules`).

Related: Burke, Kendall, Whitwell (2004) for the skyline, TelaMalloc (Maas et al., 2022) and
MiniMalloc (Moffitt, 2023) for sections, slack and dominance.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from planners.allocation.problem.instance import Instance
from planners.allocation.skyline.parts import (
    WALL,
    BlockSets,
    SkylinePart,
    ValleyChoice,
    choices_in_valley,
    choices_within_capacity,
    span,
)
from planners.allocation.skyline.rules import PACKING_RULES, PackingRules
from planners.core.progress import Clock

# ---- What a search over skylines has learnt: stretches of skyline over which nothing fits --------

WINDOWS = 16  # stretches remembered for an anchor: each has to be looked up in turn
ENTRIES = 1_000_000  # failures remembered in all

Window = tuple[int, int]  # sections [first, last)
View = tuple[int, int, tuple[tuple[int, int], ...]]  # blocks left, first height, steps after it


class Nogoods:
    """Failures by the stretch of skyline to blame, whatever the rest of the skyline is like.

    A failure that is blamed on some sections happens again wherever they have the same heights and
    the same blocks left to place. It is looked up by its *anchor*, the first section of the valley
    about to be branched on, so that few stretches need comparing.
    """

    def __init__(self, sets: BlockSets, most: int = ENTRIES) -> None:
        self.sets, self.most = sets, most
        self.failures: dict[int, dict[Window, dict[View, int]]] = {}
        self.entries = 0

    def recall(self, part: SkylinePart, anchor: int) -> int:
        """The sections to blame if this skyline is known to fail, or 0."""
        first, stop = part.steps[0][0], part.stop
        for (low, high), views in self.failures.get(anchor, {}).items():
            if low >= first and high <= stop:
                blame = views.get(self._view(part, low, high))
                if blame is not None:
                    return blame
        return 0

    def keep(self, part: SkylinePart, anchor: int, blame: int) -> None:
        """Remember that a skyline fails because of the sections `blame`, unless memory is full."""
        low = max((blame & -blame).bit_length() - 1, part.steps[0][0])
        high = min(blame.bit_length(), part.stop)
        windows = self.failures.setdefault(anchor, {})
        if self.entries >= self.most or (len(windows) >= WINDOWS and (low, high) not in windows):
            return
        self.entries += 1
        windows.setdefault((low, high), {})[self._view(part, low, high)] = blame

    def _view(self, part: SkylinePart, low: int, high: int) -> View:
        """All that a failure blamed on `[low, high)` can depend on."""
        steps = part.steps
        first = bisect_right(steps, (low, WALL)) - 1
        rest = part.rest & ~self.sets.starts_from[high] & ~self.sets.stops_by[low]
        return rest, steps[first][1], tuple(steps[first + 1 : bisect_left(steps, (high, -1))])


# --------------------------------------------------------------------------------------------------

FIRST_NODES, MORE_NODES = 1000, 1.05  # the first run's limit, and by how much each next one grows
NOISE = 0.9  # of the later runs: the time to a packing has a heavy tail, and restarts cut it off
STOP_EVERY = 8  # nodes between two looks at the clock: one node of a large instance takes 10 ms


class OutOfNodes(Exception):
    """The node limit of this run, or the time, has come to its end."""


@dataclass(frozen=True, slots=True)
class BranchingRule:
    """Of valleys with equally few choices which one (the lowest?), and how random the order is."""

    leftmost: bool = False
    noise: float = 0.0
    seed: int = 0


class Moment(NamedTuple):
    """A partial packing on the way down: what was looked at, and what was then changed."""

    part: SkylinePart
    anchor: int
    seen: int
    touched: int


class SkylineSearch:
    """One instance and what has been learnt about it; runs may be limited and repeated."""

    def __init__(self, instance: Instance, rules: PackingRules = PACKING_RULES) -> None:
        self.instance, self.rules = instance, rules
        self.sets = BlockSets(instance, rules)
        self._in_valley = choices_in_valley if rules.slack else choices_within_capacity
        self._enough = 2 if rules.fewest_choices else WALL
        self.nogoods = Nogoods(self.sets, ENTRIES if rules.nogoods else 0)
        spans = zip(instance.start, instance.stop, instance.size, strict=True)
        self.area = [(stop - start) * size for start, stop, size in spans]
        self.offsets = [0] * len(instance)
        self.nodes = self.limit = 0
        self.strategy = BranchingRule()
        self.random = Random(0)
        self.clock = Clock(0.0)

    def run(self, strategy: BranchingRule, limit: int, clock: Clock) -> bool | None:
        """True with `self.offsets` set, False where none exist, None where the limit came first."""
        self.nodes, self.limit, self.clock = 0, limit, clock
        self.strategy, self.random = strategy, Random(strategy.seed)
        count, capacity = len(self.instance), self.instance.capacity
        slack = [capacity - load for load in self.instance.loads()]
        if min(slack) < 0:
            return False
        if not self.rules.slack:
            slack = [WALL] * len(slack)
        whole = SkylinePart([(0, 0)], self.instance.sections, (1 << count) - 1, slack)
        with _deep_recursion(4 * count + 1000):
            try:
                return not self._solve(whole)
            except OutOfNodes:
                return None

    def _solve(self, part: SkylinePart) -> int:
        """Place `part.rest` and return 0, or the set of sections because of which it cannot be.

        Moves without an alternative need no recursion; they wait in `trail` for the blame.
        """
        trail: list[Moment] = []
        while part.rest:
            self._count()
            choices, seen = self._choices(part)
            if not choices:
                return self._fail(trail, seen)
            anchor = part.steps[choices[0].at][0]
            if blame := self.nogoods.recall(part, anchor):
                return self._fail(trail, blame)
            if len(choices) > 1:
                blame = self._branch(part, choices, seen)
                return self._fail([*trail, Moment(part, anchor, 0, 0)], blame) if blame else 0
            trail.append(Moment(part, anchor, seen, self.sets.touched(choices[0])))
            parts = self._apply(part, choices[0])
            if len(parts) != 1:
                blame = self._solve_all(parts)
                return self._fail(trail, blame) if blame else 0
            part = parts[0]
        return 0

    def _branch(self, part: SkylinePart, choices: list[ValleyChoice], seen: int) -> int:
        blame, backjumping = seen, self.rules.backjumping
        for choice in choices:
            conflict = self._solve_all(self._apply(part, choice))
            if not conflict:
                return 0
            if backjumping and not conflict & self.sets.touched(choice):
                return conflict  # it would fail all the same with any other choice
            blame |= conflict
        return blame

    def _solve_all(self, parts: list[SkylinePart]) -> int:
        for part in sorted(parts, key=lambda part: part.rest.bit_count()):
            if blame := self._solve(part):
                return blame
        return 0

    def _fail(self, trail: list[Moment], blame: int) -> int:
        """Remember that every moment on the trail fails, and return the blame of the first."""
        for part, anchor, seen, touched in reversed(trail):
            if touched & blame:
                blame |= seen
            self.nogoods.keep(part, anchor, blame)
        return blame

    def _apply(self, part: SkylinePart, choice: ValleyChoice) -> list[SkylinePart]:
        if choice.block >= 0:
            self.offsets[choice.block] = part.steps[choice.at][1]
        return self.sets.apply(part, choice)

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > self.limit or (self.nodes % STOP_EVERY == 0 and self.clock.expired()):
            raise OutOfNodes

    def _choices(self, part: SkylinePart) -> tuple[list[ValleyChoice], int]:
        """The choices at the valley that has fewest, and the sections looked at to find it."""
        steps, leftmost, in_valley = part.steps, self.strategy.leftmost, self._in_valley
        best: list[ValleyChoice] = []
        best_rank, best_seen = (1 << 30, 0), 0
        left, enough = WALL, self._enough
        for at, (start, height) in enumerate(steps):
            stop, right = steps[at + 1] if at + 1 < len(steps) else (part.stop, WALL)
            if left > height < right:
                choices = in_valley(self.sets, part, at, left, right)
                rank = (len(choices), start if leftmost else height)
                if rank < best_rank:
                    best, best_rank = choices, rank
                    best_seen = span(max(0, start - 1), stop + 1)
                if len(choices) < enough:
                    break
            left = height
        return self._ordered(best), best_seen

    def _ordered(self, choices: list[ValleyChoice]) -> list[ValleyChoice]:
        """Nothing last, then with little waste, then large first; noise shuffles the large."""
        noise, spread = self.strategy.noise, self.random.uniform

        def rank(choice: ValleyChoice) -> tuple[bool, int, float]:
            waste = choice.gap_height * (choice.gap_stop - choice.gap_start)
            area = self.area[choice.block] * (spread(1.0 - noise, 1.0) if noise else 1.0)
            return choice.block < 0, waste, -area

        return sorted(choices, key=rank) if len(choices) > 1 else choices


@contextmanager
def _deep_recursion(depth: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class RisingSearch:
    """An instance searched in runs of ever more nodes, the choices in another order each time.

    What one run has learnt the next ones use, so even a proof may take many runs; a run that the
    clock ended is begun again. Room to spare makes the search harder, not easier, as there are more
    ways to waste it: so searches within less take turns.
    """

    def __init__(self, instance: Instance, rules: PackingRules = PACKING_RULES) -> None:
        within = _tightened(instance) if rules.tighter else [instance]
        self._rivals = [SkylineSearch(tight, rules) for tight in within]
        self._exact = self._rivals[-1]
        self._limit, self._turn = float(FIRST_NODES), 0
        self._waiting = list(self._rivals)

    def run(self, clock: Clock) -> tuple[bool | None, list[int]]:
        """(True, offsets), (False, []) where proved infeasible, or (None, []) where time ended."""
        while not clock.expired():
            if not self._waiting:
                self._turn += 1
                self._limit *= MORE_NODES
                self._waiting = list(self._rivals)
            turn, search = self._turn, self._waiting[0]
            rule = BranchingRule(turn % 2 == 1, NOISE if turn > 1 else 0.0, turn)
            fits = search.run(rule, int(self._limit), clock)
            if fits or (fits is False and search is self._exact):
                return fits, search.offsets if fits else []
            if fits is False:
                self._rivals.remove(search)
            elif search.nodes <= search.limit:
                return None, []  # The clock ended it.
            self._waiting.pop(0)
        return None, []


def solve(instance: Instance, clock: Clock) -> tuple[bool | None, list[int]]:
    """(True, offsets), (False, []) where proved infeasible, or (None, []) where time ended."""
    return RisingSearch(instance).run(clock)


def _tightened(instance: Instance) -> list[Instance]:
    """The instance with the least capacity there could be, with half its spare room, and as is."""
    load, capacity = max(instance.loads()), instance.capacity
    capacities = sorted({min(load, capacity), (load + capacity) // 2, capacity})
    return [replace(instance, capacity=tight) for tight in capacities]
