"""The four methods in one plan: what runs in a pool, what as fused groups, how parameters stream.

The whole method, in the order in which it decides:

1. `pool`: blocks of operators between tensors that are alone on chip run in one circular pool of
   the budget's size, outputs over dying inputs (vMCU): whole, by rows, or several operators
   together by rows, whichever is quickest and leaves room for the parameters read meanwhile.
2. `stretches`: a block that does not fit so runs as fused groups between host and host (Optimus);
   which block runs how is a shortest path. `part` makes a stretch a network of its own,
   `consecutive` makes one program of those of all stretches.
3. `streamed`: the pool's parameters come layer by layer (Demand Layering), in slices of output
   channels (`slices`) where they are large, each to bytes that are free early, and as early as the
   transfers before it allow. Several sizes of slices are tried (`build`).
4. With `others`, the four planners are asked for the rest of the time; the best plan is returned.

What it claims: bytes are bounded by the compulsory ones, seconds and joules by the floor of the
problem (`planners.core.floors`) and by loads that come late (`planners.core.late_loads`), whatever
the method. Between these and the plan nothing is proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.constraints.language import refused
from planners.core.details import Details, LatencyClaim
from planners.core.details.joined import FUSED, POOL, JoinedStretch
from planners.core.errors import BadInput, BudgetTooSmall, NoPlanFound, SpillwayError
from planners.core.floors import ProblemFloors
from planners.core.graph import Graph
from planners.core.machine import Machine, with_scratchpad
from planners.core.plan import Plan
from planners.core.progress import Clock, ProgressCallback
from planners.core.registry import JOINED
from planners.core.services import BEST_OF_PLANNERS
from planners.core.units import format_bytes, format_quantity
from planners.core.weights import COUNTED, IN_PLACE, instead_of
from planners.joined.build import JoinedBuilder, JoinedProgram
from planners.joined.options import JoinedOptions
from planners.joined.stretches import Stretch
from planners.simulator.account import account
from planners.simulator.aim import Aim
from planners.simulator.simulate import simulate

OWN_SHARE = 0.5
"""Of the time, for joined programs, where the other planners are asked too."""
SOLVER = "pool, groups, streams"
SCOPE = "all plans of the problem"
HONOURED = (COUNTED, IN_PLACE)
GROUPS_NEED = (
    "fused groups need that, and no block runs in a pool of less that was tried; how much joined "
    "needs at least is not known"
)
OTHERS_NEED = "the other planners need that; joined may do with less, how much is not known"


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan and what it is worth by the objective."""

    plan: Plan
    value: float
    made: JoinedProgram


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
    `time_limit` in seconds. Parameters count, or are read in place where `weights` says so. Raises
    `BudgetTooSmall` where no planner that is asked has a plan in the budget, `BadInput` for several
    memories, and `NoPlanFound` without `others` where none was found in the time.
    """
    chosen = JoinedOptions.of(refused(options, graph, JOINED))
    graph.assert_whole_bytes(JOINED)
    if machine.slower:
        names = " and ".join(level.name for level in machine.banks)
        raise BadInput(f"joined plans in one memory, not in {names}: use planner='cosma'")
    weights = instead_of(chosen.weights, HONOURED)
    clock = Clock(chosen.time_limit, progress)
    aim = Aim(chosen.objective, ProblemFloors(graph, machine, weights), budget_bytes)
    part = clock.share(OWN_SHARE if chosen.others else 1.0)
    builder = JoinedBuilder(
        graph,
        with_scratchpad(machine, budget_bytes),
        budget_bytes,
        chosen.objective,
        part,
        in_place=aim.floors.weights == IN_PLACE,
    )
    own = _best(builder, aim, chosen)
    if not chosen.others:
        if own is None:
            raise _none(builder)
        return _claimed(own.plan, clock)
    if own is not None and not aim.better(aim.floor, own.value):
        return _claimed(own.plan, clock)
    return _better(graph, machine, budget_bytes, own, aim, chosen, clock)


def _best(builder: JoinedBuilder, aim: Aim, chosen: JoinedOptions) -> Judged | None:
    """The best of the joined programs."""
    best: Judged | None = None
    clock = builder.clock
    for made in builder.programs():
        found = judged(builder, made, aim, chosen)
        if best is None or aim.better(found.value, best.value):
            best = found
        clock.report(
            "joined programs",
            best.plan.claims.offchip_bytes,
            best.plan.claims.bound_bytes,
        )
        if clock.expired() or not aim.better(aim.floor, best.value):
            break
    return best


def _none(builder: JoinedBuilder) -> SpillwayError:
    """Why there is no plan where the other planners are not asked."""
    if builder.too_small is None:
        return NoPlanFound(
            "joined: no way to run this network was found within the budget and the time: give it "
            "more, or ask the other planners too (others)"
        )
    error = builder.too_small
    what = (error.need_bytes, error.have_bytes, error.operator, error.tensors)
    return BudgetTooSmall(*what, remedy=GROUPS_NEED)


def judged(builder: JoinedBuilder, made: JoinedProgram, aim: Aim, chosen: JoinedOptions) -> Judged:
    """A plan of a program, replayed and timed."""
    graph, clock = builder.graph, builder.clock
    moved = account(graph, made.program)
    floor = min(aim.floors.compulsory_bytes, moved.traffic_bytes)
    proven = chosen.objective == "traffic"
    claims = moved.claims(moved.traffic_bytes, floor, SOLVER, clock.part(clock.left_s), proven)
    told = tuple(_told(graph, stretch) for stretch in made.stretches)
    plan = Plan(
        planner=JOINED,
        graph=graph,
        machine=builder.machine,
        budget_bytes=builder.budget_bytes,
        program=made.program,
        claims=claims,
        options=chosen.values(),
        notes=_notes(graph, made, told),
        details=Details(stretches=told),
    )
    trace = simulate(plan)
    if chosen.objective == "latency":
        claim = LatencyClaim(trace.makespan_s, min(aim.floor, trace.makespan_s), SCOPE)
        plan = replace(plan, details=replace(plan.details, latency=claim))
        if not claim.gap:
            plan = replace(plan, claims=replace(claims, status="optimal"))
    return Judged(plan, aim.value(plan, trace), made)


def _told(graph: Graph, stretch: Stretch) -> JoinedStretch:
    """How a stretch runs, and why so."""
    ops = graph.operators
    first, last = ops[stretch.first].name, ops[stretch.stop - 1].name
    if not stretch.fused:
        why = "a way in the pool was found within the budget: its maps stay on chip"
        return JoinedStretch(first, last, POOL, why)
    blocks = f"{stretch.blocks} block{'s' if stretch.blocks != 1 else ''}"
    if stretch.unfit == stretch.blocks:
        why = f"no way in the pool was found within the budget ({blocks})"
    elif stretch.unfit:
        why = (
            f"for {stretch.unfit} of {blocks} no way in the pool was found within the budget, and "
            "what lies between would cross twice more"
        )
    else:
        why = f"estimated quicker than in the pool ({blocks})"
    return JoinedStretch(first, last, FUSED, why)


def _notes(graph: Graph, made: JoinedProgram, told: Sequence[JoinedStretch]) -> tuple[str, ...]:
    """What runs how."""
    runs = (
        f"{s.how}: {s.first} to {s.last}" if s.first != s.last else f"{s.how}: {s.first}"
        for s in told
    )
    streamed = f"the pool's parameters stream in slices of {format_bytes(made.slice_bytes)} at most"
    pooled = any(s.how == POOL for s in told)
    return (
        f"parameters {'counted' if made.slice_bytes else 'read in place'}, {graph.width_words}, "
        f"granularity {graph.granularity}",
        f"joined of {len(told)} stretch{'es' if len(told) != 1 else ''} ({'; '.join(runs)})",
        *([streamed] if made.slice_bytes and pooled else []),
    )


def _claimed(plan: Plan, clock: Clock) -> Plan:
    """The plan with the seconds that it took, and whether a clock decided."""
    claims = replace(plan.claims, plan_s=clock.elapsed_s)
    notes = (*plan.notes, *clock.notes(proven=claims.status == "optimal"))
    return replace(plan, claims=claims, notes=notes)


def _better(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    own: Judged | None,
    aim: Aim,
    chosen: JoinedOptions,
    clock: Clock,
) -> Plan:
    """The better of the joined plan and of the best of the other planners."""
    try:
        theirs = BEST_OF_PLANNERS.function()(
            graph, machine, budget_bytes, chosen.objective, aim.floors.weights, clock, but=(JOINED,)
        )
    except SpillwayError as error:
        if own is not None:
            return _claimed(own.plan, clock)
        if type(error) is not BudgetTooSmall:
            raise
        what = (error.need_bytes, error.have_bytes, error.operator, error.tensors)
        raise BudgetTooSmall(*what, remedy=OTHERS_NEED) from error
    value = aim.value(theirs, simulate(theirs) if aim.simulated else None)
    if own is not None and not aim.better(value, own.value):
        told = f"{theirs.planner}, the best of the other planners, has {_quantity(value, aim)}"
        return _claimed(replace(own.plan, notes=(*own.plan.notes, told)), clock)
    if own is not None:
        told = f"joined: its own plan has {_quantity(own.value, aim)}, this one less"
    else:
        told = "joined: no way of its own to run this network was found within budget and time"
    return replace(theirs, notes=(*theirs.notes, told))


def _quantity(value: float, aim: Aim) -> str:
    return f"{format_quantity(value, aim.unit)} of {aim.objective}"
