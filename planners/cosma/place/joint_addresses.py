"""Replacement and addresses in one CP-SAT model, for where the relaxation cannot be packed.

One offset a use, one literal a gap: kept gaps join the offsets of their two uses and take a box
over the steps between; everything goes into one two-dimensional no-overlap. The objective is the
relaxation's, from the relaxation's bound upward.

Addresses may be required within some windows of steps only. What is over-full elsewhere counts by
its bytes, so it is still a relaxation, and its bound is one on the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import ceil, gcd
from typing import Any

from planners.allocation.cp_sat import solve_within
from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem, TensorStay, UseGap, runs


@dataclass(frozen=True, slots=True)
class JointAddresses:
    """The best found, None if nothing was: gaps to drop, their cost and a proven bound, in bytes.

    `offsets` are those of lines at steps, for the uses within the windows and the gaps kept into
    them: `(line, step)`.
    """

    dropped: frozenset[UseGap] | None
    offsets: Mapping[tuple[int, int], int]
    objective_bytes: int
    bound_bytes: int

    def stays(self, problem: ScheduleProblem) -> dict[TensorStay, int] | None:
        """The stays with their offsets, where all steps had addresses."""
        if self.dropped is None:
            return None
        return {run: self.offsets[run.line, run.first] for run in runs(problem, self.dropped)}


def solve_jointly(
    problem: ScheduleProblem,
    bound_bytes: int,
    hint: Mapping[TensorStay, int | None] | None,
    clock: Clock,
    workers: int = 1,
    windows: Collection[range] | None = None,
) -> JointAddresses:
    """Search for the cheapest placement, starting from `hint`, until proven or the time is over.

    A hint may have stays without an offset. Offsets count within `windows` only, which do not
    touch; within all steps where None.
    """
    from ortools.sat.python import cp_model

    windows = (range(len(problem.schedule)),) if windows is None else windows
    model = _Model(cp_model.CpModel(), problem, windows)
    model.add_boxes()
    model.add_objective(bound_bytes)
    if hint is not None:
        model.add_hint(hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    complete = sum(map(len, windows)) == len(problem.schedule)
    watcher = _watcher(cp_model, clock, model.unit, complete, solver.stop_search)
    solver.best_bound_callback = watcher.bound
    status = solve_within(solver, model.model, clock, watcher)
    if status == cp_model.INFEASIBLE:  # What must be kept has no place.
        return JointAddresses(None, {}, 0, bound_bytes)
    bound = max(bound_bytes, ceil(solver.best_objective_bound - 1e-6) * model.unit)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return JointAddresses(None, {}, 0, bound)
    dropped = frozenset(gap for gap, kept in model.keep.items() if not solver.value(kept))
    dropped |= problem.spilled
    offsets = {key: solver.value(at) * model.unit for key, at in model.offset.items()}
    cost = problem.cost(dropped)
    return JointAddresses(dropped, offsets, cost, min(bound, cost))


class _Model:
    def __init__(self, model: Any, problem: ScheduleProblem, windows: Collection[range]) -> None:
        self.model, self.problem, self.windows = model, problem, windows
        self.across: dict[int, list[UseGap]] = defaultdict(
            list
        )  # the gaps over each over-full step
        open_gaps = [gap for gap in problem.gaps if gap not in problem.spilled]
        for gap in open_gaps:
            for step in gap.interior:
                self.across[step].append(gap)
        self.across = {step: gaps for step, gaps in self.across.items() if self._overfull(step)}
        inside = [gap for gap in open_gaps if self._parts(range(gap.before, gap.after + 1))]
        self.gaps = dict.fromkeys([*inside, *(g for gaps in self.across.values() for g in gaps)])
        self.uses = [
            (i, step)
            for i, line in enumerate(problem.lines)
            for step in line.uses
            if any(step in window for window in windows)
        ]
        counted = {gap.line for gap in (*self.gaps, *problem.spilled)} | {i for i, _ in self.uses}
        self.unit = gcd(*(problem.lines[i].size_bytes for i in counted))
        self.size = [line.size_bytes // self.unit for line in problem.lines]
        self.capacity = problem.budget_bytes // self.unit
        self.offset: dict[tuple[int, int], Any] = {}
        self.keep: dict[UseGap, Any] = {}
        self.write: dict[int, Any] = {}
        self.times: list[Any] = []
        self.places: list[Any] = []

    def _overfull(self, step: int) -> bool:
        kept = sum(self.problem.lines[gap.line].size_bytes for gap in self.across[step])
        return kept + self.problem.required[step] > self.problem.budget_bytes

    def _parts(self, steps: range) -> list[range]:
        """What of a stretch of steps lies within windows."""
        cut = (range(max(steps.start, w.start), min(steps.stop, w.stop)) for w in self.windows)
        return [part for part in cut if part]

    def add_boxes(self) -> None:
        for i, step in self.uses:
            self.offset[i, step] = self.model.new_int_var(0, self.capacity - self.size[i], "")
            self.times.append(self.model.new_fixed_size_interval_var(step, 1, ""))
            at = self.offset[i, step]
            self.places.append(self.model.new_fixed_size_interval_var(at, self.size[i], ""))
        for gap in self.gaps:
            self.keep[gap] = self.model.new_bool_var("")
            self._add_gap(gap)
            if gap in self.problem.kept:
                self.model.add(self.keep[gap] == 1)
        self.model.add_no_overlap_2d(self.times, self.places)
        for step, gaps in self.across.items():
            room = (self.problem.budget_bytes - self.problem.required[step]) // self.unit
            self.model.add(sum(self.size[g.line] * self.keep[g] for g in gaps) <= room)

    def _add_gap(self, gap: UseGap) -> None:
        kept, size = self.keep[gap], self.size[gap.line]
        before = self.offset.get((gap.line, gap.before))
        after = self.offset.get((gap.line, gap.after))
        if before is not None and after is not None:
            self.model.add(before == after).only_enforce_if(kept)
        at = after if before is None else before
        for steps in self._parts(gap.interior):
            if at is None:
                at = self.model.new_int_var(0, self.capacity - size, "")
                self.offset[gap.line, gap.after] = at
            self.times.append(
                self.model.new_optional_fixed_size_interval_var(steps.start, len(steps), kept, "")
            )
            self.places.append(self.model.new_optional_fixed_size_interval_var(at, size, kept, ""))

    def add_objective(self, bound_bytes: int) -> None:
        terms: list[Any] = [self.problem.cost(self.problem.spilled) // self.unit]
        stored = {gap.line for gap in self.problem.spilled}
        for gap, kept in self.keep.items():
            terms.append(self.size[gap.line] * (1 - kept))
            if not self.problem.lines[gap.line].host_copy and gap.line not in stored:
                if gap.line not in self.write:
                    self.write[gap.line] = self.model.new_bool_var("")
                    terms.append(self.size[gap.line] * self.write[gap.line])
                self.model.add_implication(~kept, self.write[gap.line])
        self.model.add(sum(terms) >= -(-bound_bytes // self.unit))
        self.model.minimize(sum(terms))

    def add_hint(self, stays: Mapping[TensorStay, int | None]) -> None:
        kept: set[tuple[int, int]] = set()  # uses that a stay does not begin with
        for run, offset in stays.items():
            uses = [s for s in self.problem.lines[run.line].uses if run.first <= s <= run.last]
            kept |= {(run.line, step) for step in uses[1:]}
            for step in uses:
                if offset is not None and (run.line, step) in self.offset:
                    self.model.add_hint(self.offset[run.line, step], offset // self.unit)
        for gap, literal in self.keep.items():
            self.model.add_hint(literal, (gap.line, gap.after) in kept)


def _watcher(
    cp_model: Any, clock: Clock, unit: int, complete: bool, stop: Callable[[], None]
) -> Any:
    """Passes incumbents and bounds on to the clock, and stops the search on request.

    Solutions are plans where the model is `complete`. By the solver's own `stop`: the callback's
    works from the first solution on, bounds come before.
    """

    class Watcher(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.best: int | None = None

        def on_solution_callback(self) -> None:
            if complete:
                self.best = round(self.objective_value) * unit
            self.bound(self.best_objective_bound)

        def bound(self, value: float) -> None:
            clock.report("addresses and replacement", self.best, max(0, ceil(value - 1e-6)) * unit)
            if clock.is_over:
                stop()

    return Watcher()
