"""Small caches of each thread: results by the identity of an object, and the last objects made."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    key: weakref.ref[Any]
    arguments: tuple[object, ...]
    result: T


class IdentityCache(Generic[T]):
    """Results computed of the last `size` objects, which are told apart by identity, not by value:
    programs and tables of a million rows are never hashed nor compared.

    One entry an object: its result with the arguments it was asked with last, compared by equality.
    An entry holds its object by a weak reference and goes with it, so that the number of an object
    that is gone, given to another, finds nothing.
    """

    def __init__(self, size: int = 1) -> None:
        self._size, self._of_thread = size, threading.local()

    @property
    def _entries(self) -> dict[int, _Entry[T]]:
        """The entries of this thread by `id` of their objects, the oldest first."""
        entries: dict[int, _Entry[T]] = self._of_thread.__dict__.setdefault("entries", {})
        return entries

    def get(self, key: object, *arguments: object) -> T | None:
        """The result for an object and these arguments; None where it is not held."""
        entry = self.entry(key)
        return entry[1] if entry is not None and entry[0] == arguments else None

    def entry(self, key: object) -> tuple[tuple[object, ...], T] | None:
        """The arguments and the result held for an object; None where nothing is."""
        entry = self._entries.get(id(key))
        return (entry.arguments, entry.result) if entry and entry.key() is key else None

    def keep(self, result: T, key: object, *arguments: object) -> None:
        """Hold the result for an object as long as the object lives."""
        entries, number = self._entries, id(key)

        def forget(gone: weakref.ref[Any]) -> None:
            if (entry := entries.get(number)) is not None and entry.key is gone:
                del entries[number]

        entries.pop(number, None)
        entries[number] = _Entry(weakref.ref(key, forget), arguments, result)
        while len(entries) > self._size:
            entries.pop(next(iter(entries)), None)


class RecentObjects(Generic[T]):
    """The last `size` objects of a kind that this thread has made; other threads have their own."""

    def __init__(self, size: int) -> None:
        self._size, self._of_thread = size, threading.local()

    @property
    def _objects(self) -> deque[T]:
        objects: deque[T] = self._of_thread.__dict__.setdefault("objects", deque(maxlen=self._size))
        return objects

    def get(self, is_wanted: Callable[[T], bool], make: Callable[[], T]) -> T:
        """The first object held that is the wanted one, or a new one."""
        objects = self._objects
        wanted = next((each for each in objects if is_wanted(each)), None)
        if wanted is None:
            wanted = make()
            objects.append(wanted)
        return wanted

    def __iter__(self) -> Iterator[T]:
        """The objects held, the oldest first."""
        return iter(tuple(self._objects))
