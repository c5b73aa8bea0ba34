"""Optimus: which operators run together as a fused group, strip by strip, for least traffic.

After Cai, Wang, Zhang; sections of the paper. `METHOD` is the map: what is decided, by which
strategies, where, and what is proven. Within it, `tile/` says how a group can be cut, `cost/` what
it moves, `search/` and `partition/` which groups there are, `joint/` what stays between them,
`latency/` which plan is quickest, `emit/` where all of it lies; `search/online` is the paper's
section 6, without proof, `baselines/` what it is compared with, `search/constrained` respects
wishes. Beside it: `explain` (what a group is, and why two are not one), and for the budgets of a
slider `partitions_by_budget`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypeAlias

from planners.core.bounds.floors import ProblemFloors
from planners.core.details import LatencyClaim
from planners.core.errors import BadInput, BudgetTooSmall, NoPlanFound
from planners.core.graph import Graph
from planners.core.loops import items_of, pieces_of
from planners.core.machine import Machine
from planners.core.method import Decision
from planners.core.plan import Plan, Status
from planners.core.problem import Problem
from planners.core.program import Program
from planners.core.program_size import PIECE_S, for_search, longest_s, unwritten
from planners.core.progress import MOST_SHARE, Clock, ProgressCallback, TimeOver
from planners.core.weights import COUNTED
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.cached_models import group_model
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import PlacedGroup, short_enough, traffic_of
from planners.fusion.emit.laid import LaidGroup, lay_out
from planners.fusion.emit.program import emit
from planners.fusion.joint.constrained import wished_jointly
from planners.fusion.joint.planner import JointFusion
from planners.fusion.latency.search import quickest
from planners.fusion.options import FusionOptions
from planners.fusion.partition.constraints import KNOWN, require_made
from planners.fusion.partition.cost_model import Partition, require_singles
from planners.fusion.partition.shortest import NEVER
from planners.fusion.search.constrained import wished_partition
from planners.fusion.search.exact import best_partition
from planners.fusion.search.online import online_partition, size_table
from planners.fusion.tile.ways import GroupPlan
from planners.simulator.account import account
from planners.simulator.simulate import makespan_s
from planners.wishes.conflicts import require_consistent
from planners.wishes.language import Wish, broken, parse, require_known

METHOD = (
    Decision(
        "how a group can be cut into tiles",
        "strips of rows, bands of columns, passes over channels",
        ("planners.fusion.tile.ways",),
        "all strips, bands and passes over channels are tried",
    ),
    Decision(
        "what a group moves within a buffer",
        "a staircase: bytes moved against the buffer",
        ("planners.fusion.cost.group",),
        "exact, and bounded before it is worked out",
    ),
    Decision(
        "which operators run together",
        "the cheapest path through what has run, or prices of operators",
        ("planners.fusion.search.exact",),
        "over all partitions without cycles",
        "STRATEGIES",
    ),
    Decision(
        "what stays on chip between groups (`joint`)",
        "the cheapest path through what has run and what is on chip",
        ("planners.fusion.joint.planner",),
        "over all such plans, and of whole tensors",
        "STRATEGIES",
    ),
    Decision(
        "which plan is quickest (`latency`)",
        "plans timed on the scoreboard",
        ("planners.fusion.latency.search",),
        "a bound in seconds; few operators: the quickest of all",
        "STRATEGIES",
    ),
    Decision(
        "addresses, and tiles for a program of a length that can be checked",
        "line buffers at fixed addresses, coarser tiles where it is too long",
        ("planners.fusion.emit.program",),
        "replayed by `check`",
    ),
)
"""The method, in the order in which it decides."""

Request: TypeAlias = Problem[FusionOptions]
SEARCH = "downset search"
SUMS_WORK = 512  # Looks at the clock for groups alone, beside those with tensors between them.
READ_S = 1e-3  # An operator, about, of a program that is written, checked and timed already.
SHORTER = 0.8  # Of the instructions that could be checked in time, for those written instead.
BOUND_ALONE = (
    "objective and bound are bytes of all off-chip traffic; the bound holds over all "
    "partitions into groups, each in the best of the tilings that are tried"
)
BY_LATENCY = "latency: scoreboard"
JOINTLY = "all plans of fused groups, and of whole tensors"
BOUND_JOINTLY = (
    "objective and bound are bytes of all off-chip traffic; the bound holds over all "
    "partitions into such groups with any tensors on chip in between, and over all of COSMA's plans"
)


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Partition a graph into fused groups of least off-chip traffic within a budget (Optimus).

    Options: `objective` (`traffic`, or `latency`: least seconds on the machine's scoreboard, never
    more than the plans of least traffic, by rules, and without fusion that it begins with),
    `online` (the paper's section 6: fast, without proof), `baseline` (what Optimus is compared
    with: `no_fusion`, `fused_layer`, `dnnvm`, `efficient_s`), `bands` (the most bands of
    columns in a tile: 1, as the paper has it, 2, 4, 8, ...), `channel_tile` (the least channels
    computed at once, the paper's T_c), `double_buffer` (use what the budget
    leaves to load ahead), `free_local_layers` (the search takes element-wise, pooling and
    depth-wise operators alone for free, for comparison; what is claimed and moved counts them),
    `joint` (tensors may stay on chip, whole, between groups: what and when is decided together
    with the groups; never worse than groups alone, or than COSMA with parameters), `time_limit`
    in seconds, `wishes` (`fuse A B`, `split A B`, and of what operators make `keep T`, `spill T`:
    the plan is the best of those that respect them). Parameters always count.

    The objective is all off-chip traffic in bytes; the bound holds over all partitions into
    groups of this cost model. Raises `BudgetTooSmall` where an operator does not fit alone,
    `WishesConflict` with the wishes that are in the way, and `BadInput` for options that do not
    exist and for programs of too many instructions.
    """
    chosen = FusionOptions.from_values(options)
    wishes = parse(chosen.wishes, graph)
    chosen = replace(chosen, wishes=tuple(map(str, wishes)))
    request = Problem.start(graph, machine, budget_bytes, chosen, progress)
    request.clock.report("operators alone")
    model = group_model(graph, machine, chosen.values())
    if chosen.objective == "latency":
        return _plan_by_latency(request, model)
    if chosen.joint and not wishes:
        return _kept_between(request, model)
    require_singles(model, graph, budget_bytes)
    if not wishes:
        return plan_partition(request, model, _search(request, model))
    plan = _plan_wished(request, model, wishes)
    if lost := broken(plan, wishes):
        raise NoPlanFound(
            f"fusion: the best plan that was found breaks {', '.join(map(str, lost))}: leave one "
            "of the wishes out, or give it more time"
        )
    return plan


