"""Boxes around boxes, whole numbers in pieces, and clocks that someone may stop."""

from __future__ import annotations

import pytest

from planners.core.boxes import around, filled
from planners.core.integers import least_parts, rounded_up
from planners.core.progress import Clock, Progress


def test_the_box_around_boxes_and_the_box_that_they_fill() -> None:
    left, right = ((0, 2), (0, 4)), ((0, 2), (6, 8))
    assert around(None, left) == left
    assert around(left, right) == ((0, 2), (0, 8))
    assert filled([left, right]) is None
    assert filled([left, ((0, 2), (4, 8))]) == ((0, 2), (0, 8))


@pytest.mark.parametrize(("value", "unit", "up"), [(0, 4, 0), (1, 4, 4), (8, 4, 8), (9, 1, 9)])
def test_rounding_up(value: int, unit: int, up: int) -> None:
    assert rounded_up(value, unit) == up


def test_parts_are_of_every_size_that_a_number_of_parts_needs() -> None:
    for count in range(1, 60):
        assert (
            {1, count} <= set(least_parts(count)) <= {-(-count // n) for n in range(1, count + 1)}
        )


def test_a_clock_ends_with_its_time_its_whole_or_the_wish_to_stop() -> None:
    stop: list[bool] = []
    clock = Clock(60, should_stop=lambda: bool(stop))
    part = clock.silent(0.5)
    assert (part.expired(), part.stopped, part.may_stop) == (False, False, True)
    assert clock.silent(0).expired()
    stop.append(True)
    assert (part.expired(), part.stopped, part.left_s) == (True, True, 0.0)
    assert not Clock(60).may_stop


def test_a_callback_that_says_no_stops_the_whole() -> None:
    heard: list[Progress] = []

    def say_no(moment: Progress) -> bool:
        heard.append(moment)
        return False

    clock = Clock(60, say_no)
    clock.silent(0.5).report("search", 5, 4)
    assert [(m.stage, m.incumbent_bytes) for m in heard] == [("search", None)]
    assert clock.stopped
