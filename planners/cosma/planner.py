"""COSMA: the order of operators, what is spilled, and every address, for least off-chip traffic.

After Li, Gupta, Malik; sections of the paper. `METHOD` is the map: what is decided, by which
strategies, where, and what is proven. Within it, `model/` turns a graph in an order into uses of
tensors and gaps between them: a tensor is kept over a gap or dropped, at the cost of a store and a
load; `order/` says which order, `replace/` what is dropped, `place/` where the rest lies,
`latency/` when loads come, `emit/` the program. Beside it: `memory` (objective `peak`: nothing
spilled, least memory), `banks` (machines of several memories: nothing spilled, least bytes through
the slow ones), `ilp/` (the paper's ILP to the letter, for any solver), `baselines/` (what the paper
compares with), `conflict` (which wishes leave no plan).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.allocation import load_lower_bound
from planners.core.boxes import Box, volume
from planners.core.details import Details, LatencyClaim
from planners.core.errors import BadInput, BudgetTooSmall
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.method import Decision
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.program import Program
from planners.core.progress import MOST_SHARE, Clock, ProgressCallback
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT
from planners.cosma.emit.program import emit, pieces_read
from planners.cosma.model.constraints import (
    KNOWN,
    WishedStays,
    reordered,
    require_counted,
    turned_round,
)
from planners.cosma.model.problem import ScheduleProblem, cost_of, extent_of
from planners.cosma.options import AUTO, BY_LATENCY, OWN_ORDER, CosmaOptions
from planners.cosma.order.joint import solve_all_orders
from planners.cosma.order.peak import minimum_peak
from planners.cosma.place.placement import lifetimes
from planners.cosma.replace.optimal import Solution, solve_fixed
from planners.simulator.account import Account
from planners.wishes.language import Wish, broken, parse, require_known

METHOD = (
    Decision(
        "the order, of all (`joint`)",
        "a shortest path over what has run, is resident and is written",
        ("planners.cosma.order.joint",),
        "over all orders",
        "STRATEGIES",
    ),
    Decision(
        "the order, part by part (`dnc`)",
        "parts between break nodes, each in its best order",
        ("planners.cosma.order.divide_and_conquer",),
        "a bound over all orders from the parts",
        "STRATEGIES",
    ),
    Decision(
        "the order of least peak (`mpmf`)",
        "a bottleneck shortest path (eqs. 13–15)",
        ("planners.cosma.order.peak",),
        "no order has a lower peak",
    ),
    Decision(
        "what is dropped, for an order",
        "the capacity relaxation, then addresses in windows where it cannot be packed (III-E2)",
        ("planners.cosma.replace.optimal",),
        "the relaxation bounds it",
    ),
    Decision(
        "addresses of what stays",
        "packing",
        ("planners.allocation.portfolio",),
        "packed, or proven not to fit",
        "STRATEGIES",
    ),
    Decision(
        "the least memory, nothing dropped (`peak`)",
        "the tightest packing of an order",
        ("planners.cosma.memory",),
        "no order needs less",
        "STRATEGIES",
    ),
    Decision(
        "when loads come (`latency`)",
        "variants timed on the scoreboard",
        ("planners.cosma.latency.planner",),
        "a bound in seconds; few steps: the quickest of all",
    ),
)
"""The method, in the order in which it decides."""

ABOUT_WEIGHTS = {
    LEFT_OUT: "activations only",
    COUNTED: "activations and parameters",
    IN_PLACE: "activations; parameters are read in place",
}


@dataclass(frozen=True, slots=True)
class _Solved:
    """What was found, and in words how: for an order, or over all of them.

    `held` are peak and extent in bytes, where they do not follow from the solution.
    """

    problem: ScheduleProblem
    solution: Solution
    scope: str
    notes: tuple[str, ...] = ()
    latency: LatencyClaim | None = None
    held: tuple[int, int] | None = None


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
    `traffic_then_latency`: of the plans of least traffic found, the fastest on the machine;
    `latency`: the fastest of any traffic),
    `replacement` (`optimal`, with proof or gap; `belady` and `greedy`, the paper's baselines over
    TFLite's linear arena of this `alignment`, `size_ordered` and `hill_climb`, stronger ones that
    know all lifetimes; each for a fixed schedule), `method` (`search`: ours; `ilp`: the paper's
    ILP, by the `solver` that PuLP knows by that name, to the letter where `paper_strict`),
    `weights` (left out, counted or read in place), `time_limit` in seconds, `wishes` (`keep T`,
    `spill T`, `A before B`: the plan is the best of those that respect them, as texts of
    `planners.wishes.language`).

    Objective and bound are bytes of traffic, or of memory for `peak`; the notes say whether they
    hold for one schedule or over all of them. For `latency` the status is that of the seconds:
    `details.latency` has them with a bound. Raises `BudgetTooSmall` with what binds,
    `NoPlanFound` where none was found and none is not proven,
    `WishesConflict` with the wishes that are in the way, and `BadInput` for options that do not
    exist or do not go together.
    """
    chosen = CosmaOptions.from_values(options)
    wishes = parse(chosen.wishes, graph)
    chosen = replace(chosen, wishes=tuple(map(str, wishes)))
    request = Problem.start(graph, machine, budget_bytes, chosen, progress)
    if machine.slower:
        from planners.cosma.banks import plan_in_banks

        return plan_in_banks(request, _problem(request), _counted(request))
    if not wishes:
        problem = _problem(request)
        if chosen.objective != "peak":  # It needs more: all that is there at once.
            problem.assert_feasible()
        return _made(request, _solve(request, problem))
    problem = _wishful(request, wishes)
    try:
        solved = _solve(request, problem)
    except BudgetTooSmall as error:
        from planners.cosma.conflict import conflict_of

        raise conflict_of(
            wishes,
            lambda some: _problem(request, some),
            chosen.schedule,
            chosen.objective,
            error,
        ) from None
    plan = _made(request, _with_order_told(request, solved))
    if lost := broken(plan, wishes):
        raise AssertionError(f"the plan breaks {', '.join(map(str, lost))}")
    return plan


