"""Rows that are held as columns, and made as objects when they are first asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Row = TypeVar("Row")

BLOCK = 1024
"""So many rows at once are made of columns that somebody goes through."""


class LazyRows(Sequence[Row]):
    """A sequence whose rows are all made when the first of them is asked for."""

    @abstractmethod
    def _make(self) -> tuple[Row, ...]:
        """All rows."""

    @cached_property
    def all(self) -> tuple[Row, ...]:
        """Every one of them."""
        return self._make()

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(at, slice) or "all" in self.__dict__ or not 0 <= at < len(self):
            return self.all[at]
        return self._one(at)

    def _one(self, at: int) -> Row:
        """One row, where it is cheaper to make than all of them."""
        return self.all[at]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.all == tuple(other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __reduce__(self) -> tuple[type[tuple[Row, ...]], tuple[tuple[Row, ...]]]:
        return tuple, (self.all,)


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
