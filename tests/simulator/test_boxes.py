"""Boxes as sets of elements."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from planners.program import Box
from planners.simulator.boxes import subtract, uncovered

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
