"""Bytes that an operator touches of an operand, however it is cut: strides may step over some."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from planners.core.access import CONVOLUTIONS, POOLS, detailed, needs_of_all
from planners.core.boxes import Box, volume
from planners.core.graph import Graph, Operator
from planners.core.lookups import looked_up

SKIPPING = frozenset({"slice", "select", "pad", "nearest", "bilinear", "corners", "window"})
"""Relations that may leave elements between those that they read."""
OVER = ("write", 1)
"""That of a write which leaves out what it writes over, of its first operand."""


def touched_bytes(graph: Graph, op: Operator, tensor: str) -> int:
    """Bytes of an operand that are read at least once, by whatever parts the operator runs.

    A lower bound: exact for windows; of calls that state how they read, all that is around what
    they read where none of them steps over anything, and else nothing.
    """
    if detailed(op) or tensor in op.parameters:
        return _around(graph, op, tensor, needs_of_all(graph, op))
    size = graph.size_bytes(tensor)
    shape, out = graph.tensors[tensor].shape, graph.tensors[op.outputs[0]].shape
    slides = op.kind in CONVOLUTIONS | POOLS and tensor == op.inputs[0]
    if not slides or not len(shape) == len(out) == len(op.kernel) + 2:
        return size
    windows = zip(shape[2:], out[2:], op.kernel, op.stride, op.padding, op.dilation, strict=True)
    for n, *window in windows:
        size = size // n * _under_windows(n, *window)
    return size


def touched_by(graph: Graph, op: Operator) -> dict[str, int]:
    """The same of all of an operator's operands, in one question; of tables the rows looked up."""
    operands = (*op.inputs, *op.parameters)
    if detailed(op):
        boxes, rows = needs_of_all(graph, op), looked_up(graph, op)
        touched = {name: _around(graph, op, name, boxes) for name in operands}
        return touched | {
            name: min(touched[name], graph.bytes_of(name, count)) for name, count in rows.items()
        }
    return {name: touched_bytes(graph, op, name) for name in operands}


def _around(graph: Graph, op: Operator, tensor: str, boxes: Mapping[str, Box]) -> int:
    """Bytes of the box that is read, where none of it may be stepped over."""
    if tensor not in boxes or (detailed(op) and _skips(op, tensor)):
        return 0
    return graph.bytes_of(tensor, volume([boxes[tensor]]))


def _skips(op: Operator, tensor: str) -> bool:
    """Whether a call that a tensor comes to, by whatever way, may step over elements."""
    reached = {tensor}
    for part in op.parts:
        if not reached.isdisjoint(part.reads):
            reached.add(part.name)
            if part.relation and part.relation[0] in SKIPPING:
                return True
            if part.relation[:2] == OVER and part.reads[0] in reached:
                return True
    return False


@cache
def _under_windows(n: int, windows: int, k: int, s: int, p: int, d: int) -> int:
    """How many of n elements of an axis lie under any of the windows."""
    return len({i * s - p + j * d for i in range(windows) for j in range(k)} & set(range(n)))
