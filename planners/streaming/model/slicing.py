"""Large layers in slices of their output channels: smaller rings, and reads that begin sooner."""

from __future__ import annotations

from planners.core.graph import Graph
from planners.streaming.model.layers import Unit, sliced_units, units_of


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
