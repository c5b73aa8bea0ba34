"""vMCU: the least RAM of a network in a circular pool, outputs over inputs that die.

Sections of the vMCU paper. `METHOD` is the map: what is decided, by what, where, and what is
proven. Within it, `model/` says where segments of tensors lie and what overlaps, `kernels/` what
can run as one kernel, `search/` which blocks and orders there are, `place/` and `order/` where they
lie and when they run, `emit/` the instructions, run by run. Beside it: `cost/` (work, latency and
energy on a microcontroller), `baselines/` (other frameworks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.core.details import Details
from planners.core.details.pool import CircularPool, PoolLayout, RamPoint
from planners.core.errors import refusal
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.method import Decision
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.program_size import most_in_time, refuse_too_long
from planners.core.progress import GRACE_S, MOST_SHARE, Clock, ProgressCallback
from planners.core.weights import LEFT_OUT
from planners.overlap.cost.work import work
from planners.overlap.emit.count import effort, instructions, operands
from planners.overlap.emit.program import emit
from planners.overlap.kernels.candidates import alone, ends
from planners.overlap.kernels.levels import Cost
from planners.overlap.model.distance import MOST_SEGMENTS
from planners.overlap.model.segments import Segments
from planners.overlap.model.separable import streams
from planners.overlap.options import OverlapOptions
from planners.overlap.order.orders import all_distances
from planners.overlap.place.packing import packing_of
from planners.overlap.place.padding import placed_anew
from planners.overlap.search.chain import turned
from planners.overlap.search.dag import LaidOut, best_layout
from planners.overlap.search.front import FrontPoint, all_ways, front, is_chain
from planners.overlap.search.quickest import least_alone, quick_layout
from planners.simulator.account import account
from planners.wishes.language import refused

ROOM = "planners.overlap."
METHOD = (
    Decision(
        "how far an output may lie over an input that dies (eq. 1)",
        "what each segment of an output reads, for segments of pixels, rows or whole tensors",
        (ROOM + "model.distance", ROOM + "model.dependences", ROOM + "model.segments"),
        "no smaller distance is safe",
    ),
    Decision(
        "what can run as one kernel, with which workspace and repeated work (section 5.2)",
        "all runs of operators that stream rows, bottlenecks, and each operator alone",
        (ROOM + "kernels.candidates", ROOM + "kernels.bottleneck", ROOM + "kernels.row_lines"),
    ),
    Decision(
        "which operators of a chain are a block, and which kernels it has",
        "the front of RAM against repeated work, block by block",
        (ROOM + "search.front", ROOM + "search.chain", ROOM + "place.packing"),
        "no split into these kernels that repeats no more work needs less RAM",
    ),
    Decision(
        "the order of a network that is no chain, operator by operator",
        "orders of least peak, each placed in parts",
        (ROOM + "search.dag", ROOM + "order.orders", ROOM + "place.schedule_parts"),
    ),
    Decision(
        "how coarse segments are (`latency`)",
        "the coarsest that fit: whole tensors, rows, rows of several operators, pixels",
        (ROOM + "search.quickest", ROOM + "search.coarse", ROOM + "search.coarse_blocks"),
    ),
    Decision(
        "the layout with the paper's segments (`min`, `gcd`)",
        "padding to whole segments",
        (ROOM + "place.padding",),
    ),
    Decision(
        "the instructions",
        "run by run, equal rows as loops; a saved layout makes its program again",
        (ROOM + "emit.program", ROOM + "emit.saved_layout"),
        "replayed by `check`",
    ),
)
"""What is decided, in this order."""
MOST_OPERANDS = 200_000
LITTLE_MORE = (1.0, 1.01, 1.05)  # Times the least RAM, where a program in that takes too long.
REMEDY = "give it a larger budget and objective latency, which makes rows at once"
NOTE_BOUND = (
    "objective and bound are bytes of RAM; the bound holds over all splits of the network's blocks "
    "into these runs that repeat no more work"
)
NOTE_QUICK = (
    "objective and bound are bytes of RAM; the bound holds for these runs with these segments in "
    "this order; that no plan within the budget is quicker is not proven"
)


@dataclass(frozen=True, slots=True)
class LayoutOffer:
    """A possible layout: its RAM, a bound on it, the MACs that are computed again.

    `binding` names the operators whose block needs all of the RAM. The bound holds over all
    layouts of this kind that repeat no more work.
    """

    ram_bytes: int
    bound_bytes: int
    extra_macs: int
    binding: tuple[str, ...]
    layout: Callable[[], PoolLayout]

    @property
    def point(self) -> RamPoint:
        return RamPoint(self.ram_bytes, self.extra_macs, self.binding)


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Run a network in a circular pool of RAM, outputs over dying inputs (vMCU).

    Options: `objective` (`macs`: within the budget the least work that is done again, then the
    least RAM; `ram`: the least RAM; `latency`: the coarsest segments that fit, see `quickest`),
    `fuse` (operators may run together; without, each runs alone),
    `segment` (what one modulo operation is for: `pixel`, or by the paper's rules `min` or
    `gcd`, with tensors padded and distances in whole segments, see `padding`), `weights`
    (left out, or else read in place from flash), `time_limit` in seconds.

    A network whose blocks are small gets its exact front of RAM against repeated work; any other
    runs operator by operator in COSMA's orders. Claims: `objective_bytes` is the RAM. Raises
    `BudgetTooSmall` with the least RAM found and the block that binds, `NoPlanFound` where no less
    is not proven, `BadInput` for options that do not exist.
    """
    chosen = OverlapOptions.from_values(refused(options, graph, "overlap"))
    graph.assert_whole_bytes("overlap")
    request = Problem.start(graph, machine, budget_bytes, chosen, progress)
    clock = request.clock
    if chosen.objective == "latency":
        offers = _quick(request)
    else:
        offers = all_offers(graph, clock, chosen.fuse, chosen.segment)
    offer = _best_offer(request, offers)
    clock.report("instructions", offer.ram_bytes, offer.bound_bytes)
    layout = offer.layout()
    if effort(graph, layout) > most_in_time(clock) and chosen.objective != "latency":
        coarser = _coarser(request, offer)
        layout = coarser.layout()
        if coarser is not offer:  # A point of the front that is told, too.
            offers = sorted([*offers, coarser], key=lambda o: (o.extra_macs, -o.ram_bytes))
    refuse_too_long(instructions(graph, layout), REMEDY)
    return finished(request, layout, offer.bound_bytes, offers)


