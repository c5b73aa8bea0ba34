"""What there is to say of fused groups: their tiles, parameters and bytes in words. No Panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from planners.core.units import format_bytes
from planners.fusion.explain import FusedGroup
from planners.fusion.tile.axes import Axes

NAMED = 2


def tile_words(graph: sp.Graph, group: FusedGroup) -> str:
    """What one tile makes of the group's last tensor: rows, and channels and images if some."""
    shape = graph.tensors[group.output].shape
    if not group.tile:
        return "all at once"
    axes = Axes.from_shape(shape)
    words = []
    if axes.row is not None:
        words.append(part_words("row", group.tile[axes.row], shape[axes.row]))
    if axes.channel is not None and _partial(group, shape, axes.channel):
        words.append(part_words("channel", group.tile[axes.channel], shape[axes.channel]))
    if shape[0] > 1 and _partial(group, shape, 0):
        words.append(part_words("image", group.tile[0], shape[0]))
    return ", ".join(words) or "all at once"


def _partial(group: FusedGroup, shape: Sequence[int], axis: int) -> bool:
    start, stop = group.tile[axis]
    return stop - start < shape[axis]


def part_words(thing: str, part: tuple[int, int], of: int) -> str:
    """How many of an axis there are, `4 of 54 rows`."""
    count = part[1] - part[0]
    if count == of:
        return f"all {of} {thing}s" if of > 1 else f"1 {thing}"
    return f"{count} of {of} {thing}s"


def range_words(thing: str, start: int, stop: int) -> str:
    """A part of an axis by number, counted from one: `rows 5–8`."""
    return f"{thing} {start + 1}" if stop == start + 1 else f"{thing}s {start + 1}–{stop}"


def tiles_words(group: FusedGroup) -> str:
    """How many tiles there are."""
    return "1 tile" if group.tiles == 1 else f"{group.tiles} tiles"


def parameter_words(graph: sp.Graph, group: FusedGroup) -> str:
    """Which parameters stay on chip for all tiles and which come again for each."""
    words = []
    if group.kept:
        size = sum(graph.size_bytes(name) for name in group.kept)
        residency = "kept on chip" if group.tiles > 1 else "loaded once"
        words.append(f"{format_bytes(size)} {residency}")
    if group.refilled:
        size = sum(graph.size_bytes(name) for name in group.refilled)
        moved = sum(group.loads[name] for name in group.refilled)
        words.append(f"{format_bytes(size)} refilled, {format_bytes(moved)} in all")
    return "; ".join(words) or "none"


def members_words(names: Sequence[str]) -> str:
    """Operators that run together: all of a few, of many the first and the last."""
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)} operators)"


def buffer_bytes(shown: DisplayedPlan, group: FusedGroup) -> int:
    """The most bytes on chip while a group runs."""
    return max(shown.report.occupancy[group.start_step : group.stop_step], default=0)


def group_line(shown: DisplayedPlan, group: FusedGroup, why: Mapping[str, Any]) -> str:
    """One line for a hover: the tile, what it holds and moves, and what that is instead of.

    `why` has, of each group by name, what is known so far of other ways.
    """
    apart = why.get(group.name, {}).get("alone_bytes")
    instead = apart is not None and len(group.operators) > 1
    words = [
        f"{tiles_words(group)}, each {tile_words(shown.graph, group)}",
        f"holds {format_bytes(buffer_bytes(shown, group))}",
        f"parameters: {parameter_words(shown.graph, group)}",
        f"moves {format_bytes(group.traffic_bytes)}",
    ]
    return " · ".join([*words, *([f"apart {format_bytes(apart)}"] if instead else [])])
