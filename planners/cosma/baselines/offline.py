"""Comparisons beyond the paper's: arenas planned offline, by size or by hill climbing.

*Size-ordered*: TFLite's arena planner where all lifetimes are known: tensors by decreasing size,
each into the smallest gap that holds it. *Hill climbing*: as Ethos-U Vela's allocator, the order
of placement is permuted around what does not fit, and the victims with it, to save traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Literal, NamedTuple

from planners.allocation import Block
from planners.allocation.arena import best_gap
from planners.allocation.heuristics import neighbours
from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem, TensorStay, UseGap, runs
from planners.cosma.place.placement import gaps_within

OfflinePolicy = Literal["size_ordered", "hill_climb"]

# Proposals of the hill climb, how long it goes on without a gain, and orders tried for each.
ROUNDS, PATIENCE, REORDERINGS = 1500, 400, 6


def replace_offline(
    problem: ScheduleProblem,
    policy: OfflinePolicy,
    alignment: int,
    clock: Clock,
    most_work: float = inf,
) -> dict[TensorStay, int]:
    """Addresses of all stays that the policy makes; any budget of at least MR is enough.

    Where the stays fit without the alignment only, it is given up. Once the time is over, or about
    `most_work` stays have been arranged, all that can be dropped is.
    """
    effort = _ArrangeEffort(clock, most_work)
    plan = _with_kept(problem, _by_size(problem, alignment, effort), alignment, effort)
    if policy == "hill_climb":
        plan = _Climb(problem, alignment, plan).run(effort)
    return plan.offsets


@dataclass(slots=True)
class _ArrangeEffort:
    """How long it goes on: stays that may yet be arranged, while the clock allows."""

    clock: Clock
    left: float

    def over(self, problem: ScheduleProblem) -> bool:
        """Whether there is no more, when all of a problem is to be arranged once more."""
        self.left -= len(problem.lines)
        return self.left < 0 or self.clock.expired()


@dataclass(frozen=True, slots=True)
class _Arena:
    """The gaps that are dropped, and the addresses of the stays that this leaves."""

    dropped: frozenset[UseGap]
    offsets: dict[TensorStay, int]


class _Stuck(NamedTuple):
    """A stay that finds no gap, and the placed ones that it would have to share time with."""

    stay: TensorStay
    rivals: dict[TensorStay, Block]


def _by_size(problem: ScheduleProblem, alignment: int, effort: _ArrangeEffort) -> _Arena:
    """Victims by furthest next use until sizes fit; then one more for each stay without a gap.

    It terminates: with all gaps dropped, each step is packed by itself, without alignment.
    """
    dropped = _furthest_next_use(problem)
    while True:
        outcome = _arrange(problem, dropped, {}, alignment)
        if not isinstance(outcome, _Stuck):
            return _Arena(frozenset(dropped), outcome)
        if effort.over(problem):
            dropped.update(problem.gaps)
        else:
            dropped.add(_victim(problem, outcome, dropped))


def _with_kept(
    problem: ScheduleProblem, arena: _Arena, alignment: int, effort: _ArrangeEffort
) -> _Arena:
    """Keep again what need not be dropped: a later drop may have made an earlier one needless."""
    for gap in sorted(arena.dropped, key=lambda gap: -problem.lines[gap.line].size_bytes):
        if effort.over(problem):
            break
        dropped = arena.dropped - {gap}
        outcome = _arrange(problem, dropped, {}, alignment)
        if not isinstance(outcome, _Stuck):
            arena = _Arena(dropped, outcome)
    return arena


def _furthest_next_use(problem: ScheduleProblem) -> set[UseGap]:
    """Belady's victims where only sizes count."""
    starting: dict[int, list[UseGap]] = {}
    for gap in problem.gaps:
        starting.setdefault(gap.before, []).append(gap)
    open_gaps: list[UseGap] = []
    dropped: set[UseGap] = set()
    for step, need in enumerate(problem.required):
        open_gaps = sorted(
            (gap for gap in open_gaps if gap.after > step), key=lambda gap: gap.after
        )
        need += sum(problem.lines[gap.line].size_bytes for gap in open_gaps)
        while need > problem.budget_bytes:
            victim = open_gaps.pop()
            dropped.add(victim)
            need -= problem.lines[victim.line].size_bytes
        open_gaps += starting.get(step, [])
    return dropped


def _arrange(
    problem: ScheduleProblem, dropped: Iterable[UseGap], rank: Mapping[int, float], alignment: int
) -> dict[TensorStay, int] | _Stuck:
    """Each stay into the smallest gap, the highest rank first (a tensor's size unless given)."""
    stays = runs(problem, frozenset(dropped))
    size = [problem.lines[run.line].size_bytes for run in stays]
    near = neighbours([run.first for run in stays], [run.last + 1 for run in stays])
    order = sorted(
        range(len(stays)), key=lambda i: (-rank.get(stays[i].line, size[i]), stays[i].first)
    )
    for step in dict.fromkeys((alignment, 1)):
        placed: dict[int, Block] = {}
        for i in order:
            blocks = [placed[other] for other in near[i] if other in placed]
            offset = best_gap(sorted(blocks), size[i], step)
            if offset + size[i] > problem.budget_bytes:
                rivals = {stays[int(block.id)]: block for block in blocks}
                stuck = _Stuck(stays[i], rivals)
                break
            placed[i] = Block(offset, size[i], str(i))
        else:
            return {run: placed[i].offset for i, run in enumerate(stays)}
    return stuck


