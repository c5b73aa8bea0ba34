"""Level of detail: of many rectangles, those that a screen can show, and the others merged.

A rectangle at least a pixel wide and high is shown as it is. All others are summed over a grid of
cells: each cell has the kind that covers most of it, and cells of one kind that lie together are
one rectangle. Nothing is lost: the areas and the counts of what is merged add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

SIDES = ("left", "right", "bottom", "top")
MERGED_SHARE = 0.3
"""The part of all rectangles that is kept for merged ones."""
COARSEST = 64
"""Cells of so many pixels are not made larger still."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rectangles as columns, and the number of each one's kind."""

    left: Any
    right: Any
    bottom: Any
    top: Any
    kind: Any

    def __len__(self) -> int:
        return len(self.left)

    def at(self, chosen: Any) -> Boxes:
        """Some of them: a mask or positions."""
        left, right, bottom, top = (getattr(self, side)[chosen] for side in SIDES)
        return Boxes(left, right, bottom, top, self.kind[chosen])

    def inside(self, sight: Sight) -> Any:
        """A mask: which of them meet a part of the plane."""
        across = (self.left < sight.right) & (self.right > sight.left)
        return across & (self.bottom < sight.top) & (self.top > sight.bottom)


@dataclass(frozen=True, slots=True)
class Sight:
    """The part of the plane that is drawn, and how wide and high a pixel of it is."""

    left: float
    right: float
    bottom: float
    top: float
    wide: float
    high: float


@dataclass(frozen=True, slots=True)
class Merged:
    """Rectangles that stand for others: how much of these lies in each, by kind, and how many.

    Each is counted once, where its middle is; `covered` is a row for each kind: the area of all
    that lie there, which is more than its own where they lie over each other.
    """

    boxes: Boxes
    covered: Any
    count: Any


@dataclass(frozen=True, slots=True)
class Detail:
    """Positions of what is shown as it is, and what stands for the rest; `of` are all in sight."""

    each: Any
    merged: Merged
    of: int
    pixels: int = 1
    cell: tuple[float, float] = field(default=(0.0, 0.0))


def detailed(boxes: Boxes, sight: Sight, most: int) -> Detail:
    """What to draw of rectangles: all where there are at most so many; else those at least as large
    as a pixel, the smaller ones merged. Pixels are taken together where even these are too many."""
    inside = np.flatnonzero(boxes.inside(sight))
    if len(inside) <= most:
        return Detail(inside, nothing(), len(inside))
    here = boxes.at(inside)
    wide, high = here.right - here.left, here.top - here.bottom
    pixels = 1
    while True:
        large = (wide >= pixels * sight.wide) & (high >= pixels * sight.high)
        if large.sum() <= (1 - MERGED_SHARE) * most or pixels >= COARSEST:
            break
        pixels *= 2
    small, coarse = here.at(~large), pixels
    while True:
        cell = cell_of(sight, coarse)
        merged = merged_in(small, sight, cell)
        if large.sum() + len(merged.boxes) <= most or coarse >= COARSEST:
            return Detail(inside[large], merged, len(inside), pixels, cell)
        coarse *= 2


def cell_of(sight: Sight, pixels: int) -> tuple[float, float]:
    """The width and height of cells of so many pixels: whole numbers where they are above one, so
    that they have whole steps and addresses."""
    wide, high = sight.wide * pixels, sight.high * pixels
    return (float(np.ceil(wide)) if wide > 1 else wide, float(max(1.0, np.ceil(high))))