def _problem(request: Problem[CosmaOptions], wishes: Sequence[Wish] = ()) -> ScheduleProblem:
    """The problem in the graph's order, or in the nearest that respects the wishes."""
    wished, chosen = WishedStays.from_wishes(wishes), request.options
    return ScheduleProblem(
        reordered(request.graph, wished.before),
        tuple(range(len(request.graph.operators))),
        chosen.parameters,
        request.budget_bytes,
        chosen.paper_strict,
        wished,
        in_place=chosen.weights == IN_PLACE,
    )


def _wishful(request: Problem[CosmaOptions], wishes: Sequence[Wish]) -> ScheduleProblem:
    """The problem with wishes; what no plan could satisfy is reported at once."""
    graph, chosen = request.graph, request.options
    require_known(wishes, KNOWN, "cosma")
    require_counted(wishes, graph, chosen.parameters)
    spills = [str(wish) for wish in wishes if wish.kind == "spill"]
    from planners.wishes.conflicts import require_consistent

    if spills and chosen.objective == "peak":
        raise BadInput(f"wish {spills[0]!r:.80}: objective='peak' spills nothing: use 'traffic'")
    require_consistent(wishes, graph, request.budget_bytes)
    if chosen.objective != "peak":
        _problem(request).assert_feasible()
    return _problem(request, wishes)


def _with_order_told(request: Problem[CosmaOptions], solved: _Solved) -> _Solved:
    """A note where the order given does not respect the wishes and another replaces it."""
    graph, chosen = request.graph, request.options
    names = [op.name for op in solved.problem.graph.operators]
    if chosen.schedule != "default" or names == list(graph.index):
        return solved
    turned = turned_round(graph.index[name] for name in names)
    pairs = " and ".join(w for w in chosen.wishes if " before " in w)
    note = (
        f"schedule: the order given does not have {pairs}; planned in the nearest order found "
        f"that does, with {turned} pair(s) of operators the other way round"
    )
    return replace(solved, notes=(*solved.notes, note))


def _made(request: Problem[CosmaOptions], solved: _Solved) -> Plan:
    """The plan of what was found: its program, and what is claimed of it."""
    chosen = request.options
    program, solved = _program(request, solved)
    solution = solved.solution
    again = 0 if chosen.objective == "peak" else _read_again(solved.problem)
    cost = solution.cost_bytes + again
    bound = min(cost, solution.bound_bytes + again)
    moved = _moved(solved, chosen)
    claims = moved.claims(cost, bound, solution.solver, request.clock)
    if solved.latency is not None:
        claims = replace(claims, status="feasible" if solved.latency.gap else "optimal")
    return request.plan(program, claims, _notes(request, solved), Details(latency=solved.latency))


def _solve(request: Problem[CosmaOptions], problem: ScheduleProblem) -> _Solved:
    chosen, clock = request.options, request.clock
    schedule, solver = chosen.schedule, chosen.solver
    by_ilp = chosen.method == "ilp"
    everywhere = "over all schedules"
    scope = f"for the {schedule} schedule"
    # The search for latency, after that for traffic, takes some of the time.
    part = clock
    if chosen.objective in BY_LATENCY:
        part = clock.share(MOST_SHARE)
    if chosen.objective == "peak":
        from planners.cosma.memory import least_memory

        any_order = schedule != "default"
        solved = least_memory(
            problem, clock, any_order=any_order, solver=solver if by_ilp else None
        )
        return _Solved(*solved, everywhere if any_order else scope)
    if by_ilp:
        from planners.cosma.ilp.plan import plan_by_ilp

        solved = plan_by_ilp(problem, schedule, part, solver)
        return _Solved(*solved, everywhere if schedule == "joint" else scope)
    if schedule == "joint":
        return _Solved(*solve_all_orders(problem, part), everywhere)
    if schedule == "dnc":
        from planners.cosma.order.divide_and_conquer import solve_parts

        given = chosen.break_nodes
        divided = solve_parts(problem, part, None if given == AUTO else given)
        breaks = f"break nodes: {', '.join(divided.breaks) or 'none'}"
        return _Solved(divided.problem, divided.solution, everywhere, (breaks,))
    if schedule == "mpmf":
        part.report("schedule of least peak")
        before = problem.wished.before
        peak = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
        problem = replace(problem, schedule=peak.schedule)
    return _Solved(problem, _solve_order(problem, chosen, part), scope)


