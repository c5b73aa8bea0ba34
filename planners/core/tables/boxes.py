"""Boxes as columns: `start` and `stop` [n, axes], each in a group; what they make together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product

import numpy as np

from planners.core.boxes import Box
from planners.core.program import Piece
from planners.core.tables.table import Flags, Numbers, Table

LARGEST = 1 << 62


def tiled(
    group: Numbers, start: Numbers, stop: Numbers, groups: int, low: Numbers, high: Numbers
) -> Flags:
    """Whether the boxes of each group fill `[low, high)` [groups, axes] and do not overlap.

    They lie within it. The number of boxes over each element is one everywhere if and only if its
    differences along all axes are those of the whole: the boxes' corners, with signs by turns, add
    up to the corners of the whole. Axes along which all boxes of a group are whole are left out.
    """
    partial = (start != low[group]) | (stop != high[group])
    bits = partial @ (1 << np.arange(start.shape[1]))
    axes = np.zeros(groups, np.int64)
    np.bitwise_or.at(axes, group, bits)
    filled: Flags = np.bincount(group, minlength=groups) == 1  # Where its one box is the whole.
    for mask in np.unique(axes).tolist():
        if mask:
            those = np.flatnonzero(axes == mask)
            rows = np.flatnonzero(axes[group] == mask)
            on = [axis for axis in range(start.shape[1]) if mask >> axis & 1]
            filled[those] = _cancel(
                np.searchsorted(those, group[rows]),
                [
                    (
                        start[rows, axis] - low[group[rows], axis],
                        stop[rows, axis] - low[group[rows], axis],
                    )
                    for axis in on
                ],
                [high[those, axis] - low[those, axis] for axis in on],
            )
    return filled


def _cancel(group: Numbers, ends: list[tuple[Numbers, Numbers]], whole: list[Numbers]) -> Flags:
    """Whether, in each group, signed corners of boxes add up to those of one from 0 to `whole`."""
    groups = len(whole[0])
    sizes = [int(size.max()) + 1 for size in whole]
    if reduce(lambda a, b: a * b, sizes, groups) >= LARGEST:
        return np.zeros(groups, np.bool_)
    nothing = np.zeros(groups, np.int64)
    corners = [*_corners(group, ends, sizes, 1)]
    corners += _corners(np.arange(groups), [(nothing, size) for size in whole], sizes, -1)
    keys = np.concatenate([key for key, _ in corners])
    signs = np.concatenate([np.full(len(key), sign) for key, sign in corners])
    order = np.argsort(keys)
    keys, signs = keys[order], signs[order]
    begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    left = np.add.reduceat(signs, begins) != 0
    filled = np.ones(groups, np.bool_)
    filled[keys[begins[left]] // reduce(lambda a, b: a * b, sizes, 1)] = False
    return filled


def _corners(
    group: Numbers, ends: list[tuple[Numbers, Numbers]], sizes: list[int], sign: int
) -> Iterator[tuple[Numbers, int]]:
    for sides in product((0, 1), repeat=len(ends)):
        key = group
        for side, both, size in zip(sides, ends, sizes, strict=True):
            key = key * size + both[side]
        yield key, sign * (-1) ** sum(sides)


def merged(group: Numbers, start: Numbers, stop: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The same elements of each group in fewer boxes: along each axis in turn, those that touch."""
    ends = [(start[:, axis], stop[:, axis]) for axis in range(start.shape[1])]
    for axis in range(len(ends)):
        others = [side for at, both in enumerate(ends) if at != axis for side in both]
        others = [side for side in others if side.min(initial=0) != side.max(initial=0)]
        a, b = ends[axis]
        if len(others) == 0 and len(a) == 0:
            break
        order = np.lexsort((a, *others, group))
        group, a, b = group[order], a[order], b[order]
        ends = [(p[order], q[order]) for p, q in ends]
        apart = np.concatenate(([True], group[1:] != group[:-1]))
        for side in others:
            column = side[order]
            apart[1:] |= column[1:] != column[:-1]
        reach = np.cumsum(apart) * (int(b.max()) + 1)
        reach = np.maximum.accumulate(b + reach) - reach  # The furthest end so far, in its row.
        apart[1:] |= a[1:] > reach[:-1]
        begins = np.flatnonzero(apart)
        group = group[begins]
        ends = [(p[begins], q[begins]) for p, q in ends]
        ends[axis] = (a[begins], np.maximum.reduceat(b, begins))
    columns = [np.stack(side, axis=1) for side in zip(*ends, strict=True)]
    return group, *(columns or (start, stop))


def boxes_of(start: Numbers, stop: Numbers, rank: int) -> list[Box]:
    """Rows as boxes of so many axes."""
    both = np.stack((start[:, :rank], stop[:, :rank]), axis=2).tolist()
    return [tuple((a, b) for a, b in box) for box in both]


def pieces_of(table: Table, rows: Numbers) -> list[Piece]:
    """The pieces of some rows of a table."""
    pieces: list[Piece] = [Piece("", ())] * len(rows)
    for rank in np.unique(table.rank[rows]).tolist():
        these = np.flatnonzero(table.rank[rows] == rank)
        boxes = boxes_of(table.start[rows[these]], table.stop[rows[these]], rank)
        tensors = table.tensor[rows[these]].tolist()
        for at, tensor, box in zip(these.tolist(), tensors, boxes, strict=True):
            pieces[at] = Piece(table.tensors[tensor], box)
    return pieces
