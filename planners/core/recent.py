"""The last few things that a thread has made: what is asked again goes on from what is known."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The last `most` things of a kind that this thread has made; other threads have their own."""

    def __init__(self, most: int) -> None:
        self._most, self._of_thread = most, threading.local()

    def get(self, is_it: Callable[[T], bool], make: Callable[[], T]) -> T:
        """The one that is what is wanted, or a new one."""
        known = self._known()
        found = next((each for each in known if is_it(each)), None)
        if found is None:
            found = make()
            known.append(found)
        return found

    def __iter__(self) -> Iterator[T]:
        """What is known, the oldest first."""
        return iter(tuple(self._known()))

    def _known(self) -> deque[T]:
        known: deque[T] = self._of_thread.__dict__.setdefault("known", deque(maxlen=self._most))
        return known
