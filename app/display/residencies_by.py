"""Residencies of a plan by tensor, and by the step that ended them, each made when it is asked for.

A long program has a hundred thousand of them, of which a page tells a few: they stay columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

import planners as sp
from planners.core.tables.table import Numbers
from planners.simulator.records.residency_columns import ResidencyColumns

Residencies: TypeAlias = tuple[sp.Residency, ...]
Key = TypeVar("Key")


class ResidenciesBy(Mapping[Key, Residencies]):
    """Residencies in program order, by a key of each: row `k` has the key `keys[number[k]]`, and
    none where `number[k]` is -1."""

    def __init__(self, columns: ResidencyColumns, keys: Sequence[Key], number: Numbers) -> None:
        self._columns = columns
        self._order = np.argsort(number, kind="stable")
        present, first = np.unique(number[self._order], return_index=True)
        stops = np.append(first[1:], len(number))
        rows = zip(present.tolist(), first.tolist(), stops.tolist(), strict=True)
        self._rows = {keys[at]: (begin, end) for at, begin, end in rows if at >= 0}
        self._made: dict[Key, Residencies] = {}

    def __getitem__(self, key: Key) -> Residencies:
        if key not in self._made:
            begin, end = self._rows[key]
            self._made[key] = self._columns.at(self._order[begin:end]).residencies()
        return self._made[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def by_tensor(columns: ResidencyColumns) -> ResidenciesBy[str]:
    """The residencies of each tensor."""
    return ResidenciesBy(columns, columns.tensors, columns.tensor)


def by_last_step(columns: ResidencyColumns, steps: int) -> ResidenciesBy[int]:
    """The residencies that an instruction ended, by its step."""
    ended = np.where(columns.stop_instruction >= 0, columns.stop_step - 1, -1)
    return ResidenciesBy(columns, range(steps), ended)
