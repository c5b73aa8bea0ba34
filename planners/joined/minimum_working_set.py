"""What no plan does without: all that one element of an operator's output reads, at once.

Tiles and boxes may be as small as one element, which is still written in one go, but where its
products may be added up in parts. An importer does not know how every operator reads: such a one
reads all of its inputs for whatever it writes.
"""

from __future__ import annotations

from math import prod

from planners.core.access import needs_apart, reduced
from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph, Operator
from planners.core.program import Piece, piece_bytes

NEEDED = "whatever the plan, one element of what it writes reads that much"


def one_element(graph: Graph, budget_bytes: int, *, in_place: bool) -> BudgetTooSmall | None:
    """Why no plan exists: the operator whose element reads most, where that does not fit.

    Parameters that are read `in_place` take no byte.
    """
    read = {op.name: read_bytes(graph, op, in_place=in_place) for op in graph.operators}
    worst = max(read, key=read.__getitem__, default="")
    if not worst or read[worst] <= budget_bytes:
        return None
    op = graph.operators[graph.index[worst]]
    tensors = (*op.inputs, *op.outputs)
    return BudgetTooSmall(read[worst], budget_bytes, worst, tensors, remedy=NEEDED)


def read_bytes(graph: Graph, op: Operator, *, in_place: bool) -> int:
    """Bytes that the element in the middle of an output reads, of those that read least; 0 where it
    may be the sum of several parts."""
    if reduced(graph, op) is not None:
        return 0
    return min((_of_output(graph, op, output, in_place) for output in op.outputs), default=0)


def _of_output(graph: Graph, op: Operator, output: str, in_place: bool) -> int:
    shape = graph.tensors[output].shape
    if not prod(shape):
        return 0
    element = tuple((n // 2, n // 2 + 1) for n in shape)
    return sum(
        piece_bytes(graph, Piece(name, box))
        for name, box in needs_apart(graph, op, output, element)
        if not (in_place and name in op.parameters)
    )