def merged_in(boxes: Boxes, sight: Sight, cell: tuple[float, float]) -> Merged:
    """Rectangles merged over cells; cells keep their places when the sight moves."""
    if not len(boxes):
        return nothing()
    first_x, first_y = int(sight.left // cell[0]), int(sight.bottom // cell[1])
    shape = (
        int(-(-sight.right // cell[0])) - first_x,
        int(-(-sight.top // cell[1])) - first_y,
    )
    x = [_clipped(getattr(boxes, side) / cell[0] - first_x, shape[0]) for side in SIDES[:2]]
    y = [_clipped(getattr(boxes, side) / cell[1] - first_y, shape[1]) for side in SIDES[2:]]
    area = _areas(x, y, boxes.kind, (int(boxes.kind.max()) + 1, *shape))
    middle = [
        np.minimum(((a + b) / 2).astype(int), n - 1)
        for (a, b), n in zip((x, y), shape, strict=True)
    ]
    count = np.zeros(shape, np.int64)
    np.add.at(count, tuple(middle), 1)
    kind = np.where(area.sum(0) > 1e-9, area.argmax(0), -1)
    runs = _joined(_runs(kind))
    left, right, bottom, top = (runs[:, k] for k in range(4))
    covered = np.stack([_summed(values, runs) for values in area])
    merged = Boxes(
        (left + first_x) * cell[0],
        (right + first_x) * cell[0],
        (bottom + first_y) * cell[1],
        (top + first_y) * cell[1],
        kind[left, bottom],
    )
    return Merged(merged, covered * cell[0] * cell[1], _summed(count, runs))


def nothing() -> Merged:
    """No merged rectangle."""
    none = np.zeros(0)
    return Merged(Boxes(none, none, none, none, none.astype(int)), none, none.astype(int))


def _clipped(values: Any, most: int) -> Any:
    return np.clip(np.asarray(values, float), 0.0, float(most))


def _areas(x: list[Any], y: list[Any], kind: Any, shape: tuple[int, int, int]) -> Any:
    """The area of each kind in each cell, in cells.

    A rectangle's share of a cell is its share of the column times its share of the row, and each
    of these a difference of two ramps: four corners, each put down at four cells, then summed up.
    """
    kinds, wide, high = shape
    flat = np.zeros(kinds * (wide + 2) * (high + 2))
    for (sign_x, at_x), (sign_y, at_y) in product(
        zip((1, -1), x, strict=True), zip((1, -1), y, strict=True)
    ):
        cell_x, cell_y = at_x.astype(int), at_y.astype(int)
        part_x, part_y = at_x - cell_x, at_y - cell_y
        for (dx, share_x), (dy, share_y) in product(
            ((0, 1 - part_x), (1, part_x)), ((0, 1 - part_y), (1, part_y))
        ):
            place = (kind * (wide + 2) + cell_x + dx) * (high + 2) + cell_y + dy
            flat += np.bincount(place, sign_x * sign_y * share_x * share_y, len(flat))
    sums = flat.reshape(kinds, wide + 2, high + 2).cumsum(1).cumsum(2)
    return sums[:, :wide, :high]


def _runs(kind: Any) -> Any:
    """Runs of equal cells up each column: left, right, bottom, top in cells; empty cells have no
    run."""
    wide, high = kind.shape
    edge = np.full((wide, 1), -2)
    changes = np.diff(kind, axis=1, prepend=edge, append=edge) != 0
    column, row = np.nonzero(changes)
    starts = row < high
    stops = row > 0
    left, bottom, top = column[starts], row[starts], row[stops]
    there = kind[left, bottom] >= 0
    left, bottom, top = left[there], bottom[there], top[there]
    return np.stack([left, left + 1, bottom, top, kind[left, bottom]], 1)


def _joined(runs: Any) -> Any:
    """Runs of the same rows and kind in columns side by side, as one."""
    order = np.lexsort((runs[:, 0], runs[:, 4], runs[:, 3], runs[:, 2]))
    runs = runs[order]
    new = np.ones(len(runs), bool)
    same = (runs[1:, 2:] == runs[:-1, 2:]).all(1)
    new[1:] = ~(same & (runs[1:, 0] == runs[:-1, 1]))
    firsts = np.flatnonzero(new)
    joined = runs[firsts]
    joined[:, 1] = np.append(runs[firsts[1:] - 1, 1], runs[-1:, 1]) if len(runs) else joined[:, 1]
    return joined


def _summed(values: Any, runs: Any) -> Any:
    """The sum of cells within each rectangle of cells."""
    total = np.zeros((values.shape[0] + 1, values.shape[1] + 1), values.dtype)
    total[1:, 1:] = values.cumsum(0).cumsum(1)
    left, right, bottom, top = (runs[:, k] for k in range(4))
    return total[right, top] - total[left, top] - total[right, bottom] + total[left, bottom]
