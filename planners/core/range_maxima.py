"""The largest of a range of numbers, for very many ranges: a sparse table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def range_maxima(values: Sequence[int], starts: Sequence[int], stops: Sequence[int]) -> list[int]:
    """The largest of `values[start:stop]` for each range, none of which is empty.

    Values are below 2**63. O((values + ranges) log values).
    """
    first, last = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
    found = np.zeros(len(first), np.int64)
    level, table, width = 0, np.asarray(values, np.int64), 1
    levels = np.frexp(np.maximum(last - first, 1))[1] - 1  # 2 ** level is the most within a range
    while len(table) and level <= levels.max(initial=0):
        here = levels == level
        found[here] = np.maximum(table[first[here]], table[last[here] - width])
        table = np.maximum(table[:-width], table[width:])
        level, width = level + 1, 2 * width
    return [int(each) for each in found.tolist()]
