"""Layers: what is read, copied and run as one, and how large it is; durations are in `times`.

An operator is a layer; where it is sliced, each slice of its output channels is one. All of the
parameters that a layer needs are read together, in the operator's order, to contiguous bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.access import needs, share_of_macs
from planners.core.graph import Graph, Operator
from planners.core.program import Box, Piece, piece_bytes, whole


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's size s, and its times r (read), c (copy) and k (kernel), in seconds."""

    name: str
    size_bytes: int
    read_s: float
    copy_s: float
    kernel_s: float


@dataclass(frozen=True, slots=True)
class Unit:
    """A layer as a part of the graph: an operator, or a slice of its output channels.

    `pieces` are of its parameters, in their order. `part` is the box of the operator's first
    output that it makes; None where it makes all of all outputs.
    """

    name: str
    operator: int
    pieces: tuple[Piece, ...]
    size_bytes: int
    macs: int
    part: Box | None = None


def units_of(graph: Graph) -> tuple[Unit, ...]:
    """A unit for each operator, in the default schedule."""
    return tuple(_unit(graph, i, op) for i, op in enumerate(graph.operators))


def _unit(graph: Graph, position: int, op: Operator) -> Unit:
    pieces = tuple(whole(graph.tensors[name]) for name in op.parameters)
    size = sum(piece_bytes(graph, piece) for piece in pieces)
    return Unit(op.name, position, pieces, size, op.macs)


def sliced_units(graph: Graph, position: int, slices: int) -> tuple[Unit, ...] | None:
    """An operator in that many slices of its output channels, as even as possible.

    None where it cannot be: it has fewer channels or several outputs, or what slices need of its
    parameters is more, together, than the operator needs.
    """
    op = graph.operators[position]
    if len(op.outputs) > 1 or not op.parameters or slices < 2:
        return None
    output = graph.tensors[op.outputs[0]]
    axis = len(output.shape) - 1 if op.kind == "linear" else 1
    if axis >= len(output.shape) or output.shape[axis] < slices or op.groups != 1:
        return None
    channels = output.shape[axis]
    cuts = [channels * i // slices for i in range(slices + 1)]
    full = whole(output).box
    units = []
    for number, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
        box = (*full[:axis], (start, stop), *full[axis + 1 :])
        read = dict(needs(graph, op, output.name, box))
        pieces = tuple(Piece(name, read[name]) for name in op.parameters if name in read)
        size = sum(piece_bytes(graph, piece) for piece in pieces)
        macs = share_of_macs(graph, op, output.name, box)
        units.append(Unit(f"{op.name}[{number}]", position, pieces, size, macs, box))
    together = sum(unit.size_bytes for unit in units)
    return tuple(units) if together == _unit(graph, position, op).size_bytes else None


# ---- Large layers in slices of their output channels: smaller rings, and reads that begin sooner -


def divided(graph: Graph, slices: int) -> tuple[Unit, ...]:
    """Units in which no layer is larger than the largest one over `slices`, where it can be cut.

    Each layer is cut into as few slices as that takes. A slice reads all of the layer's input
    again and is a kernel of its own, so more slices are not always better.
    """
    units = units_of(graph)
    largest = max((unit.size_bytes for unit in units), default=0)
    most = -(-largest // max(1, slices))
    parts: list[Unit] = []
    for unit in units:
        cut = None
        if most and unit.size_bytes > most:
            cut = _cut(graph, unit, most)
        parts += cut or (unit,)
    return tuple(parts)


def _cut(graph: Graph, unit: Unit, most: int) -> tuple[Unit, ...] | None:
    """The fewest slices that are all small enough, if there are any."""
    least = -(-unit.size_bytes // most)
    for slices in (least, least + 1, least + 2):
        cut = sliced_units(graph, unit.operator, slices)
        if cut and max(part.size_bytes for part in cut) <= most:
            return cut
    return sliced_units(graph, unit.operator, least)
