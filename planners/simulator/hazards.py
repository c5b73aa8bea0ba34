"""When may an address range be read or written? Ranges remember who last read and wrote them."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Event(NamedTuple):
    """The end of an instruction: when, and which (-1 for the start of time)."""

    time_s: float
    instruction: int


START = Event(0.0, -1)


class Hazards:
    """Last write and last read of each byte range of one memory, split only where needed."""

    def __init__(self) -> None:
        self._starts: list[int] = [0]
        self._writes: list[Event] = [START]
        self._reads: list[Event] = [START]

    def last_write(self, start: int, stop: int) -> Event:
        """Latest end of a write that touches `[start, stop)`: a reader waits for it."""
        first, last = self._touched(start, stop)
        return max(self._writes[first:last])

    def last_read(self, start: int, stop: int) -> Event:
        """Latest end of a read since the last write in `[start, stop)`: a writer waits for it."""
        first, last = self._touched(start, stop)
        return max(self._reads[first:last])

    def read(self, start: int, stop: int, event: Event) -> None:
        """A read of `[start, stop)` ends at `event`."""
        first, last = self._split(start), self._split(stop)
        for at in range(first, last):
            self._reads[at] = max(self._reads[at], event)

    def write(self, start: int, stop: int, event: Event) -> None:
        """A write of `[start, stop)` ends at `event`; older reads there are settled."""
        first, last = self._split(start), self._split(stop)
        self._starts[first:last] = [start]
        self._writes[first:last] = [event]
        self._reads[first:last] = [START]

    def delay(self, since: int, seconds: float) -> None:
        """What instructions from `since` on have done ends so much later."""
        for events in (self._writes, self._reads):
            for at, event in enumerate(events):
                if event.instruction >= since:
                    events[at] = Event(event.time_s + seconds, event.instruction)

    def _touched(self, start: int, stop: int) -> tuple[int, int]:
        first = bisect_right(self._starts, start) - 1
        return first, max(first + 1, bisect_right(self._starts, stop - 1))

    def _split(self, at: int) -> int:
        """The position of the range that begins at `at`, cut from the one around it if needed."""
        index = bisect_right(self._starts, at) - 1
        if self._starts[index] != at:
            index += 1
            self._starts.insert(index, at)
            self._writes.insert(index, self._writes[index - 1])
            self._reads.insert(index, self._reads[index - 1])
        return index
