"""Orders of operators for a pool in which an output may lie on what dies as it is written.

The bytes that a step takes are COSMA's, less what its output can share with its dying inputs: a
bound for any layout of that order, whose least over all orders is a bound for the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.cosma.peak import Footprints, Move, Peak, least_peak, minimum_peak
from planners.graph.model import Graph
from planners.overlap.distance import distance
from planners.progress import Clock

Distances = Mapping[tuple[str, str], int]
"""d in bytes of outputs from inputs, by (output, input), where they may overlap."""


def all_distances(graph: Graph) -> dict[tuple[str, str], int]:
    """The distances of all outputs from all inputs of their operators, in bytes."""
    found = {}
    for op in graph.operators:
        for tensor in op.inputs:
            d = distance(graph, op, tensor)
            if d is not None:
                found[op.outputs[0], tensor] = d
    return found


def most_shared(output_bytes: int, dying: Sequence[tuple[int, int]]) -> int:
    """The most bytes that an output shares with dying inputs of (bytes, d).

    At a distance d the output's first d bytes lie in front of that input. Inputs lie apart from
    each other, so all that is shared is behind the least d.
    """
    if not dying:
        return 0
    behind = output_bytes - min(d for _, d in dying)
    return max(0, min(behind, sum(min(size, output_bytes - d) for size, d in dying)))


class SharedFootprints(Footprints):
    """Footprints of activations in which an output shares bytes with its dying inputs.

    They shrink where other operators ran before, as the search for the least peak asks: of the
    same inputs, more die.
    """

    def __init__(self, graph: Graph, distances: Distances) -> None:
        super().__init__(graph, parameters=False)
        self._near = [
            tuple(
                (i, graph.size_bytes(tensor), distances[op.outputs[0], tensor])
                for i, tensor in enumerate(op.inputs)
                if (op.outputs[0], tensor) in distances
            )
            for op in graph.operators
        ]

    def move(self, done: int, live: int, position: int) -> Move:
        move = super().move(done, live, position)
        near = self._near[position]
        if not near:
            return move
        op = self.ops[position]
        dying = [(size, d) for i, size, d in near if not op.inputs[i][1] & ~move.done]
        return move._replace(footprint=move.footprint - most_shared(op.fresh, dying))


def least_orders(
    graph: Graph, distances: Distances, clock: Clock
) -> tuple[Peak, Peak, list[tuple[int, ...]]]:
    """The least peaks with shared bytes and without, and orders worth laying out, the best first.

    The first peak's bound holds for any layout in any order.
    """
    prints = SharedFootprints(graph, distances)
    clock.report("schedule of least peak")
    apart = minimum_peak(graph, clock=clock.part(0.3 * clock.left_s))
    shared = least_peak(prints, clock.part(0.4 * clock.left_s))
    given = tuple(range(len(graph.operators)))
    orders = list(dict.fromkeys((shared.schedule, apart.schedule, given)))
    return shared, apart, sorted(orders, key=prints.peak)
