"""Rows of several columns that are the same, found by one number for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planners.core.tables.table import Numbers

LARGEST = 1 << 62


def distinct(*columns: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """The different rows of columns [n] (in order, [m, columns]), and which of them each row is."""
    key, room = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low, high = (int(end(initial=0)) for end in (column.min, column.max))
        room *= high - low + 1
        if room >= LARGEST:
            rows, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
            return rows, which.ravel()
        key = key * (high - low + 1) + (column.astype(np.int64, copy=False) - low)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=1), which.ravel()
