"""Rows that are held as columns, of which those are made as objects that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from planners.simulator.records.lazy_rows import LazyRows, Row

BLOCK = 1024
"""So many rows at once are made of columns that somebody goes through."""


class ColumnRows(LazyRows[Row]):
    """A sequence that is held as columns: a row that is asked for is made alone, and who goes
    through them has a block at a time, none of which is kept."""

    @abstractmethod
    def _some(self, rows: NDArray[np.int64]) -> tuple[Row, ...]:
        """Some of the rows."""

    def _make(self) -> tuple[Row, ...]:
        return self._some(np.arange(len(self)))

    def _one(self, at: int) -> Row:
        return self._some(np.array([at]))[0]

    def __iter__(self) -> Iterator[Row]:
        if "all" in self.__dict__:
            yield from self.all
            return
        for begin in range(0, len(self), BLOCK):
            yield from self._some(np.arange(begin, min(begin + BLOCK, len(self))))

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """The place of the first equal row. Raises `ValueError` where there is none."""
        places = range(len(self))[start:stop]
        place = next((at for at, row in enumerate(self) if at in places and row == value), None)
        if place is None:
            raise ValueError(f"{value!r:.80} is not among these {len(self)} rows")
        return place
