"""Optimal replacement and addresses for a fixed schedule (III-E2), with a proof or a true gap.

First the better of what Belady's rule and hill climbing make of it: a plan at once. Then the
capacity relaxation: where its runs
can be packed, they are optimal. Where they cannot, addresses join the model within windows around
the steps that are fullest, and the bound rises; a few dozen steps are mostly enough to settle what
a network of a thousand costs. Last, replacement and addresses are searched in one model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Thread
from typing import TypeVar

from planners.allocation import cp_sat
from planners.allocation.portfolio import LONG_WORK
from planners.core.progress import GRACE_S, POLL_S, Clock
from planners.cosma.model.problem import ScheduleProblem, TensorStay, UseGap, cost_of, runs
from planners.cosma.place.joint_addresses import JointAddresses, solve_jointly
from planners.cosma.place.placement import place
from planners.cosma.replace.immediate import plan_at_once, with_last_means
from planners.cosma.replace.relaxation import relax
from planners.cosma.replace.repair import repair

# Windows hold the steps this full or fuller; and the looks at the clock to pack the outcome in.
ROUNDS = ((0.9, 256), (0.7, 512), (0.4, 1024))
# What one window may take: most take a tenth of it.
WINDOW_WORK = 4096
# The cost while there is no plan yet: where tensors must be kept, one has to be found.
NEVER = 1 << 62
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Solution:
    """Offsets of all stays, their non-compulsory bytes, and a proven bound for the schedule."""

    offsets: dict[TensorStay, int]
    cost_bytes: int
    bound_bytes: int
    solver: str


def solve_fixed(problem: ScheduleProblem, clock: Clock, *, quick: bool = False) -> Solution:
    """The cheapest stays for the problem's schedule; the best found where the time runs out.

    `quick` repairs a relaxation that cannot be packed, and leaves it at that.
    Raises `BudgetTooSmall` below the largest need of a step, and where what must be kept leaves
    no place for the rest, or none that is found.
    """
    problem.assert_feasible()
    search = _GapSearch(problem, clock, quick)
    search.run()
    if search.best.cost_bytes == NEVER:
        stays = with_last_means(problem, clock)
        bound = search.best.bound_bytes
        return Solution(stays, cost_of(problem, stays), bound, "tightest packing")
    return search.best


class _GapSearch:
    """The best plan so far under the best bound so far; a stop at any moment leaves them."""

    def __init__(self, problem: ScheduleProblem, clock: Clock, quick: bool) -> None:
        self.problem, self.clock, self.quick = problem, clock, quick
        stays, name = plan_at_once(problem, clock)
        cost = NEVER if stays is None else cost_of(problem, stays)
        self.best = Solution(stays or {}, cost, 0, name)

    def run(self) -> None:
        if self._tell("capacity relaxation"):
            return
        relaxed = _watched(self.clock, lambda: relax(self.problem, self.clock))
        if relaxed is None:
            return
        if relaxed.bound_bytes < relaxed.objective_bytes:
            self.clock.end()
        self._raise(relaxed.bound_bytes)
        dropped = relaxed.dropped
        offsets: dict[tuple[int, int], int] = {}
        windows: list[range] = []
        for share, work in ROUNDS:
            placed = place(self.problem, runs(self.problem, dropped), self.clock, work, offsets)
            if not placed.stuck:
                model = "gap ILP (HiGHS), windows (CP-SAT)" if windows else "gap ILP (HiGHS)"
                self._offer(placed.offsets, f"{model}, packing ({placed.solver})")
            if self._tell("addresses") or not placed.stuck or self.quick:
                break
            if not cp_sat.available():
                break
            windows = _merged([*windows, *_windows(self.problem, placed.stuck, share)])
            hint = dict.fromkeys(runs(self.problem, dropped))
            part = self.clock.work(WINDOW_WORK)
            joint = self._jointly(hint, part, windows)
            if joint.dropped is None or joint.objective_bytes > joint.bound_bytes:
                break
            dropped, offsets = joint.dropped, dict(joint.offsets)
        if not self._tell("addresses"):
            self._last(dropped)

    def _last(self, dropped: frozenset[UseGap]) -> None:
        """No windows were enough: repair, pack for longer, and put all addresses into the model."""
        self._offer(repair(self.problem, dropped, self.clock), "gap ILP (HiGHS), repaired packing")
        if self._tell("addresses") or self.quick:
            return
        placed = place(self.problem, runs(self.problem, dropped), self.clock, LONG_WORK)
        if not placed.stuck:
            self._offer(placed.offsets, f"gap ILP (HiGHS), packing ({placed.solver})")
        if not self._tell("addresses") and cp_sat.available():
            joint = self._jointly(self.best.offsets, self.clock, None)
            if stays := joint.stays(self.problem):
                self._offer(stays, "gap ILP (HiGHS), CP-SAT")

    def _jointly(
        self, hint: Mapping[TensorStay, int | None], clock: Clock, windows: Collection[range] | None
    ) -> JointAddresses:
        bound = self.best.bound_bytes
        joint = solve_jointly(self.problem, bound, hint, clock, windows=windows)
        if joint.dropped is None or joint.bound_bytes < joint.objective_bytes:
            clock.end()
        self._raise(joint.bound_bytes)
        return joint

    def _offer(self, stays: dict[TensorStay, int] | None, solver: str) -> None:
        if stays is None:
            return
        cost = cost_of(self.problem, stays)
        if cost < self.best.cost_bytes or cost == self.best.bound_bytes:
            self.best = Solution(stays, cost, self.best.bound_bytes, solver)

    def _raise(self, bound_bytes: int) -> None:
        bound = min(max(bound_bytes, self.best.bound_bytes), self.best.cost_bytes)
        self.best = replace(self.best, bound_bytes=bound)

    def _tell(self, stage: str) -> bool:
        """Report the best plan and bound; whether the search is finished."""
        cost = None if self.best.cost_bytes == NEVER else self.best.cost_bytes
        self.clock.report(stage, cost, self.best.bound_bytes)
        return self.best.cost_bytes == self.best.bound_bytes or self.clock.expired()


def _watched(clock: Clock, work: Callable[[], T]) -> T | None:
    """The result of work that cannot be interrupted, or None where the clock expires first.

    It cannot be asked to end, and is left to. What it or the clock's callback raises is raised
    here.
    """
    results: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(POLL_S)
    while thread.is_alive() and not clock.is_over:
        clock.report("capacity relaxation")
        thread.join(POLL_S)
    thread.join(GRACE_S)
    if failed:
        raise failed[0]
    return results[0] if results else None


def _windows(
    problem: ScheduleProblem, stuck: Iterable[tuple[TensorStay, ...]], share: float
) -> list[range]:
    """For each group of stays, the steps from the first to the last that they fill so far."""
    windows = []
    for group in stuck:
        load = [0] * (len(problem.schedule) + 1)
        for run in group:
            load[run.first] += problem.lines[run.line].size_bytes
            load[run.last + 1] -= problem.lines[run.line].size_bytes
        for step in range(1, len(load)):
            load[step] += load[step - 1]
        most = share * max(load)
        full = [step for step, filled in enumerate(load) if filled >= most]
        windows.append(range(full[0], full[-1] + 1))
    return windows


def _merged(windows: Iterable[range]) -> list[range]:
    """The same steps in windows that do not touch."""
    merged: list[range] = []
    for window in sorted(windows, key=lambda window: window.start):
        if merged and window.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, window.stop))
        else:
            merged.append(window)
    return merged