def _victim(problem: ScheduleProblem, stuck: _Stuck, dropped: set[UseGap]) -> UseGap:
    """The gap whose drop lets the stay in for the least traffic; else the least for its length."""
    stay, rivals = stuck.stay, stuck.rivals
    written = {gap.line for gap in dropped}
    size = problem.lines[stay.line].size_bytes

    def worth(gap: UseGap) -> tuple[bool, float]:
        cost = _price(problem, gap, written)
        lets_in = False
        if gap.line != stay.line and gap.before < stay.first and stay.last < gap.after:
            blocks = sorted(block for run, block in rivals.items() if run.line != gap.line)
            lets_in = best_gap(blocks, size) + size <= problem.budget_bytes
        shared = min(gap.after, stay.last + 1) - max(gap.before, stay.first - 1)
        return not lets_in, cost if lets_in else cost / shared

    candidates = [
        gap
        for run in (stay, *rivals)
        for gap in gaps_within(problem, run)
        if gap.before <= stay.last and stay.first <= gap.after
    ]
    return min(candidates, key=worth)


def _price(problem: ScheduleProblem, gap: UseGap, written: set[int]) -> int:
    """What one more drop costs: a reload, and a store unless the host has the tensor."""
    line = problem.lines[gap.line]
    return line.size_bytes * (1 if line.host_copy or gap.line in written else 2)


class _Climb:
    """Takes drops back one by one, or swaps them for cheaper ones, while all can be placed."""

    def __init__(self, problem: ScheduleProblem, alignment: int, start: _Arena) -> None:
        self.problem, self.alignment, self.best = problem, alignment, start
        self.cost = problem.cost(start.dropped)
        self.rank: dict[int, float] = {}
        self.random = Random(0)
        self.across: list[list[UseGap]] = [[] for _ in problem.schedule]
        for gap in problem.gaps:
            for step in gap.interior:
                self.across[step].append(gap)

    def run(self, effort: _ArrangeEffort) -> _Arena:
        idle = 0
        for _ in range(ROUNDS):
            if not self.best.dropped or idle == PATIENCE or effort.over(self.problem):
                break
            idle = 0 if self._round(effort) else idle + 1
        return self.best

    def _round(self, effort: _ArrangeEffort) -> bool:
        """Try one other set of victims; whether it saves anything."""
        dropped = self._propose()
        cost = self.problem.cost(dropped)
        if cost > self.cost or dropped == self.best.dropped:
            return False
        rank = dict(self.rank)
        for _ in range(REORDERINGS):
            outcome = _arrange(self.problem, dropped, rank, self.alignment)
            if not isinstance(outcome, _Stuck):
                gain = cost < self.cost
                self.best, self.cost, self.rank = _Arena(dropped, outcome), cost, rank
                return gain
            if effort.over(self.problem):
                break
            self._promote(outcome, rank)
        return False

    def _propose(self) -> frozenset[UseGap]:
        """Keep a dropped gap; where that exceeds the budget, drop the cheapest others across it."""
        kept = self.random.choice(sorted(self.best.dropped))
        dropped = set(self.best.dropped) - {kept}
        for step in kept.interior:
            open_gaps = [gap for gap in self.across[step] if gap not in dropped]
            over = self.problem.required[step] - self.problem.budget_bytes
            over += sum(map(self._size, open_gaps))
            while over > 0:
                others = [gap for gap in open_gaps if gap != kept and self._size(gap)]
                if not others:
                    return self.best.dropped
                victim = min(others, key=self._dearness(over, dropped))
                open_gaps.remove(victim)
                dropped.add(victim)
                over -= self._size(victim)
        return frozenset(dropped)

    def _dearness(self, over: int, dropped: set[UseGap]) -> Callable[[UseGap], float]:
        """About what a victim costs for each byte that it frees of those needed."""
        written = {gap.line for gap in dropped}

        def price(gap: UseGap) -> float:
            freed = min(over, self._size(gap))
            return _price(self.problem, gap, written) / freed * self.random.uniform(0.7, 1.3)

        return price

    def _size(self, gap: UseGap) -> int:
        return self.problem.lines[gap.line].size_bytes

    def _promote(self, stuck: _Stuck, rank: dict[int, float]) -> None:
        """The unplaced stay's tensor moves ahead of one that is in its way, as in Vela."""
        rivals = sorted(stuck.rivals)
        if not rivals:
            return
        line = self.random.choice(rivals).line
        ahead = rank.get(line, self.problem.lines[line].size_bytes)
        rank[stuck.stay.line] = ahead + self.random.random()