def _solve_order(problem: ScheduleProblem, chosen: CosmaOptions, clock: Clock) -> Solution:
    if chosen.replacement == "optimal":
        return solve_fixed(problem, clock)
    from planners.cosma.baselines.schemes import replace_by
    from planners.cosma.replace.relaxation import relax

    clock.report(chosen.replacement)
    stays, name = replace_by(chosen.replacement, problem, chosen.alignment, clock.share(0.5))
    relaxed = relax(problem, clock)
    bound = 0 if relaxed is None else relaxed.bound_bytes
    return Solution(stays, cost_of(problem, stays), bound, name)


def _program(request: Problem[CosmaOptions], solved: _Solved) -> tuple[Program, _Solved]:
    """The program of what was found, or of the fastest of those that cost as much, or of all."""
    chosen, machine, clock = request.options, request.sized, request.clock
    problem, solution = solved.problem, solved.solution
    if chosen.objective not in BY_LATENCY:
        return emit(problem, machine, solution.offsets), solved
    from planners.cosma.latency.planner import quickest  # and the simulator, for this only

    clock.report("latency", solution.cost_bytes, solution.bound_bytes)
    free = chosen.schedule in OWN_ORDER and not chosen.paper_strict
    only = chosen.objective == "latency"
    quickest_plan = quickest((problem, solution), machine, clock, any_order=free, any_traffic=only)
    scope = "over all schedules" if free else solved.scope
    solved = replace(
        solved,
        problem=quickest_plan.problem,
        solution=replace(solution, cost_bytes=quickest_plan.cost_bytes),
        notes=(*solved.notes, quickest_plan.note),
        latency=quickest_plan.claim(scope) if only else None,
        held=(quickest_plan.peak_bytes, quickest_plan.extent_bytes),
    )
    return quickest_plan.program, solved


def _moved(solved: _Solved, chosen: CosmaOptions) -> Account:
    """What the plan must move and hold, by the problem alone: `check` compares it."""
    problem, solution = solved.problem, solved.solution
    compulsory = _compulsory(problem)
    peak, extent = solved.held or (
        load_lower_bound(lifetimes(problem, solution.offsets)),
        extent_of(problem, solution.offsets),
    )
    return Account(
        peak_bytes=peak,
        extent_bytes=extent,
        compulsory_bytes=compulsory,
        traffic_bytes=compulsory
        + (0 if chosen.objective == "peak" else solution.cost_bytes)
        + _read_again(problem),
    )


def _compulsory(problem: ScheduleProblem) -> int:
    """One load of what no operator makes, and one store of each output that one does."""
    written_bytes = sum(
        line.size_bytes
        for line in problem.lines
        if line.produced and line.tensor in problem.graph.outputs
    )
    read = _read_in_place(problem).items()
    in_place = sum(problem.graph.bytes_of(name, volume(boxes)) for name, boxes in read)
    return (
        written_bytes
        + in_place
        + sum(line.size_bytes for line in problem.lines if not line.produced)
    )


def _read_again(problem: ScheduleProblem) -> int:
    """Bytes of parameters that operators read in place after the first that does."""
    graph, every = problem.graph, _read_in_place(problem)
    read = sum(graph.bytes_of(name, volume([box])) for name in every for box in every[name])
    return read - sum(graph.bytes_of(name, volume(boxes)) for name, boxes in every.items())


def _read_in_place(problem: ScheduleProblem) -> dict[str, list[Box]]:
    """The boxes of parameters that operators read where they live, one for each operator."""
    boxes: dict[str, list[Box]] = {}
    for op in problem.graph.operators if problem.in_place else ():
        for piece in pieces_read(problem.graph, op):
            boxes.setdefault(piece.tensor, []).append(piece.box)
    return boxes


def _counted(request: Problem[CosmaOptions]) -> str:
    """What is counted, and how."""
    graph, counted = request.graph, ABOUT_WEIGHTS[request.options.weights]
    return f"{counted}, {graph.width_words}, granularity {graph.granularity}"


def _notes(request: Problem[CosmaOptions], solved: _Solved) -> tuple[str, ...]:
    chosen = request.options
    notes = [
        _counted(request),
        f"bound and status hold {solved.scope}",
    ]
    if chosen.objective == "peak":
        notes.append(
            "objective and bound are bytes of the extent: on-chip memory up to the highest address"
        )
    if chosen.paper_strict:
        notes.append("the paper's equations: every spill is stored, and away for a step at least")
    return (*notes, *solved.notes)
