"""Axes whose limit lies far above what is used."""

from __future__ import annotations

import pytest

from planners.core.axis_break import above_peak, drawn_bytes, free_above


@pytest.mark.parametrize(
    ("used", "limit", "drawn"), [(100, 200, 200), (100, 201, 125), (0, 64, 64), (90, 64, 64)]
)
def test_of_a_mostly_empty_memory_a_part_is_drawn(used: int, limit: int, drawn: int) -> None:
    assert drawn_bytes(used, limit) == drawn


def test_words_say_how_far_away_the_limit_is() -> None:
    assert free_above(24 * 1024, 2**20) == "1000 KiB free above, up to the budget of 1 MiB"
    assert above_peak(24, 1024, "sram") == "sram of 1 KiB is 1000 B above the peak"
