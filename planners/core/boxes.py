"""Boxes as sets of elements: subtract one from another, and ask whether some cover another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import prod
from typing import TypeAlias

Box: TypeAlias = tuple[tuple[int, int], ...]
"""A half-open range along each axis."""

MOST_FRAGMENTS = 4096


def subtract(box: Box, other: Box) -> list[Box]:
    """The elements of `box` outside `other`, as disjoint boxes (at most two for each axis)."""
    if len(box) != len(other):
        return [box]
    for (a, b), (c, d) in zip(box, other, strict=True):
        if min(b, d) <= max(a, c):
            return [box]
    rest: list[Box] = []
    for axis, ((a, b), (c, d)) in enumerate(zip(box, other, strict=True)):
        if a < c:
            rest.append((*box[:axis], (a, c), *box[axis + 1 :]))
        if d < b:
            rest.append((*box[:axis], (d, b), *box[axis + 1 :]))
        box = (*box[:axis], (max(a, c), min(b, d)), *box[axis + 1 :])
    return rest


def uncovered(box: Box, cover: Collection[Box]) -> list[Box]:
    """What is left of `box` outside all of `cover`; empty where it is covered.

    Crossing slabs leave fragments by the product of their numbers: beyond `MOST_FRAGMENTS`, far
    more than rows, tiles and slices leave, the answer is what is left so far.
    """
    if box in cover:  # Whole tensors, nearly always.
        return []
    left = [box] if all(a < b for a, b in box) else []
    for other in cover:
        if not left or len(left) > MOST_FRAGMENTS:
            break
        left = [part for piece in left for part in subtract(piece, other)]
    return left


def lies_in(box: Box, shape: tuple[int, ...]) -> bool:
    """Whether a box is not empty and within a shape."""
    return len(box) == len(shape) and all(
        0 <= start < stop <= n for (start, stop), n in zip(box, shape, strict=True)
    )


def meet(a: Box, b: Box) -> bool:
    """Whether an element lies in both."""
    return all(p < s and r < q for (p, q), (r, s) in zip(a, b, strict=True))


def common(a: Box, b: Box) -> Box | None:
    """The elements that lie in both; None where there are none."""
    both = tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))
    return both if all(start < stop for start, stop in both) else None


def within(box: Box, around: Box) -> tuple[slice, ...]:
    """Where a box lies in the one around it."""
    return tuple(slice(a - c, b - c) for (a, b), (c, _) in zip(box, around, strict=True))


def around(*boxes: Box | None) -> Box:
    """The least box that holds all of these, of which some, but not all, may be None."""
    some = [box for box in boxes if box is not None]
    if len(some) == 1:
        return some[0]
    return tuple(
        [(min([a for a, _ in axis]), max([b for _, b in axis])) for axis in zip(*some, strict=True)]
    )


def filled(boxes: Sequence[Box]) -> Box | None:
    """The box that disjoint boxes fill together; None where they leave gaps."""
    hull = around(*boxes)
    return hull if sum(map(_elements, boxes)) == _elements(hull) else None


def _elements(box: Box) -> int:
    return prod(stop - start for start, stop in box)


def volume(boxes: Collection[Box]) -> int:
    """The number of elements that lie in at least one of these boxes."""
    disjoint: list[Box] = []
    for box in joined(boxes):
        parts = [box]
        for other in disjoint:
            parts = [rest for part in parts for rest in subtract(part, other)]
        disjoint += parts
    return sum(_elements(box) for box in disjoint)


def joined(boxes: Iterable[Box]) -> list[Box]:
    """The same elements in fewer boxes: those that differ along one axis and touch become one."""
    merged = list(dict.fromkeys(boxes))
    for axis in range(len(merged[0]) if merged else 0):
        rows: dict[tuple[Box, Box], list[tuple[int, int]]] = defaultdict(list)
        for box in merged:
            rows[box[:axis], box[axis + 1 :]].append(box[axis])
        merged = []
        for (front, back), ranges in rows.items():
            start, stop = min(ranges)
            for a, b in sorted(ranges):
                if a > stop:
                    merged.append((*front, (start, stop), *back))
                    start = a
                stop = max(stop, b)
            merged.append((*front, (start, stop), *back))
    return merged
