"""Boxes as sets of elements."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from planners.core.boxes import MOST_FRAGMENTS, subtract, uncovered
from planners.core.program import Box

axis = st.tuples(st.integers(0, 4), st.integers(0, 5)).map(lambda p: (p[0], p[0] + p[1] % 4))
boxes = st.tuples(axis, axis)


def elements(box: Box) -> set[tuple[int, ...]]:
    return set(itertools.product(*(range(start, stop) for start, stop in box)))


@given(boxes, boxes)
def test_subtract_leaves_the_rest_as_disjoint_boxes(a: Box, b: Box) -> None:
    rest = [elements(part) for part in subtract(a, b)]
    assert set().union(*rest) == elements(a) - elements(b)
    assert sum(map(len, rest)) == len(elements(a) - elements(b))


@given(boxes, st.lists(boxes, max_size=5))
def test_uncovered_is_what_no_box_covers(a: Box, cover: list[Box]) -> None:
    left = set().union(*map(elements, uncovered(a, cover)))
    assert left == elements(a).difference(*map(elements, cover))


def test_slabs_that_cross_end_soon() -> None:
    size, rank = 1001, 3
    slabs = [
        tuple((i, i + 1) if a == axis else (0, size) for a in range(rank))
        for axis in range(rank)
        for i in range(1, size, 2)
    ]
    assert len(uncovered(((0, size),) * rank, slabs)) < 3 * MOST_FRAGMENTS
