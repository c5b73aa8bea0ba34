"""The four methods in one plan: what runs in a pool, what as fused groups, how parameters stream.

`METHOD` is the map: what is decided, how, and where. `STRATEGIES` are ways to make a program, in
the order in which they are asked, in rounds of doubled work (`planners.core.portfolio`).

What is proven: bytes are bounded by the compulsory ones, seconds and joules by the floor of the
problem (`planners.core.bounds.floors`) and by loads that come late
(`planners.core.bounds.late_loads`), whatever the method. Between these and the plan nothing is
proven.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.core.bounds.floors import ProblemFloors
from planners.core.details import BestOfForms
from planners.core.errors import BudgetTooSmall, NoPlanFound, SpillwayError, refusal
from planners.core.graph import Graph
from planners.core.machine import Machine, with_scratchpad
from planners.core.method import Decision
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.portfolio import Portfolio, Strategy
from planners.core.problem import Problem
from planners.core.progress import GRACE_S, MOST_SHARE, Clock, ProgressCallback
from planners.core.registry import COSMA, FUSION, JOINED
from planners.core.registry import planner as find_planner
from planners.core.services import BEST_OF_PLANNERS
from planners.core.units import format_quantity
from planners.core.weights import COUNTED, IN_PLACE, instead_of
from planners.joined.build import JoinedBuilder
from planners.joined.evaluator import Judged
from planners.joined.minimum_working_set import one_element
from planners.joined.options import JoinedOptions
from planners.joined.part_search import FIRST_WORK
from planners.joined.slow_memory.planner import with_slower
from planners.joined.strategies import (
    JoinedSearch,
    another_order,
    better_ways_of_blocks,
    breaks_wishes,
    every_sequence,
    fused_alone,
    in_slices,
    may_be_improved,
)
from planners.joined.warm_start import OtherPlan, begun
from planners.joined.wishes import KNOWN, unmet
from planners.simulator.simulate import simulate
from planners.wishes.conflicts import require_consistent
from planners.wishes.language import parse, require_known

ROOM = "planners.joined."
METHOD = (
    Decision(
        "which blocks run in one circular pool, outputs over dying inputs (vMCU)",
        "all splits of a block by rows, with room for the parameters read meanwhile",
        (ROOM + "pool",),
    ),
    Decision(
        "which blocks run in the pool, as fused groups, or as whole tensors with spills",
        "a shortest path by estimates; of small networks every sequence",
        (ROOM + "segments",),
    ),
    Decision(
        "which operators are a fused group (Optimus), and which run again or box by box",
        "fusion, for each part of the network that is not isomorphic to another",
        (ROOM + "fused", ROOM + "recompute", ROOM + "tiled_operator", ROOM + "isomorphic"),
    ),
    Decision("which whole tensors are spilled", "COSMA, for each part", (ROOM + "spilled",)),
    Decision("the order within blocks", "the least peak", (ROOM + "subgraph",)),
    Decision(
        "when and where parameters of the pool come (Demand Layering)",
        "layer by layer, in slices, to bytes that are free early",
        (ROOM + "streamed", ROOM + "free_intervals"),
    ),
    Decision(
        "which of these programs is best",
        "each is written, replayed and timed",
        (ROOM + "build", ROOM + "concatenate", ROOM + "evaluator"),
        "where it reaches the floor of the problem",
    ),
    Decision(
        "which blocks run another way after all",
        "exchanges, as long as the plan gets better by the scoreboard",
        (ROOM + "local_search",),
        "that no single exchange is better, where it ended by itself",
    ),
    Decision(
        "what slower memories on chip are for",
        "what comes several times, or can come ahead of its time",
        (ROOM + "slow_memory.planner",),
    ),
    Decision(
        "whether the plan of another planner, or one given, is better",
        "the objective's value",
        (ROOM + "warm_start", ROOM + "planner"),
        "that it is no worse than these",
    ),
)
"""What is decided, in this order."""
SLICED = (
    "blocks in the pool, else as fused groups or with spills: smaller slices of parameters leave "
    "more room in the pool, in larger ones an array makes whole steps"
)
STRATEGIES: tuple[Strategy[JoinedSearch, Judged], ...] = (
    Strategy("slices of the first size", SLICED, in_slices(0)),
    Strategy(
        "ways that are wished",
        "a plan that breaks wishes is none, whatever it is worth",
        better_ways_of_blocks,
        breaks_wishes,
    ),
    Strategy(
        "fused groups alone",
        "where they do most of the work, what crosses between them and the pool may cost more "
        "than the pool saves",
        fused_alone,
    ),
    Strategy("slices of the second size", SLICED, in_slices(1)),
    Strategy("slices of the third size", SLICED, in_slices(2)),
    Strategy("slices of the last size", SLICED, in_slices(3)),
    Strategy(
        "every sequence of ways",
        "of a small network all can be made: no estimate need choose among them",
        every_sequence,
    ),
    Strategy(
        "another order",
        "blocks that need less at once in another order than the model's may fit the pool",
        another_order,
    ),
    Strategy(
        "other ways of blocks",
        "which block runs how was chosen by estimates: the scoreboard decides on each exchange",
        better_ways_of_blocks,
        may_be_improved,
    ),
)
"""How joined programs are made; `planners.core.portfolio` asks them in rounds of doubled work."""
HONOURED = (COUNTED, IN_PLACE)
GROUPS_NEED = (
    "fused groups need that, and no block runs in a pool of less that was tried; how much joined "
    "needs at least is not known"
)
OTHERS_NEED = "the other planners need that; joined may do with less, how much is not known"


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """The best plan found that joins overlap, fused groups and streamed parameters.

    Options: `objective` (`latency` in seconds on the machine's scoreboard, `traffic` off chip in
    bytes, `energy` in joules), `others` (the other planners are asked too, and the best plan of all
    is returned, so that it is never worse than what they find in their share of the time),
    `improve` (in the time that is left blocks run other ways as long as that gives a better plan),
    `fallback` (without `others`: where the time is too short for blocks in the pool, all of the
    network runs as fused groups),
    `wishes` (`keep T`, `spill T`, `fuse A B`, `split A B`: the best plan found that keeps to them;
    the others are not asked), `begin` (files of plans made before, or folders of plans that a sweep
    kept: what is returned is never worse than these), `time_limit` in seconds. Parameters count, or
    are read in place where `weights` says so. Raises `BudgetTooSmall` where no planner that is
    asked has a plan in the budget, `BadInput` for plans to begin with that are wrong or of another
    problem, `WishesConflict` for wishes that contradict each other, and `NoPlanFound` where none
    was found that keeps to them, or, without `others`, in the time.
    """
    chosen = JoinedOptions.from_values(options)
    wishes = parse(chosen.wishes, graph)
    chosen = replace(chosen, wishes=tuple(map(str, wishes)))
    require_known(wishes, KNOWN, JOINED)
    require_consistent(wishes, graph, budget_bytes)
    graph.assert_whole_bytes(JOINED)
    weights = instead_of(chosen.weights, HONOURED)
    request = Problem.start(graph, machine, budget_bytes, chosen, progress)
    clock = request.clock
    aim = Objective(chosen.objective, ProblemFloors(graph, machine, weights), budget_bytes)
    others = chosen.others and not wishes
    in_place = aim.floors.weights == IN_PLACE
    hopeless = None if machine.slower else one_element(graph, budget_bytes, in_place=in_place)
    if hopeless is not None and not others:
        raise _with_need(hopeless, request)
    size = min(budget_bytes, machine.scratchpad_bytes) if machine.slower else budget_bytes
    given = begun(chosen.begin, aim, size, wishes, clock)
    if given is not None and _met(given.value, aim):
        return given.plan
    # The others are as likely to be best; what slower memories are used for begins with a plan.
    part = clock.among(1 + others).share(MOST_SHARE if machine.slower else 1.0)
    builder = JoinedBuilder(
        graph,
        replace(with_scratchpad(machine, size), slower=()),
        size,
        chosen.objective,
        part,
        in_place=in_place,
        wishes=wishes,
        given=given.plan if given and given.fused and weights == COUNTED else None,
    )
    search = JoinedSearch(builder, aim, chosen, alone=chosen.fallback and not others)
    joined = None if hopeless else _best(search)  # Others say what they need.
    if joined is not None and joined.lost:
        if given is None:
            raise unmet(joined.lost)
        joined = None
    if joined is not None and machine.slower:
        joined = with_slower(joined, with_scratchpad(machine, size), aim, wishes, clock)
    other, why_none = given, None
    if others and not (joined is not None and _met(joined.value, aim)):
        try:
            bound = hopeless.need_bytes if hopeless else 0
            other_plan = _best_of_others(request, aim, bound)
            if other is None or aim.better(other_plan.value, other.value):
                other = other_plan
        except SpillwayError as error:
            why_none = error
    if joined is None and other is None:
        try:
            raise why_none or _none(builder)
        finally:
            del why_none  # holds this frame, which would hold it
    return _better(joined, other, aim, clock)


def _best(search: JoinedSearch) -> Judged | None:
    """The best of the joined programs that the strategies find."""
    judge = search.judge(search.builder)
    portfolio = Portfolio(STRATEGIES, judge.worth, judge.value_is_better, FIRST_WORK)
    best = portfolio.solve(search, search.builder.clock).best
    if best is not None and search.local is not None and search.local.best is best:
        return search.local.explained()
    return best


def _with_need(error: BudgetTooSmall, request: Problem[JoinedOptions]) -> BudgetTooSmall:
    """The same with bytes that have a plan, those of fused groups: what one element reads has
    none."""
    budget_bytes, options = request.budget_bytes, {"time_limit": GRACE_S}
    try:
        find_planner(FUSION).plan(request.graph, request.machine, budget_bytes, options, None)
    except BudgetTooSmall as other:
        need = max(error.need_bytes, other.need_bytes)
        remedy = f"{error.remedy}; fused groups have a plan in {need}"
        return BudgetTooSmall(need, budget_bytes, error.operator, error.tensors, remedy)
    return error


def _none(builder: JoinedBuilder) -> SpillwayError:
    """Why there is no plan where the other planners are not asked."""
    if builder.fused.conflict is not None:
        return NoPlanFound(
            "joined: no plan was found that keeps to the wishes; as fused groups there is none: "
            f"{builder.fused.conflict}"
        )
    if builder.fused.too_small is None:
        return NoPlanFound(
            "joined: no way to run this network was found within the budget and the time: give it "
            "more, or ask the other planners too (others)"
        )
    error = builder.fused.too_small
    return refusal(
        error.need_bytes, 0, error.have_bytes, error.operator, error.tensors, GROUPS_NEED
    )


def _claimed(plan: Plan, clock: Clock) -> Plan:
    """The plan with the seconds that it took, and whether a clock decided."""
    claims = replace(plan.claims, plan_s=clock.elapsed_s)
    notes = (*plan.notes, *clock.notes(proven=claims.status == "optimal"))
    return replace(plan, claims=claims, notes=notes)


def _best_of_others(request: Problem[JoinedOptions], aim: Objective, bound_bytes: int) -> OtherPlan:
    """The best plan of the other planners, in the time that is left. Raises `SpillwayError`.

    No plan of any planner needs less than `bound_bytes`.
    """
    weights, machine, clock = aim.floors.weights, request.machine, request.clock
    problem = request.graph, machine, request.budget_bytes
    try:
        if machine.slower:  # Only one of them plans in several memories.
            options = {"weights": weights, "time_limit": clock.option_s}
            plan = find_planner(COSMA).plan(*problem, options, clock.within)
        else:
            plan = BEST_OF_PLANNERS.function()(*problem, aim.name, weights, clock, but=(JOINED,))
    except SpillwayError as error:
        if type(error) is not BudgetTooSmall:
            raise
        what = (error.have_bytes, error.operator, error.tensors)
        raise refusal(error.need_bytes, bound_bytes, *what, OTHERS_NEED) from error
    trace = simulate(plan) if aim.simulated else None
    value = aim.value(plan, trace)
    if machine.slower:  # What it claims is of its own aim.
        best = BestOfForms(aim.name, value, aim.floor, _met(value, aim), forms=2)
        plan = replace(plan, details=replace(plan.details, best=best))
    return OtherPlan(plan, value, f"{plan.planner}, the best of the other planners,")


def _better(joined: Judged | None, other: OtherPlan | None, aim: Objective, clock: Clock) -> Plan:
    """The better of joined's own plan and of another; at least one is there."""
    if joined is not None and (other is None or not aim.better(other.value, joined.value)):
        notes = () if other is None else (f"{other.words} has {_quantity(other.value, aim)}",)
        return _claimed(replace(joined.plan, notes=(*joined.plan.notes, *notes)), clock)
    assert other is not None
    if joined is not None:
        notes = (f"joined: its own plan has {_quantity(joined.value, aim)}, this one less",)
    else:
        notes = ("joined: no way of its own to run this network was found within budget and time",)
    return replace(other.plan, notes=(*other.plan.notes, *notes))


def _met(value: float, aim: Objective) -> bool:
    """Whether no plan of the problem is better."""
    return not aim.better(aim.floor, value)


def _quantity(value: float, aim: Objective) -> str:
    return f"{format_quantity(value, aim.unit)} of {aim.name}"
