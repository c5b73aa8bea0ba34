"""The COSMA planner: replacement and addresses for a schedule, activations or parameters too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.allocation import load_lower_bound
from planners.conflicts import require_consistent
from planners.cosma.baselines import replace_by
from planners.cosma.conflict import conflict_of
from planners.cosma.dnc import solve_parts
from planners.cosma.emit import emit
from planners.cosma.fixed import Solution, cost_of, solve_fixed
from planners.cosma.ilp_plan import plan_by_ilp
from planners.cosma.memory import least_memory
from planners.cosma.options import AUTO, DEFAULTS, checked
from planners.cosma.orders import solve_all_orders
from planners.cosma.peak import minimum_peak
from planners.cosma.placement import lifetimes
from planners.cosma.problem import Problem, Run
from planners.cosma.relaxation import relax
from planners.cosma.wished import KNOWN, Wished, reordered, require_counted, turned_round
from planners.errors import BadInput, BudgetTooSmall
from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.plan import Claims, Plan
from planners.program import Program
from planners.progress import Clock, ProgressCallback
from planners.wishes import Wish, broken, parse, require_known

TRAFFIC_SHARE = 0.7  # of the time, where latency comes after it


@dataclass(frozen=True, slots=True)
class _Solved:
    """What was found, and in words how: for an order, or over all of them."""

    problem: Problem
    solution: Solution
    scope: str
    notes: tuple[str, ...] = ()


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Order, spill and place the graph's tensors within a budget.

    Options: `schedule` (`default`: the graph's order; `mpmf`: the order of least peak; `joint`:
    the best of all orders; `dnc`: divide and conquer at `break_nodes`, names or `auto`),
    `objective` (`traffic`: non-compulsory off-chip bytes; `peak`: no spills, the least memory;
    `traffic_then_latency`: of the plans of least traffic found, the fastest on the machine),
    `replacement` (`optimal`, with proof or gap; `belady` and `greedy`, the paper's baselines over
    TFLite's linear arena of this `alignment`, `size_ordered` and `hill_climb`, stronger ones that
    know all lifetimes; each for a fixed schedule), `method` (`search`: ours; `ilp`: the paper's
    ILP, by the `solver` that PuLP knows by that name, to the letter where `paper_strict`),
    `parameters` (count them too), `time_limit` in seconds, `wishes` (`keep T`, `spill T`,
    `A before B`: the plan is the best of those that respect them, as texts of `planners.wishes`).

    Objective and bound are bytes of traffic, or of memory for `peak`; the notes say whether they
    hold for one schedule or over all of them. Raises `BudgetTooSmall` with what binds,
    `WishesConflict` with the wishes that are in the way, and `BadInput` for options that do not
    exist or do not go together.
    """
    chosen = checked(options)
    wishes = parse(chosen["wishes"], graph)
    chosen["wishes"] = [str(wish) for wish in wishes]
    clock = Clock(chosen["time_limit"], progress)
    if not wishes:
        problem = _problem(graph, budget_bytes, chosen)
        problem.assert_feasible()
        return _made(graph, _solve(problem, chosen, clock), machine, chosen, clock)
    problem = _wishful(graph, wishes, budget_bytes, chosen)
    try:
        solved = _solve(problem, chosen, clock)
    except BudgetTooSmall as error:
        raise conflict_of(
            wishes,
            lambda some: _problem(graph, budget_bytes, chosen, some),
            chosen["schedule"],
            chosen["objective"],
            error,
        ) from None
    plan = _made(graph, _with_order_told(graph, solved, chosen), machine, chosen, clock)
    if lost := broken(plan, wishes):
        raise AssertionError(f"the plan breaks {', '.join(map(str, lost))}")
    return plan


def _problem(
    graph: Graph, budget_bytes: int, chosen: Mapping[str, Any], wishes: Sequence[Wish] = ()
) -> Problem:
    """The problem in the graph's order, or in the nearest that respects the wishes."""
    wished = Wished.of(wishes)
    return Problem(
        reordered(graph, wished.before),
        tuple(range(len(graph.operators))),
        chosen["parameters"],
        budget_bytes,
        chosen["paper_strict"],
        wished,
    )


def _wishful(
    graph: Graph, wishes: Sequence[Wish], budget_bytes: int, chosen: Mapping[str, Any]
) -> Problem:
    """The problem with wishes; what no plan could do is told at once."""
    require_known(wishes, KNOWN, "cosma")
    require_counted(wishes, graph, chosen["parameters"])
    spills = [str(wish) for wish in wishes if wish.kind == "spill"]
    if spills and chosen["objective"] == "peak":
        raise BadInput(f"wish {spills[0]!r:.80}: objective='peak' spills nothing: use 'traffic'")
    require_consistent(wishes, graph, budget_bytes)
    _problem(graph, budget_bytes, chosen).assert_feasible()
    return _problem(graph, budget_bytes, chosen, wishes)


def _with_order_told(graph: Graph, solved: _Solved, chosen: Mapping[str, Any]) -> _Solved:
    """A note where the order given does not respect the wishes, and another stands for it."""
    names = [op.name for op in solved.problem.graph.operators]
    if chosen["schedule"] != "default" or names == list(graph.index):
        return solved
    turned = turned_round(graph.index[name] for name in names)
    pairs = " and ".join(w for w in chosen["wishes"] if " before " in w)
    note = (
        f"schedule: the order given does not have {pairs}; planned in the nearest order found "
        f"that does, with {turned} pair(s) of operators the other way round"
    )
    return replace(solved, notes=(*solved.notes, note))


