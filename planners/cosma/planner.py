"""The COSMA planner: replacement and addresses for a schedule, activations or parameters too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.cosma.baselines import BASELINES, replace_by
from planners.cosma.emit import emit
from planners.cosma.fixed import Solution, cost_of, solve_fixed
from planners.cosma.ilp_plan import plan_by_ilp
from planners.cosma.orders import solve_all_orders
from planners.cosma.peak import minimum_peak
from planners.cosma.problem import Problem, Run
from planners.cosma.relaxation import relax
from planners.errors import BadInput
from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.plan import Claims, Plan
from planners.progress import Clock, ProgressCallback

DEFAULTS: Mapping[str, Any] = {
    "schedule": "default",
    "replacement": "optimal",
    "method": "search",
    "solver": "HiGHS",
    "parameters": False,
    "alignment": 64,
    "time_limit": 60.0,
}
CHOICES = {
    "schedule": ("default", "mpmf", "joint"),
    "replacement": ("optimal", *BASELINES),
    "method": ("search", "ilp"),
}


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Order, spill and place the graph's tensors within a budget.

    Options: `schedule` (`default`: the graph's order; `mpmf`: the order of least peak; `joint`:
    the best of all orders), `replacement` (`optimal`, with proof or gap; `belady` and `greedy`,
    the paper's baselines over TFLite's linear arena of this `alignment`, `size_ordered` and
    `hill_climb`, stronger ones that know all lifetimes; each for a fixed schedule),
    `method` (`search`: ours; `ilp`: the paper's ILP, by the `solver` that PuLP knows by that name),
    `parameters` (count them too), `time_limit` in seconds. Objective and bound are non-compulsory
    off-chip bytes, under the fixed schedule or over all of them.

    Raises `BudgetTooSmall` with what binds, and `BadInput` for an option that does not exist.
    """
    chosen = _options(options)
    clock = Clock(chosen["time_limit"], progress)
    problem = _problem(graph, chosen, budget_bytes, clock)
    if chosen["method"] == "ilp":
        problem, solution = plan_by_ilp(problem, chosen["schedule"], clock, chosen["solver"])
    elif chosen["schedule"] == "joint":
        problem, solution = solve_all_orders(problem, clock)
    else:
        solution = _solve(problem, chosen, clock)
    clock.report("done", solution.cost_bytes, solution.bound_bytes)
    machine = with_scratchpad(machine, budget_bytes)
    return Plan(
        planner="cosma",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=emit(problem, machine, solution.offsets),
        claims=_claims(problem, solution, clock.elapsed_s),
        options={key: chosen[key] for key in DEFAULTS},
        notes=_notes(graph, chosen),
    )


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in DEFAULTS:
            raise BadInput(f"cosma has no option {name!r}; it has {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **options}
    for name, values in CHOICES.items():
        if chosen[name] not in values:
            raise BadInput(f"{name}={chosen[name]!r}: choose one of {', '.join(values)}")
    if chosen["schedule"] == "joint" and chosen["replacement"] != "optimal":
        raise BadInput("schedule='joint' chooses the replacement too: use replacement='optimal'")
    if chosen["method"] == "ilp" and chosen["replacement"] != "optimal":
        raise BadInput("method='ilp' chooses the replacement too: use replacement='optimal'")
    if not isinstance(chosen["solver"], str):
        raise BadInput(f"solver must be a name, not {chosen['solver']!r:.40}")
    # Written so that NaN and what is no number at all fail.
    if not (isinstance(chosen["time_limit"], (int, float)) and chosen["time_limit"] > 0):
        raise BadInput(f"time_limit must be above zero seconds, not {chosen['time_limit']!r:.40}")
    if not (isinstance(chosen["alignment"], int) and chosen["alignment"] > 0):
        raise BadInput(f"alignment must be whole bytes above zero, not {chosen['alignment']!r:.40}")
    if not isinstance(chosen["parameters"], bool):
        raise BadInput(f"parameters must be True or False, not {chosen['parameters']!r:.40}")
    return chosen


def _problem(graph: Graph, chosen: Mapping[str, Any], budget_bytes: int, clock: Clock) -> Problem:
    schedule = tuple(range(len(graph.operators)))
    if chosen["schedule"] == "mpmf" and chosen["method"] == "search":
        clock.report("schedule of least peak")
        schedule = minimum_peak(graph, chosen["parameters"], clock=clock).schedule
    problem = Problem(graph, schedule, chosen["parameters"], budget_bytes)
    problem.assert_feasible()
    return problem


def _solve(problem: Problem, chosen: Mapping[str, Any], clock: Clock) -> Solution:
    if chosen["replacement"] == "optimal":
        return solve_fixed(problem, clock)
    clock.report(chosen["replacement"])
    half = clock.part(0.5 * clock.left_s)
    stays, name = replace_by(chosen["replacement"], problem, chosen["alignment"], half)
    relaxed = relax(problem, time_limit_s=clock.left_s)
    bound = 0 if relaxed is None else relaxed.bound_bytes
    return Solution(stays, cost_of(problem, stays), bound, name)


def _claims(problem: Problem, solution: Solution, seconds: float) -> Claims:
    cost, bound = solution.cost_bytes, min(solution.cost_bytes, solution.bound_bytes)
    return Claims(
        status="optimal" if cost == bound else "feasible",
        objective_bytes=cost,
        bound_bytes=bound,
        compulsory_bytes=_compulsory(problem),
        noncompulsory_bytes=cost,
        peak_bytes=_peak(problem, solution.offsets),
        extent_bytes=max(
            (at + problem.lines[run.line].size_bytes for run, at in solution.offsets.items()),
            default=0,
        ),
        plan_s=seconds,
        solver=solution.solver,
    )


def _compulsory(problem: Problem) -> int:
    """One load of what no operator makes, and one store of each output that one does."""
    made = sum(
        line.size_bytes
        for line in problem.lines
        if line.produced and line.tensor in problem.graph.outputs
    )
    return made + sum(line.size_bytes for line in problem.lines if not line.produced)


def _peak(problem: Problem, stays: Mapping[Run, int]) -> int:
    change = [0] * (len(problem.schedule) + 1)
    for run in stays:
        change[run.first] += problem.lines[run.line].size_bytes
        change[run.last + 1] -= problem.lines[run.line].size_bytes
    peak = live = 0
    for difference in change:
        live += difference
        peak = max(peak, live)
    return peak


def _notes(graph: Graph, chosen: Mapping[str, Any]) -> tuple[str, ...]:
    schedule = chosen["schedule"]
    counted = "activations and parameters" if chosen["parameters"] else "activations only"
    return (
        f"{counted}, {graph.bytes_per_element} byte(s) an element, granularity {graph.granularity}",
        "bound and status hold "
        + (f"for the {schedule} schedule" if schedule != "joint" else "over all schedules"),
    )
