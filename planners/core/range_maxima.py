"""The largest of a range of numbers, for very many ranges: a sparse table."""

from __future__ import annotations

from collections.abc import Sequence


def range_maxima(values: Sequence[int], starts: Sequence[int], stops: Sequence[int]) -> list[int]:
    """The largest of `values[start:stop]` for each range, none of which is empty.

    O((values + ranges) log values).
    """
    ranges = list(zip(starts, stops, strict=True))
    longest = max((stop - start for start, stop in ranges), default=0)
    levels, width = [list(values)], 1  # of each place the largest of 1, 2, 4 … from there on
    while 2 * width <= longest:
        levels.append(list(map(max, levels[-1][:-width], levels[-1][width:])))
        width *= 2
    maxima = []
    for start, stop in ranges:
        level = (stop - start).bit_length() - 1
        maxima.append(max(levels[level][start], levels[level][stop - (1 << level)]))
    return maxima
