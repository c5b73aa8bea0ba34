"""Output channels made one after the other, each with its part of the parameters."""

from __future__ import annotations

from planners.core.access import needs
from planners.core.graph import Graph, Operator
from planners.core.program import Box, Piece, piece_bytes
from planners.fusion.tile.axes import Axes


def channel_axis(graph: Graph, op: Operator) -> int | None:
    """The axis of its one output along which an operator can be cut; None where it cannot."""
    if len(op.outputs) != 1:
        return None
    shape = graph.tensors[op.outputs[0]].shape
    axis = Axes.of(shape).channel
    return axis if axis is not None and shape[axis] > 1 else None


def channels_box(shape: tuple[int, ...], axis: int, start: int, stop: int) -> Box:
    """All of a tensor but these channels only."""
    return tuple((start, stop) if k == axis else (0, n) for k, n in enumerate(shape))


def parameter_pieces(graph: Graph, op: Operator, box: Box) -> tuple[Piece, ...]:
    """The parameters that a box of the one output needs."""
    read = needs(graph, op, op.outputs[0], box)
    return tuple(Piece(name, part) for name, part in read if name in op.parameters)


def least_slice_bytes(graph: Graph, op: Operator) -> int | None:
    """The parameters of the largest slice of one channel; None where slices spare nothing."""
    axis = channel_axis(graph, op)
    if axis is None:
        return None
    shape = graph.tensors[op.outputs[0]].shape
    one = sum(
        piece_bytes(graph, p) for p in parameter_pieces(graph, op, channels_box(shape, axis, 0, 1))
    )
    whole = sum(map(graph.size_bytes, op.parameters))
    return one if 2 * one <= whole else None
