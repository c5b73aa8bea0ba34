"""Output channels made one after the other, each with its part of the parameters."""

from __future__ import annotations

from planners.core.access import needs
from planners.core.graph import Graph, Operator
from planners.core.program import Box, Piece, piece_bytes


def channel_axis(graph: Graph, op: Operator) -> int | None:
    """The axis of its one output along which slices need the least parameters; None where none.

    Of convolutions these are the channels, of products the last axis, wherever tokens lie.
    """
    if len(op.outputs) != 1 or not op.parameters:
        return None
    shape = graph.tensors[op.outputs[0]].shape
    sizes = [(_one(graph, op, axis), axis) for axis, n in enumerate(shape) if n > 1]
    one, axis = min((size for size in sizes if size[0]), default=(0, -1))
    return axis if one and 2 * one <= sum(map(graph.size_bytes, op.parameters)) else None


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
    return None if axis is None else _one(graph, op, axis)


def _one(graph: Graph, op: Operator, axis: int) -> int:
    """Bytes of the parameters that a slice along an axis needs: at either edge, or inside.

    Of what is concatenated with something made of parameters, only some slices need any.
    """
    shape = graph.tensors[op.outputs[0]].shape
    some = {0, shape[axis] // 2, shape[axis] - 1}
    boxes = (channels_box(shape, axis, at, at + 1) for at in some)
    return max(
        sum(piece_bytes(graph, piece) for piece in parameter_pieces(graph, op, box))
        for box in boxes
    )
