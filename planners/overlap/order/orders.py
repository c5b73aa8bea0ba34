"""Orders of operators for a pool in which an output may lie on what dies as it is written.

The bytes that a step takes are those of whole tensors apart, less what its output can share with
its dying inputs: a bound for any layout of that order, whose least over all orders is a bound for
the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.allocation.overlapping.model import most_shared
from planners.core.graph import Graph
from planners.core.progress import TRIAL_SHARE, Clock
from planners.core.services import LEAST_PEAK, ORDER_FOOTPRINTS, Peak, Shares
from planners.overlap.model.distance import distance

Distances = Mapping[tuple[str, str], int]
"""d in bytes of outputs from inputs, by (output, input), where they may overlap."""


def all_distances(graph: Graph) -> dict[tuple[str, str], int]:
    """The distances of all outputs from all inputs of their operators, in bytes."""
    distances = {}
    for op in graph.operators:
        for tensor in op.inputs:
            d = distance(graph, op, tensor)
            if d is not None:
                distances[op.outputs[0], tensor] = d
    return distances


def shared_bytes(graph: Graph, distances: Distances) -> Shares:
    """What the outputs of each operator share with its dying inputs.

    It grows where other operators ran before, as the search for the least peak needs: of the same
    inputs, more die.
    """
    near = [
        tuple(
            (sum(1 << i for i in graph.consumers[t]), graph.size_bytes(t), d)
            for t in op.inputs
            if (d := distances.get((op.outputs[0], t))) is not None
        )
        for op in graph.operators
    ]
    fresh = [sum(map(graph.size_bytes, op.outputs)) for op in graph.operators]

    def shares(position: int, done: int) -> int:
        dying = [(size, d) for readers, size, d in near[position] if not readers & ~done]
        return most_shared(fresh[position], dying)

    return shares


def footprints(graph: Graph, distances: Distances, order: Sequence[int]) -> list[int]:
    """The bytes that each step of an order takes at least."""
    return ORDER_FOOTPRINTS.function()(graph, order, shares=shared_bytes(graph, distances))


def least_orders(
    graph: Graph, distances: Distances, clock: Clock
) -> tuple[Peak, Peak, list[tuple[int, ...]]]:
    """The least peaks with shared bytes and without, and orders worth laying out, the best first.

    The first peak's bound holds for any layout in any order.
    """
    least_peak, shares = LEAST_PEAK.function(), shared_bytes(graph, distances)
    clock.report("schedule of least peak")
    apart = least_peak(graph, clock=clock.silent(TRIAL_SHARE))
    shared = least_peak(graph, clock=clock.silent(TRIAL_SHARE), shares=shares)
    given = tuple(range(len(graph.operators)))
    orders = list(dict.fromkeys((shared.schedule, apart.schedule, given)))
    orders.sort(key=lambda order: max(footprints(graph, distances, order), default=0))
    return shared, apart, orders
