"""What was found of a thing last, by each thread: who asks again of the very same is not kept
waiting. It is forgotten with the thing."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Known(Generic[T]):
    thing: weakref.ref[Any]
    how: tuple[object, ...]
    found: T


class Last(Generic[T]):
    """What was found of the `most` things asked last, told by identity, each when asked in one way,
    told by equality."""

    def __init__(self, most: int = 1) -> None:
        self._most, self._of_thread = most, threading.local()

    @property
    def _mine(self) -> dict[int, _Known[T]]:
        """What this thread knows, by the number of the thing, the oldest first."""
        mine: dict[int, _Known[T]] = self._of_thread.__dict__.setdefault("mine", {})
        return mine

    def get(self, thing: object, *how: object) -> T | None:
        """What was found; None where it is not what was found last."""
        known = self.of(thing)
        return known[1] if known is not None and known[0] == how else None

    def of(self, thing: object) -> tuple[tuple[object, ...], T] | None:
        """The way in which a thing was asked last, and what was found; None as above."""
        known = self._mine.get(id(thing))
        return (known.how, known.found) if known is not None and known.thing() is thing else None

    def keep(self, found: T, thing: object, *how: object) -> None:
        """Remember what was found of a thing as long as it is there."""
        mine, number = self._mine, id(thing)

        def forget(gone: weakref.ref[Any]) -> None:
            if (known := mine.get(number)) is not None and known.thing is gone:
                del mine[number]

        mine.pop(number, None)
        mine[number] = _Known(weakref.ref(thing, forget), how, found)
        while len(mine) > self._most:
            mine.pop(next(iter(mine)), None)
