"""Orders of operators within blocks: the one that needs the least at once, where it needs less.

Blocks lie between tensors that are alone on chip; in whatever order the operators of a block run,
what is in front of it and behind it is the same. A program of the network in such an order is one
of the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.core.services import LEAST_PEAK
from planners.joined.part import part_of
from planners.overlap.order.orders import all_distances, footprints, shared_bytes

LEAST_OPERATORS, MOST_OPERATORS = 3, 64
"""Of a block whose order is looked for."""
EACH_S = 0.2
"""Seconds at most for one block."""


def reordered(graph: Graph, marks: Sequence[int], clock: Clock) -> Graph | None:
    """The network with blocks in orders that need less at once; None where the model's are as good.

    `marks` are the positions between which the blocks lie.
    """
    order = [p for first, stop in pairwise(marks) for p in _order(graph, first, stop, clock)]
    if order == [*range(len(graph.operators))]:
        return None
    return replace(graph, operators=tuple(graph.operators[p] for p in order))


def _order(graph: Graph, first: int, stop: int, clock: Clock) -> Iterator[int]:
    """The operators of a block by position, in the order of least peak if it is less."""
    own = range(first, stop)
    if not LEAST_OPERATORS <= len(own) <= MOST_OPERATORS or clock.expired():
        yield from own
        return
    part = part_of(graph, first, stop)
    distances = all_distances(part)
    shares = shared_bytes(part, distances)
    found = LEAST_PEAK.function()(part, clock=clock.part(min(EACH_S, clock.left_s)), shares=shares)
    peaks = [max(footprints(part, distances, order)) for order in (range(len(own)), found.schedule)]
    yield from own if peaks[0] <= peaks[1] else (first + p for p in found.schedule)