def _plan_wished(request: Request, model: GroupModel, wishes: Sequence[Wish]) -> Plan:
    """The best plan that respects wishes. Raises `WishesConflict` where there is none."""
    graph, budget_bytes = request.graph, request.budget_bytes
    require_known(wishes, KNOWN, "fusion")
    require_made(wishes, graph)
    require_consistent(wishes, graph, budget_bytes)
    if request.options.joint:
        return _plan_jointly(request, model, wishes)
    search = for_search(request.clock, len(graph.operators))
    return plan_partition(request, model, wished_partition(model, wishes, budget_bytes, search))


def plan_partition(request: Request, model: GroupModel, found: Partition) -> Plan:
    """The plan of a partition, each group in its best way within the budget.

    Raises `BadInput` for a group that does not fit.
    """
    graph, budget_bytes, clock = request.graph, request.budget_bytes, request.clock
    ways = [_way(model, mask, budget_bytes) for mask in found.groups]
    clock.report("addresses", found.objective_bytes, found.bound_bytes)
    groups = [(model.group(mask), way) for mask, way in zip(found.groups, ways, strict=True)]
    ahead = request.options.double_buffer
    laid = lay_out(graph, groups, budget_bytes, double_buffer=ahead)
    placed = [PlacedGroup(*pair, 0, budget_bytes) for pair in zip(laid, found.groups, strict=True)]
    laid = short_enough(model, placed, clock, double_buffer=ahead)
    return _finished(request, laid, (traffic_of(laid), found.bound_bytes))


