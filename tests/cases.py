"""How many cases the tests of properties try: in the usual run, and times four with `--all`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

USUAL = 50
MANY = 200


def cases(usual: int, many: int | None = None) -> int:
    """As many in the usual run; with `--all` `many`, or more as Hypothesis's own number grows."""
    if many is not None:
        return usual if settings.default.max_examples <= USUAL else many
    return usual * settings.default.max_examples // USUAL


def in_turn(names: Iterable[Any], others: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Parameters: all names with all others; in the usual run each name with one, in turn.

    The rest is `long`, and so is all of a name that is a parameter marked so.
    """
    found = []
    for number, name in enumerate(names):
        value, marks = (name.values[0], name.marks) if hasattr(name, "marks") else (name, ())
        for at, other in enumerate(others):
            seldom = (pytest.mark.long,) if at != number % len(others) and not marks else ()
            found.append(pytest.param(value, *other, marks=(*marks, *seldom)))
    return found
