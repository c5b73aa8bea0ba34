"""Whole numbers in whole pieces, against counting them all."""

from __future__ import annotations

import pytest

from planners.core.integers import least_parts


@pytest.mark.parametrize("count", [*range(1, 260), 4096, 4097, 10_007])
def test_the_parts_worth_a_look_are_those_of_every_number_of_parts(count: int) -> None:
    assert least_parts(count) == sorted({-(-count // parts) for parts in range(1, count + 1)})
