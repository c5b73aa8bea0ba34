"""Replacement and addresses in one CP-SAT model, for where the relaxation cannot be packed.

One offset a use, one literal a gap: kept gaps join the offsets of their two uses and take a box
over the steps between; everything goes into one two-dimensional no-overlap. The objective is the
relaxation's, from the relaxation's bound upward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, gcd
from typing import Any

from planners.cosma.problem import Gap, Problem, Run, runs
from planners.progress import Clock


@dataclass(frozen=True, slots=True)
class Joint:
    """The best placement found (None if none was), its cost and a proven bound, in bytes."""

    offsets: dict[Run, int] | None
    objective_bytes: int
    bound_bytes: int


def solve_jointly(
    problem: Problem,
    bound_bytes: int,
    hint: dict[Run, int] | None,
    clock: Clock,
    workers: int = 2,
) -> Joint:
    """Search for the cheapest placement, starting from `hint`, until proven or the time is over."""
    from ortools.sat.python import cp_model

    model = _Model(cp_model.CpModel(), problem)
    model.add_boxes()
    model.add_objective(bound_bytes)
    if hint is not None:
        model.add_hint(hint)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(clock.left_s, 0.01)
    solver.parameters.num_workers = workers
    watcher = _watcher(cp_model, clock, model.unit, solver.stop_search)
    solver.best_bound_callback = watcher.bound
    status = solver.solve(model.model, watcher)
    bound = max(bound_bytes, ceil(solver.best_objective_bound - 1e-6) * model.unit)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Joint(None, 0, bound)
    dropped = frozenset(gap for gap, kept in model.keep.items() if not solver.value(kept))
    offsets = {
        run: solver.value(model.offset[run.line, run.first]) * model.unit
        for run in runs(problem, dropped)
    }
    cost = problem.cost(dropped)
    return Joint(offsets, cost, min(bound, cost))


class _Model:
    def __init__(self, model: Any, problem: Problem) -> None:
        self.model, self.problem = model, problem
        sizes = [line.size_bytes for line in problem.lines]
        self.unit = gcd(*sizes)
        self.size = [size // self.unit for size in sizes]
        self.capacity = problem.budget_bytes // self.unit
        self.offset: dict[tuple[int, int], Any] = {}
        self.keep: dict[Gap, Any] = {}
        self.write: dict[int, Any] = {}

    def add_boxes(self) -> None:
        times: list[Any] = []
        places: list[Any] = []
        for i, line in enumerate(self.problem.lines):
            for step in line.uses:
                at = self.model.new_int_var(0, self.capacity - self.size[i], "")
                self.offset[i, step] = at
                times.append(self.model.new_fixed_size_interval_var(step, 1, ""))
                places.append(self.model.new_fixed_size_interval_var(at, self.size[i], ""))
        for gap in self.problem.gaps:
            kept = self.model.new_bool_var("")
            self.keep[gap] = kept
            at = self.offset[gap.line, gap.before]
            same = self.model.add(at == self.offset[gap.line, gap.after])
            same.only_enforce_if(kept)
            if gap.interior:
                first, steps = gap.before + 1, len(gap.interior)
                size = self.size[gap.line]
                times.append(
                    self.model.new_optional_fixed_size_interval_var(first, steps, kept, "")
                )
                places.append(self.model.new_optional_fixed_size_interval_var(at, size, kept, ""))
        self.model.add_no_overlap_2d(times, places)
        self._add_capacity()

    def _add_capacity(self) -> None:
        across: dict[int, list[Gap]] = {}
        for gap in self.problem.gaps:
            for step in gap.interior:
                across.setdefault(step, []).append(gap)
        for step, gaps in across.items():
            room = self.capacity - self.problem.required[step] // self.unit
            if sum(self.size[g.line] for g in gaps) > room:
                self.model.add(sum(self.size[g.line] * self.keep[g] for g in gaps) <= room)

    def add_objective(self, bound_bytes: int) -> None:
        terms = []
        for gap, kept in self.keep.items():
            terms.append(self.size[gap.line] * (1 - kept))
            if not self.problem.lines[gap.line].host_copy:
                if gap.line not in self.write:
                    self.write[gap.line] = self.model.new_bool_var("")
                    terms.append(self.size[gap.line] * self.write[gap.line])
                self.model.add_implication(~kept, self.write[gap.line])
        self.model.add(sum(terms) >= -(-bound_bytes // self.unit))
        self.model.minimize(sum(terms))

    def add_hint(self, stays: dict[Run, int]) -> None:
        for run, offset in stays.items():
            uses = [s for s in self.problem.lines[run.line].uses if run.first <= s <= run.last]
            for step in uses:
                self.model.add_hint(self.offset[run.line, step], offset // self.unit)
            for before, after in zip(uses, uses[1:], strict=False):
                self.model.add_hint(self.keep[Gap(run.line, before, after)], 1)
        kept = {
            (run.line, s)
            for run in stays
            for s in self.problem.lines[run.line].uses
            if run.first < s <= run.last
        }
        for gap, literal in self.keep.items():
            if (gap.line, gap.after) not in kept:
                self.model.add_hint(literal, 0)


def _watcher(cp_model: Any, clock: Clock, unit: int, stop: Callable[[], None]) -> Any:
    """Passes incumbents and bounds on to the clock, and stops the search when it is asked to.

    By the solver's own `stop`: the callback's works from the first solution on, bounds come before.
    """

    class Watcher(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.best: int | None = None

        def on_solution_callback(self) -> None:
            self.best = round(self.objective_value) * unit
            self.bound(self.best_objective_bound)

        def bound(self, value: float) -> None:
            clock.report("addresses and replacement", self.best, max(0, ceil(value - 1e-6)) * unit)
            if clock.expired():
                stop()

    return Watcher()
