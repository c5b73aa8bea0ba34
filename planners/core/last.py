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
    """What was found of one thing, told by identity, when asked in one way, told by equality."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def get(self, thing: object, *how: object) -> T | None:
        """What was found; None where it is not what was found last."""
        known = self.of(thing)
        return known[1] if known is not None and known[0] == how else None

    def of(self, thing: object) -> tuple[tuple[object, ...], T] | None:
        """The way in which a thing was asked last, and what was found; None as above."""
        known: _Known[T] | None = getattr(self._of_thread, "known", None)
        return (known.how, known.found) if known is not None and known.thing() is thing else None

    def keep(self, found: T, thing: object, *how: object) -> None:
        """Remember what was found of a thing as long as it is there."""
        mine = self._of_thread.__dict__

        def forget(gone: weakref.ref[Any]) -> None:
            if (known := mine.get("known")) is not None and known.thing is gone:
                del mine["known"]

        mine["known"] = _Known(weakref.ref(thing, forget), how, found)