def _plan_by_latency(request: Request, model: GroupModel) -> Plan:
    """The quickest plan found; with `joint` the one of least traffic is among them."""
    graph, chosen, clock, kept = request.graph, request.options, request.clock, None
    budget_bytes = request.budget_bytes
    if chosen.joint:
        part = clock.share(0.5, bounds=False)
        kept = _kept_between(replace(request, clock=part), model)
        model = group_model(graph, model.machine, replace(chosen, joint=False).values())
    require_singles(model, graph, budget_bytes)
    search = for_search(clock, len(graph.operators), READ_S)
    quickest_plan = quickest(model, budget_bytes, search, double_buffer=chosen.double_buffer)
    claim, bound = (
        LatencyClaim(quickest_plan.plan.seconds, quickest_plan.bound_s, quickest_plan.scope),
        quickest_plan.bound_bytes,
    )
    machine = request.sized
    if kept is not None:
        bound = min(bound, kept.claims.bound_bytes)
        least_s = ProblemFloors(graph, machine, COUNTED, machine.parameters).latency_of(bound)
        seconds = makespan_s(graph, kept.program, machine)
        claim = LatencyClaim(min(seconds, claim.seconds), least_s, JOINTLY)
        if seconds < quickest_plan.plan.seconds:
            return _claimed(kept, claim, bound, clock)
    laid, program = quickest_plan.plan.laid, quickest_plan.plan.program
    plan = _finished(request, laid, (traffic_of(laid), bound), program)
    plan = replace(plan, notes=(*plan.notes, quickest_plan.note))
    return _claimed(plan, claim, bound, clock)


def _claimed(plan: Plan, claim: LatencyClaim, bound: int, clock: Clock) -> Plan:
    """The plan with what is claimed of its latency: it is `optimal` where that is proven."""
    status: Status = "feasible" if claim.gap else "optimal"
    claims = replace(plan.claims, status=status, bound_bytes=bound, plan_s=clock.elapsed_s)
    return replace(plan, claims=claims, details=replace(plan.details, latency=claim))


def _kept_between(request: Request, model: GroupModel) -> Plan:
    """The plan of least traffic with tensors on chip between groups."""
    if model.leaves_out_sums:
        return _plan_jointly_or_apart(request, model)
    require_singles(model, request.graph, request.budget_bytes)
    return _plan_jointly(request, model)


def _plan_jointly(request: Request, model: GroupModel, wishes: Sequence[Wish] = ()) -> Plan:
    """The plan of groups with tensors on chip between them, or of what is better without."""
    search = for_search(request.clock, len(request.graph.operators))
    double_buffer = request.options.double_buffer
    joint = wished_jointly(model, wishes, request.budget_bytes, search, double_buffer)
    if joint.cosma is not None:
        return _taken_over(joint.cosma, joint.bound_bytes, request)
    written = _joint_program(request, model, joint)
    if written is None:
        alone = replace(joint.partition, bound_bytes=joint.bound_bytes)
        return plan_partition(request, model, alone)
    joint, program = written
    costs = (joint.objective_bytes, joint.bound_bytes)
    return _finished(request, joint.laid, costs, program)


def _joint_program(
    request: Request, model: GroupModel, joint: JointFusion
) -> tuple[JointFusion, Program] | None:
    """Groups with tensors on chip between them and their program, in coarser ways where it names
    too many pieces to be checked in time; None where there are none, or it takes too long to be
    written, and to be checked in as much time, and groups alone do not."""
    if not joint.placed:
        return None
    clock = request.clock
    least: JointFusion | None = joint
    while least is not None:
        within_s = MOST_SHARE * clock.left_with_grace_s
        if joint.partition.objective_bytes >= NEVER:
            within_s = inf
        try:
            program = emit(request.graph, request.sized, least.laid, request.budget_bytes, within_s)
        except TimeOver:
            break
        check_s, most_s = PIECE_S * pieces_of(items_of(program)), clock.left_with_grace_s
        if check_s <= most_s or within_s == inf:
            return least, program
        share = SHORTER * most_s / check_s
        double_buffer = request.options.double_buffer
        least = least.shorter(model, share, clock, double_buffer=double_buffer)
    clock.end()
    return None


