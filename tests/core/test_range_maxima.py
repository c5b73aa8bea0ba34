"""The largest of each of many ranges."""

from __future__ import annotations

from random import Random

import pytest

from planners.core.range_maxima import range_maxima


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_of_each_range(seed: int) -> None:
    dice = Random(seed)
    values = [dice.randrange(-(2**62), 2**62) for _ in range(dice.randint(1, 70))]
    ranges = []
    for _ in range(dice.choice([0, 1, 40])):
        start = dice.randrange(len(values))
        ranges.append((start, dice.randint(start + 1, len(values))))
    starts, stops = [a for a, _ in ranges], [b for _, b in ranges]
    assert range_maxima(values, starts, stops) == [max(values[a:b]) for a, b in ranges]
