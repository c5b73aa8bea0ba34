"""What runs together in the graph view: a coloured region around each, with its name. No Bokeh
here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.display.blocks import BlockNode
from planners.core.colours import DARK_INK, GREY, group_colour, ink_on

Columns = dict[str, list[Any]]
REGION_COLUMNS = ("x", "y", "w", "h", "fill")
TAB_COLUMNS = ("x", "y", "w", "h", "left", "fill", "dark", "name", "room", "group")
LINK_COLUMNS = ("x0", "y0", "x1", "y1", "cx0", "cy0", "cx1", "cy1")
TAB, HALO = 0.21, 0.10


def _empty(names: Sequence[str]) -> Columns:
    return {name: [] for name in names}


@dataclass(frozen=True)
class Regions:
    """`boxes` behind nodes, `links` along edges within a group, `tabs` with names above nodes.

    A tab's `room` is how many nodes in a row from its own on are of the group: its name may be as
    wide as these; it is written on the first of them only.
    """

    boxes: Columns = field(default_factory=lambda: _empty(REGION_COLUMNS))
    links: Columns = field(default_factory=lambda: _empty((*LINK_COLUMNS, "colour")))
    tabs: Columns = field(default_factory=lambda: _empty(TAB_COLUMNS))


@dataclass(frozen=True)
class Drawing:
    """What a scene has drawn: nodes with their places and sizes, curves and what they join."""

    nodes: Sequence[BlockNode]
    x: Sequence[float]
    y: Sequence[float]
    width: float
    height: float
    curves: Columns
    ends: Sequence[tuple[int, int]]


Looks = Sequence[tuple[str, str]]
"""The name and the colour of each group by number; empty: fused groups' own."""


def regions(drawn: Drawing, group_of: Sequence[int | None], looks: Looks = ()) -> Regions:
    """The regions of groups, where `group_of` has the group of each operator by position."""
    areas = Regions()
    inside = [groups_in(node, group_of) for node in drawn.nodes]
    places = {
        (drawn.x[i], _row(drawn.y[i])): groups[0]
        for i, groups in enumerate(inside)
        if len(groups) == 1
    }
    for i, groups in enumerate(inside):
        if len(groups) == 1:
            _region(areas, drawn, i, groups[0], places, looks)
        elif groups:
            _stripes(areas, drawn, i, groups, looks)
    for k, (a, b) in enumerate(drawn.ends):
        if len(inside[a]) == 1 and inside[a] == inside[b]:
            curve = [drawn.curves[name][k] for name in LINK_COLUMNS]
            _add(areas.links, (*curve, look_of(inside[a][0], looks)[1]))
    return areas


def look_of(group: int, looks: Looks) -> tuple[str, str]:
    """The name and the colour of a group."""
    return looks[group] if looks else (f"g{group}", group_colour(group))


def group_words(groups: Sequence[int], looks: Looks = ()) -> str:
    """The names of groups in one phrase."""
    if len(groups) < 2:
        return look_of(groups[0], looks)[0] if groups else ""
    whole = list(groups) == list(range(groups[0], groups[-1] + 1))
    first, last = look_of(groups[0], looks)[0], look_of(groups[-1], looks)[0]
    return f"{first}–{last}" if whole else f"{len(groups)} groups"


def groups_in(node: BlockNode, group_of: Sequence[int | None]) -> list[int]:
    """The groups that a node's operators are in."""
    return sorted({g for i in node.members if (g := group_of[i]) is not None})


def _region(
    found: Regions,
    drawn: Drawing,
    i: int,
    group: int,
    places: dict[tuple[float, float], int],
    looks: Looks,
) -> None:
    """A box around a node, with a tab above it."""
    x, y, (named, colour) = drawn.x[i], drawn.y[i], look_of(group, looks)
    wide, half = drawn.width + 2 * HALO, drawn.height / 2
    _add(found.boxes, (x, y - TAB / 2, wide, drawn.height + 2 * HALO + TAB, colour))
    first = places.get((x - 1, _row(y))) != group
    room = 1
    while places.get((x + room, _row(y))) == group:
        room += 1
    name = named if first else ""
    tab = (x, y - half - HALO / 2 - TAB / 2, wide, TAB + HALO, x - drawn.width / 2)
    _add(found.tabs, (*tab, colour, ink_on(colour) == DARK_INK, name, room, group))


def _row(y: float) -> float:
    """Key of a row: places that differ only by rounding have the same."""
    return round(y, 1)


def _stripes(found: Regions, drawn: Drawing, i: int, groups: list[int], looks: Looks) -> None:
    """A closed block of several groups: below it a stripe for each, above it their names."""
    x, y = drawn.x[i], drawn.y[i]
    each = drawn.width / len(groups)
    for n, group in enumerate(groups):
        at = x - drawn.width / 2 + each * (n + 0.5)
        below = y + drawn.height / 2 + HALO * 0.7
        _add(found.boxes, (at, below, each, HALO, look_of(group, looks)[1]))
    name = group_words(groups, looks)
    above = (x, y - drawn.height / 2 - TAB / 2, drawn.width, TAB, x - drawn.width / 2)
    _add(found.tabs, (*above, GREY, True, name, 1, groups[0]))


def _add(columns: Columns, row: Sequence[Any]) -> None:
    for name, value in zip(columns, row, strict=True):
        columns[name].append(value)