def _plan_jointly_or_apart(request: Request, model: GroupModel) -> Plan:
    """The better of groups with tensors on chip between them and of groups alone, with all sums.

    Where accumulators are wider than what they become, tensors that stay have no room for them.
    """
    graph, budget_bytes, clock = request.graph, request.budget_bytes, request.clock
    apart = replace(request.options, joint=False)
    sums = group_model(graph, request.machine, apart.values())
    require_singles(sums, graph, budget_bytes)
    alone = best_partition(sums, graph, budget_bytes, clock.work(SUMS_WORK, bounds=False))
    try:
        require_singles(model, graph, budget_bytes)
        joint = _plan_jointly(request, model)
    except BudgetTooSmall:
        return plan_partition(request, sums, alone)
    bound = min(joint.claims.bound_bytes, alone.bound_bytes)
    if alone.objective_bytes < joint.claims.objective_bytes:
        return plan_partition(request, sums, replace(alone, bound_bytes=bound))
    claims = replace(joint.claims, bound_bytes=bound, plan_s=clock.elapsed_s)
    if bound < claims.objective_bytes:
        claims = replace(claims, status="feasible")
    return replace(joint, claims=claims)


def _taken_over(plan: Plan, bound: int, request: Request) -> Plan:
    """A plan of COSMA's as one of operators alone: its objective is all traffic."""
    clock = request.clock
    traffic = plan.claims.offchip_bytes
    claims = replace(
        plan.claims,
        status="optimal" if bound == traffic else "feasible",
        objective_bytes=traffic,
        bound_bytes=bound,
        plan_s=clock.elapsed_s,
        solver=f"cosma: {plan.claims.solver}",
    )
    options = request.options.values()
    words = (plan.notes[0], "operators alone and whole tensors, as COSMA has them", BOUND_JOINTLY)
    notes = (*words, *clock.notes(proven=bound == traffic))
    return replace(plan, planner="fusion", claims=claims, options=options, notes=notes)


def _finished(
    request: Request,
    laid: Sequence[LaidGroup],
    costs: tuple[int, int],
    program: Program | None = None,
) -> Plan:
    """The plan of groups with addresses; `costs` are its traffic and the bound on it.

    The program is written unless it is given.
    """
    graph, chosen, (traffic, bound) = request.graph, request.options, costs
    # A bound that takes some operators for free does not bound what is moved.
    bound = 0 if chosen.free_local_layers else min(bound, traffic)
    try:
        within_s = longest_s(chosen.time_limit)
        program = program or emit(graph, request.sized, laid, request.budget_bytes, within_s)
    except TimeOver:
        raise unwritten(chosen.time_limit) from None
    moved = replace(account(graph, program), traffic_bytes=traffic)
    claims = moved.claims(traffic, bound, _solver(chosen), request.clock)
    return request.plan(program, claims, _notes(graph, laid, chosen))


def _search(request: Request, model: GroupModel) -> Partition:
    """The partition by the chosen search; those of a baseline or online are heuristics."""
    graph, budget_bytes, chosen = request.graph, request.budget_bytes, request.options
    clock = for_search(request.clock, len(graph.operators))
    if chosen.baseline:
        return BASELINES[chosen.baseline](model, graph, budget_bytes, clock=clock)
    if chosen.online:
        table = size_table(model, graph, clock.among(2))
        return online_partition(model, graph, budget_bytes, clock, table)
    return best_partition(model, graph, budget_bytes, clock)


def _way(model: GroupModel, mask: int, budget_bytes: int) -> GroupPlan:
    way = model.roomiest(mask, budget_bytes)
    if way is None:
        names = ", ".join(member.op.name for member in model.group(mask).members)
        reason = model.why_not(mask) or f"nothing fits {budget_bytes} bytes"
        raise BadInput(f"the group {names:.200} cannot run: {reason}")
    return way


def _solver(chosen: FusionOptions) -> str:
    if chosen.baseline:
        return chosen.baseline
    if chosen.objective == "latency":
        return BY_LATENCY
    return "online" if chosen.online else "joint" if chosen.joint else SEARCH


def _notes(graph: Graph, groups: Sequence[LaidGroup], chosen: FusionOptions) -> tuple[str, ...]:
    tiles = sum(laid.plan.strips for laid in groups)
    notes = [
        f"activations and parameters, {graph.width_words}, granularity {graph.granularity}",
        f"{len(graph.operators)} operators in {len(groups)} fused groups, {tiles} tiles",
        BOUND_JOINTLY if chosen.joint else BOUND_ALONE,
    ]
    if stays := {tensor for laid in groups for tensor in laid.stays.at}:
        notes.append(f"{len(stays)} tensors stay on chip, whole, from group to group")
    if chosen.free_local_layers:
        notes.append("the search took local layers alone for free; the claims count them")
    return tuple(notes)
