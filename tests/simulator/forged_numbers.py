"""Plans as files with one number of their claims or details changed."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import planners as sp

PARTS = ("claims", "details")


def numbers(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of plain data are."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from numbers(value, (*path, name))
    elif isinstance(data, list):
        for number in {0, 1, len(data) - 1} & set(range(len(data))):  # All others are alike.
            yield from numbers(data[number], (*path, number))
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield path


def name_of(path: tuple[Any, ...]) -> str:
    """A path without the positions in lists."""
    return re.sub(r"\.\d+", "[]", ".".join(map(str, path)))


def changed(value: float) -> Iterator[float]:
    """Other values that a forger might write."""
    yield from (type(value)(value / 2), 0, -1, value * 2 + 1)


def accepted(plan: sp.Plan) -> Iterator[tuple[str, float]]:
    """The numbers, by name and other value, that `check` lets pass."""
    data = plan.to_json()
    for path in numbers({part: data[part] for part in PARTS if part in data}):
        *inner, last = path
        for value in changed(_at(data, path)):
            if value == _at(data, path):
                continue
            forged = copy.deepcopy(data)
            _at(forged, tuple(inner))[last] = value
            try:
                sp.check(sp.Plan.from_json(forged))
            except sp.SpillwayError:
                continue
            yield name_of(path), value


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        data = data[name]
    return data