def _made(
    graph: Graph, solved: _Solved, machine: Machine, chosen: Mapping[str, Any], clock: Clock
) -> Plan:
    """The plan of what was found: its program, and what is claimed of it."""
    budget_bytes = solved.problem.budget_bytes
    machine = with_scratchpad(machine, budget_bytes)
    program, solved = _program(solved, chosen, machine, clock)
    objective = solved.solution.cost_bytes
    clock.report("done", objective, min(objective, solved.solution.bound_bytes))
    return Plan(
        planner="cosma",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=program,
        claims=_claims(solved.problem, solved.solution, chosen, clock.elapsed_s),
        options={key: chosen[key] for key in DEFAULTS},
        notes=_notes(graph, chosen, solved),
    )


def _solve(problem: Problem, chosen: Mapping[str, Any], clock: Clock) -> _Solved:
    schedule, solver = chosen["schedule"], chosen["solver"]
    by_ilp = chosen["method"] == "ilp"
    everywhere = "over all schedules"
    scope = f"for the {schedule} schedule"
    # What is sought after a plan of least traffic takes some of the time.
    part = clock
    if chosen["objective"] == "traffic_then_latency":
        part = clock.share(TRAFFIC_SHARE)
    if chosen["objective"] == "peak":
        any_order = schedule != "default"
        found = least_memory(problem, clock, any_order=any_order, solver=solver if by_ilp else None)
        return _Solved(*found, everywhere if any_order else scope)
    if by_ilp:
        found = plan_by_ilp(problem, schedule, part, solver)
        return _Solved(*found, everywhere if schedule == "joint" else scope)
    if schedule == "joint":
        return _Solved(*solve_all_orders(problem, part), everywhere)
    if schedule == "dnc":
        given = chosen["break_nodes"]
        divided = solve_parts(problem, part, None if given == AUTO else given)
        breaks = f"break nodes: {', '.join(divided.breaks) or 'none'}"
        return _Solved(divided.problem, divided.solution, everywhere, (breaks,))
    if schedule == "mpmf":
        part.report("schedule of least peak")
        before = problem.wished.before
        peak = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
        problem = replace(problem, schedule=peak.schedule)
    return _Solved(problem, _solve_order(problem, chosen, part), scope)


def _solve_order(problem: Problem, chosen: Mapping[str, Any], clock: Clock) -> Solution:
    if chosen["replacement"] == "optimal":
        return solve_fixed(problem, clock)
    clock.report(chosen["replacement"])
    half = clock.part(0.5 * clock.left_s)
    stays, name = replace_by(chosen["replacement"], problem, chosen["alignment"], half)
    relaxed = relax(problem, time_limit_s=clock.left_s)
    bound = 0 if relaxed is None else relaxed.bound_bytes
    return Solution(stays, cost_of(problem, stays), bound, name)


def _program(
    solved: _Solved, chosen: Mapping[str, Any], machine: Machine, clock: Clock
) -> tuple[Program, _Solved]:
    """The program of what was found, or of the fastest that costs as much."""
    if chosen["objective"] != "traffic_then_latency":
        return emit(solved.problem, machine, solved.solution.offsets), solved
    from planners.cosma.latency import fastest  # and with it the simulator, for this only

    clock.report("latency", solved.solution.cost_bytes, solved.solution.bound_bytes)
    placements = [(solved.problem, solved.solution.offsets), *_equals(solved, chosen, clock)]
    found = fastest(placements, machine, clock)
    solution = replace(solved.solution, offsets=dict(found.best.offsets))
    solved = replace(
        solved, problem=found.best.problem, solution=solution, notes=(*solved.notes, found.note)
    )
    return found.best.program, solved


def _equals(
    solved: _Solved, chosen: Mapping[str, Any], clock: Clock
) -> Iterator[tuple[Problem, Mapping[Run, int]]]:
    """Plans of the same traffic in other orders, where the order is free."""
    problem = solved.problem
    if chosen["schedule"] not in ("joint", "dnc") or chosen["paper_strict"]:
        return
    part, before = clock.part(0.1 * clock.left_s), problem.wished.before
    least = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
    for order in (tuple(range(len(problem.schedule))), least.schedule):
        ordered = replace(problem, schedule=order)
        try:
            found = solve_fixed(ordered, clock.part(0.2 * clock.left_s))
        except BudgetTooSmall:  # What must be kept does not fit in every order.
            continue
        if order != problem.schedule and found.cost_bytes == solved.solution.cost_bytes:
            yield ordered, found.offsets


def _claims(
    problem: Problem, solution: Solution, chosen: Mapping[str, Any], seconds: float
) -> Claims:
    cost, bound = solution.cost_bytes, min(solution.cost_bytes, solution.bound_bytes)
    return Claims(
        status="optimal" if cost == bound else "feasible",
        objective_bytes=cost,
        bound_bytes=bound,
        compulsory_bytes=_compulsory(problem),
        noncompulsory_bytes=0 if chosen["objective"] == "peak" else cost,
        peak_bytes=load_lower_bound(lifetimes(problem, solution.offsets)),
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


def _notes(graph: Graph, chosen: Mapping[str, Any], solved: _Solved) -> tuple[str, ...]:
    counted = "activations and parameters" if chosen["parameters"] else "activations only"
    notes = [
        f"{counted}, {graph.bytes_per_element} byte(s) an element, granularity {graph.granularity}",
        f"bound and status hold {solved.scope}",
    ]
    if chosen["objective"] == "peak":
        notes.append("objective and bound are bytes of on-chip memory, addresses included")
    if chosen["paper_strict"]:
        notes.append("the paper's equations: every spill is stored, and away for a step at least")
    return (*notes, *solved.notes)
