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
        span = high - low + 1
        if room * span >= LARGEST:  # Rows so far, by their number: their order stays.
            key = np.unique(key, return_inverse=True)[1].ravel()
            room = int(key.max(initial=0)) + 1
        room *= span
        if room >= LARGEST:
            rows, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
            return rows, which.ravel()
        key = key * span + (column.astype(np.int64, copy=False) - low)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=1), which.ravel()