def _coarser(request: Problem[OverlapOptions], offer: LayoutOffer) -> LayoutOffer:
    """An offer of fewer instructions that repeats no more work, or the same if none is found.

    Where the least RAM is asked for, in a little more of it.
    """
    graph, budget_bytes, clock = request.graph, request.budget_bytes, request.clock
    clock.end()
    search_clock = clock.at_least(GRACE_S)
    within = [budget_bytes]
    if request.options.objective == "ram":
        within = [min(budget_bytes, int(more * offer.ram_bytes)) for more in LITTLE_MORE]
    for limit in within:
        (other, *_) = _quick(replace(request, budget_bytes=limit, clock=search_clock))
        efforts = [effort(graph, each.layout()) for each in (offer, other)]
        fits = other.ram_bytes <= limit and other.extra_macs <= offer.extra_macs
        if fits and efforts[1] < efforts[0]:
            return other
    return offer


def _quick(request: Problem[OverlapOptions]) -> list[LayoutOffer]:
    """The layout that is quickest on the machine, or the front where only that may have one."""
    graph, fuse = request.graph, request.options.fuse
    cost = Cost(graph, request.machine, request.options.weights != LEFT_OUT)
    quick = quick_layout(
        graph, request.budget_bytes, cost, request.clock, fuse, lambda: tractable_distances(graph)
    )
    if quick is None:
        return all_offers(graph, request.clock, fuse)
    layout = quick.layout
    least = quick.bound_bytes
    return [LayoutOffer(layout.pool_bytes, least, quick.extra_macs, quick.binding, lambda: layout)]


def all_offers(
    graph: Graph, clock: Clock, fuse: bool = True, segment: str = "pixel"
) -> list[LayoutOffer]:
    """The front of RAM against repeated work, the layout with least of the latter first.

    Where segments are not pixels it is that of the layouts without padding, padded and placed.
    """
    distances = tractable_distances(graph)
    points = front(graph, all_ways(graph, clock.share(MOST_SHARE), fuse)) if is_chain(graph) else []
    offers = [of_point(graph, point) for point in points]
    joint = best_layout(graph, clock, distances)
    apart = _of_joint(graph, joint)
    if not offers or apart.ram_bytes < offers[0].ram_bytes:
        offers = [apart, *(offer for offer in offers if offer.ram_bytes < apart.ram_bytes)]
    if segment == "pixel":
        return offers
    return _falling(
        [
            # Padding does not help: no less RAM than without, however the network is split.
            replace(
                _padded(graph, offer, segment, clock, distances),
                bound_bytes=min(o.bound_bytes for o in offers if o.extra_macs <= offer.extra_macs),
            )
            for offer in (apart, *offers)
        ]
    )


def _padded(
    graph: Graph,
    offer: LayoutOffer,
    segment: str,
    clock: Clock,
    may_share: Mapping[tuple[str, str], int],
) -> LayoutOffer:
    """The same runs with segments by a rule."""
    layout = placed_anew(graph, offer.layout(), segment, clock, may_share)
    return replace(offer, ram_bytes=layout.pool_bytes, layout=lambda: layout)


