"""Where a network calls the same modules again and again, one call after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_TIMES, LEAST_LONG = 3, 4
"""Fewer calls, or calls of fewer operators, are drawn as they are."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Operators from `start` on: `times` calls of `period` operators each."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        """Behind the last call."""
        return self.start + self.period * self.times


def called_apart(tokens: Sequence[tuple[str, str]]) -> list[str]:
    """The module path of each operator, with the call first where modules are called again and
    again: each call is a block of its own, whose modules are within it."""
    paths = [path for path, _ in tokens]
    if (repeat := repeat_in(tokens)) is None:
        return paths
    for k in range(repeat.times):
        start = repeat.start + k * repeat.period
        for i in range(start, start + repeat.period):
            paths[i] = ".".join(filter(None, (f"call {k + 1} of {repeat.times}", paths[i])))
    return paths


def repeat_in(tokens: Sequence[tuple[str, str]]) -> Repetition | None:
    """The repetition that covers most operators, given by module path and kind each; of those that
    cover as many, the one of the shortest calls.

    Time is quadratic in operators, and linear where no module is called twice.
    """
    if not _called_again([path for path, _ in tokens]):
        return None
    number_of: dict[tuple[str, str], int] = {}
    numbers = np.array([number_of.setdefault(token, len(number_of)) for token in tokens], np.int32)
    best: Repetition | None = None
    for period in range(LEAST_LONG, len(numbers) // LEAST_TIMES + 1):
        same = numbers[:-period] == numbers[period:]
        start, length = _longest(same)
        times = length // period + 1
        if times >= LEAST_TIMES and (best is None or times * period > best.times * best.period):
            best = Repetition(start, period, times)
    return best


def _called_again(paths: Sequence[str]) -> bool:
    """Whether a module comes back after another one ran."""
    seen: set[str] = set()
    before = ""
    for path in paths:
        if path and path != before:
            if path in seen:
                return True
            seen.add(path)
        before = path
    return False


def _longest(same: np.ndarray) -> tuple[int, int]:
    """Start and length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.astype(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    at = int(lengths.argmax())
    return int(starts[at]), int(lengths[at])
