"""Any network in a circular pool: its operators in COSMA's orders, outputs over dying inputs.

Wherever at most one tensor is live between two operators the schedule falls into parts: a circular
pool can be turned so that the tensor lies in the second part where it lay in the first, so each
part is laid out by itself, and the largest decides. Source of the orders: COSMA, section III-E;
of the distances: vMCU, eq. 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planners.allocation import Lifetime
from planners.allocation.min_capacity import Tightest, pack_tightest
from planners.allocation.overlapping.model import joined
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.overlap.order.orders import all_distances, least_orders
from planners.overlap.place.schedule_parts import best_ways, blocks_of


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout of operators that run alone in this `schedule` (positions of operators).

    `bound_bytes` is proven for all layouts of operators alone, whole tensors and these distances,
    in any order.
    """

    layout: PoolLayout
    schedule: tuple[int, ...]
    bound_bytes: int


def best_layout(
    graph: Graph, clock: Clock, distances: Mapping[tuple[str, str], int] | None = None
) -> LaidOut:
    """The least pool found for a network whose operators run alone, whole tensors in it.

    An output may lie on inputs that die with its operator, at their distances, written forward.
    Inputs of the network are there from their first use to their last; what nothing reads is gone
    once it is made. Never worse than COSMA's order of least peak with its tightest packing.
    `distances` are those of `all_distances`, or some of them. Raises `BadInput` for a graph
    without operators.
    """
    if not graph.operators:
        raise BadInput(f"{graph.name} has no operators to lay out")
    distances = all_distances(graph) if distances is None else dict(distances)
    shared, apart, orders = least_orders(graph, distances, clock)
    bound = shared.bound_bytes
    ways = best_ways(graph, distances, orders, bound, clock)
    schedule = tuple(position for way in ways for position in way.order)
    pool = max(way.pool for way in ways)
    laid = [part.named(at.places) for way in ways for part, at in zip(way.parts, way.laid)]
    offsets = joined(laid, pool)
    if pool > apart.peak_bytes:
        packed = _packed(graph, apart.schedule, clock)
        if packed.extent_bytes < pool:
            schedule, pool, offsets = apart.schedule, packed.extent_bytes, dict(packed.offsets)
    runs = tuple(KernelRun("alone", (graph.operators[i].name,)) for i in schedule)
    clock.report("layout", pool)  # its bound is of operators alone: together they may need less
    return LaidOut(PoolLayout(pool, offsets, runs), schedule, bound)


def _packed(graph: Graph, order: Sequence[int], clock: Clock) -> Tightest:
    """The tightest packing of tensors that never overlap."""
    items = [Lifetime(b.name, b.first, b.last + 1, b.size) for b in blocks_of(graph, order)]
    return pack_tightest(items, clock=clock.silent())