def _falling(offers: Sequence[LayoutOffer]) -> list[LayoutOffer]:
    """Those that no other beats in both, the one with least repeated work first."""
    falling: list[LayoutOffer] = []
    for offer in sorted(offers, key=lambda offer: (offer.extra_macs, offer.ram_bytes)):
        if not falling or offer.ram_bytes < falling[-1].ram_bytes:
            falling.append(offer)
    return falling


def tractable_distances(graph: Graph) -> dict[tuple[str, str], int]:
    """All distances except of operators whose outputs read so much that a program gets too large.

    Where output and input lie apart, such an operator is one instruction.
    """
    distances = all_distances(graph)
    for op in graph.operators:
        shared = [name for name in op.inputs if (op.outputs[0], name) in distances]
        if shared and not streams(graph, op) and _too_many(graph, op):
            for name in shared:
                del distances[op.outputs[0], name]
    return distances


def _too_many(graph: Graph, op: Operator) -> bool:
    many = Segments(graph, op.outputs[0]).count > MOST_SEGMENTS
    return many or operands(graph, op) > MOST_OPERANDS


def of_point(graph: Graph, point: FrontPoint) -> LayoutOffer:
    binding = point.binding
    names = tuple(op.name for op in graph.operators[binding.first : binding.stop])
    return LayoutOffer(
        point.ram_bytes,
        point.bound_bytes,
        point.extra_macs,
        names,
        lambda: turned(graph, point.ways, point.ram_bytes),
    )


def _of_joint(graph: Graph, joint: LaidOut) -> LayoutOffer:
    """Operators alone: the one that needs most in this order binds."""
    packing = packing_of(graph, [alone(graph, p) for p in joint.schedule], graph.outputs)
    most = max(range(len(joint.schedule)), key=packing.need)
    name = graph.operators[joint.schedule[most]].name
    pool = joint.layout.pool_bytes
    return LayoutOffer(pool, min(joint.bound_bytes, pool), 0, (name,), lambda: joint.layout)


def finished(
    request: Problem[OverlapOptions],
    layout: PoolLayout,
    bound_bytes: int,
    offers: Sequence[LayoutOffer],
) -> Plan:
    """The plan of a layout."""
    graph, chosen = request.graph, request.options
    program = emit(graph, request.sized, layout, chosen.weights != LEFT_OUT)
    quick = chosen.objective == "latency"
    claims = account(graph, program).claims(
        layout.pool_bytes, bound_bytes, "segment overlap", request.clock, proven=not quick
    )
    pool = CircularPool(layout, tuple(o.point for o in offers), work(graph, layout).modulos)
    return request.plan(program, claims, _notes(graph, layout, chosen), Details(pool))


def _best_offer(request: Problem[OverlapOptions], offers: Sequence[LayoutOffer]) -> LayoutOffer:
    """The offer that is best for the objective; offers come with falling RAM."""
    graph, budget_bytes, chosen = request.graph, request.budget_bytes, request.options
    least = offers[-1]
    if least.ram_bytes > budget_bytes:
        read, written = ends(graph, [graph.index[name] for name in least.binding])
        tensors = (*read, *written)  # Those inside of a fused block are never whole.
        bound = min(offer.bound_bytes for offer in offers)
        bound = max(bound, least_alone(graph, budget_bytes, chosen.fuse))
        bound_words = "" if bound == least.ram_bytes else f" found, and it needs at least {bound}"
        remedy = f"the least RAM by overlap is {least.ram_bytes} bytes{bound_words}"
        name = least.binding[0]
        raise refusal(least.ram_bytes, bound, budget_bytes, name, tensors, remedy)
    if chosen.objective == "ram":
        return least
    return next(offer for offer in offers if offer.ram_bytes <= budget_bytes)


def _notes(graph: Graph, layout: PoolLayout, chosen: OverlapOptions) -> tuple[str, ...]:
    joined = sum(len(run.operators) > 1 for run in layout.runs)
    left_out = chosen.weights == LEFT_OUT
    counted = "activations only" if left_out else "parameters read in place from flash"
    return (
        f"{counted}, {graph.width_words}, granularity {graph.granularity}",
        f"{len(graph.operators)} operators in {len(layout.runs)} kernels, {joined} of them fused, "
        f"in a circular pool of {layout.pool_bytes} bytes",
        _segment_note(graph, layout, chosen.segment),
        NOTE_QUICK if chosen.objective == "latency" else NOTE_BOUND,
    )


def _segment_note(graph: Graph, layout: PoolLayout, rule: str) -> str:
    modulos = f"{work(graph, layout).modulos:,} modulo operations"
    if in_rows := sum(run.rows > 0 for run in layout.runs):
        return f"segments: {in_rows} kernels make rows or all at once, the others pixels, {modulos}"
    if rule == "pixel":
        return f"segments: whole pixels, {modulos}"
    return (
        f"segments: {rule} of the channels, {len(layout.pitches)} tensors padded, {modulos}; "
        "runs and bound are those of pixels without padding"
    )
