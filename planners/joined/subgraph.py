"""A part of a network as a graph of its own, whose programs are programs of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.core.services import LEAST_PEAK
from planners.overlap.order.orders import all_distances, footprints, shared_bytes


def part_of(graph: Graph, first: int, stop: int) -> Graph:
    """Operators `[first, stop)` of the default order with the tensors that they touch.

    What comes from in front of them is its input, what is read behind them, and what of the
    network's outputs they make, its output. Names stay.
    """
    ops = graph.operators[first:stop]
    produced = {name for op in ops for name in op.outputs}
    read = dict.fromkeys(name for op in ops for name in op.inputs)
    inputs = tuple(name for name in read if name not in produced)
    outputs = tuple(
        name
        for op in ops
        for name in op.outputs
        if name in graph.outputs or any(at >= stop for at in graph.consumers[name])
    )
    tensors = {}
    for op in ops:
        for name in (*op.inputs, *op.parameters, *op.outputs):
            tensor = graph.tensors[name]
            if tensor.kind == "state" or (name in inputs and tensor.kind == "activation"):
                tensor = replace(tensor, kind="input")
            tensors[name] = tensor
    return replace(
        graph,
        name=f"{graph.name}[{first}:{stop}]",
        tensors=tensors,
        operators=ops,
        inputs=inputs,
        outputs=outputs,
        source={},
        state={},
    )


# ---- Orders of operators within blocks: the one that needs the least at once, where it needs less
# Blocks lie between tensors that are alone on chip; in whatever order the operators of a block
# run, what is in front of it and behind it is the same. A program of the network in such an order
# is one of the network.

LEAST_OPERATORS, MOST_OPERATORS = 3, 64
"""Of a block whose order is looked for."""


def reordered(graph: Graph, marks: Sequence[int], clock: Clock) -> Graph | None:
    """The network with blocks in orders that need less at once; None where the model's are as good.

    `marks` are the positions between which the blocks lie.
    """
    share = 1 / max(1, len(marks) - 1)
    order = [
        position
        for first, stop in pairwise(marks)
        for position in _order(graph, first, stop, clock.share(share))
    ]
    if order == [*range(len(graph.operators))]:
        return None
    return replace(graph, operators=tuple(graph.operators[p] for p in order))


def _order(graph: Graph, first: int, stop: int, clock: Clock) -> Iterator[int]:
    """The operators of a block by position, in the order of least peak if it is less."""
    positions = range(first, stop)
    if not LEAST_OPERATORS <= len(positions) <= MOST_OPERATORS or clock.expired():
        yield from positions
        return
    part = part_of(graph, first, stop)
    distances = all_distances(part)
    shares = shared_bytes(part, distances)
    least = LEAST_PEAK.function()(part, clock=clock, shares=shares)
    peaks = [
        max(footprints(part, distances, order)) for order in (range(len(positions)), least.schedule)
    ]
    yield from positions if peaks[0] <= peaks[1] else (first + p for p in least.schedule)
