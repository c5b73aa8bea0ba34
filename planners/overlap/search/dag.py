"""Any network in a circular pool: its operators in COSMA's orders, outputs over dying inputs.

Wherever at most one tensor is live between two operators the schedule falls into parts: a circular
pool can be turned so that the tensor lies in the second part where it lay in the first, so each
part is laid out by itself, and the largest decides. Source of the orders: COSMA, section III-E;
of the distances: vMCU, eq. 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planners.allocation import Lifetime
from planners.allocation.min_capacity import Tightest, pack_tightest
from planners.allocation.overlapping.circular import keeps
from planners.allocation.overlapping.model import PoolProblem, joined
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput, InvalidPlan
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.overlap.order.orders import all_distances, least_orders
from planners.overlap.place.stretches import best_ways, blocks_of

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """An output that lies on an input which dies as it is written: `bytes` are both's."""

    operator: str
    output: str
    input: str
    distance_bytes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout of operators that run alone, and what is known of it.

    `bound_bytes` is proven for all layouts of operators alone, whole tensors and these distances,
    in any order, and `order_bound_bytes` for those in this `schedule` (positions of operators).
    `apart_bytes` is the least peak of live bytes where nothing overlaps: COSMA's MP, or the least
    known where `apart_proven` is False.
    """

    layout: PoolLayout
    schedule: Order
    bound_bytes: int
    order_bound_bytes: int
    apart_bytes: int
    apart_proven: bool
    shared: tuple[Shared, ...]
    method: str

    @property
    def proven(self) -> bool:
        return self.layout.pool_bytes == self.bound_bytes

    @property
    def gap(self) -> float:
        """How far the pool is above the bound, as a share of the pool."""
        return 1 - self.bound_bytes / self.layout.pool_bytes


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
    pool, order_bound = max(way.pool for way in ways), max(way.bound for way in ways)
    laid = [part.named(at.places) for way in ways for part, at in zip(way.parts, way.laid)]
    offsets, method = joined(laid, pool), "shared bytes"
    if pool > apart.peak_bytes:
        packed = _packed(graph, apart.schedule, clock)
        if packed.extent_bytes < pool:
            schedule, pool, offsets = apart.schedule, packed.extent_bytes, dict(packed.offsets)
            order_bound, method = bound, "tensors apart"
    runs = tuple(KernelRun("alone", (graph.operators[i].name,)) for i in schedule)
    layout = PoolLayout(pool, offsets, runs)
    clock.report("layout", pool)  # its bound is of operators alone: together they may need less
    return LaidOut(
        layout,
        schedule,
        bound,
        max(bound, order_bound),
        apart.peak_bytes,
        apart.proven,
        tuple(shared_bytes(graph, layout)),
        method,
    )


def _packed(graph: Graph, order: Sequence[int], clock: Clock) -> Tightest:
    """The tightest packing of tensors that never overlap."""
    items = [Lifetime(b.name, b.first, b.last + 1, b.size) for b in blocks_of(graph, order)]
    return pack_tightest(items, time_limit_s=clock.left_s)


def shared_bytes(graph: Graph, layout: PoolLayout) -> Iterator[Shared]:
    """The outputs that lie on dying inputs in a layout of operators alone.

    Raises `InvalidPlan` where two tensors that are live at once lie on each other otherwise, or
    closer than their distance.
    """
    order = [graph.index[run.operators[0]] for run in layout.runs]
    distances = all_distances(graph)
    part = PoolProblem(blocks_of(graph, order), distances)
    pool, offsets = layout.pool_bytes, layout.offsets
    for pair in part.pairs:
        a, b = part.blocks[pair.a], part.blocks[pair.b]
        ahead = offsets[b.name] - offsets[a.name]
        if not keeps(pair, ahead, pool):
            raise InvalidPlan(
                f"{a.name} at {offsets[a.name]} and {b.name} at {offsets[b.name]} are live "
                f"at once and in each other's way in {pool} bytes"
            )
        for output, read, between in ((a, b, ahead % pool), (b, a, -ahead % pool)):
            d = distances.get((output.name, read.name))
            if d is None or output.first != read.last or between >= output.size:
                continue
            name = graph.operators[graph.producer[output.name]].name
            common = min(output.size - between, read.size)
            yield Shared(name, output.name, read.name, d, common)
