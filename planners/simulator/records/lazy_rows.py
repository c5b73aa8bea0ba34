"""Rows that are made as objects when they are first asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

Row = TypeVar("Row")


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
