"""The scoreboard over columns: when each issue starts and ends, and which hazard it waited for.

`planners.simulator.timing.Scoreboard` keeps the same rules one instruction after the other: it
looks up who last wrote and read the bytes that an instruction names. Here `Waits` has answered that
for all instructions at once, and what is left is to compare the ends of those issues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planners.simulator.columns.waits import Waits
from planners.simulator.records.interval_columns import CAUSES

_READ_AFTER_WRITE = CAUSES.index("read after write")
_WRITE_AFTER_WRITE = CAUSES.index("write after write")
_WRITE_AFTER_READ = CAUSES.index("write after read")
_BARRIER = CAUSES.index("barrier")
_NO_CAUSE = CAUSES.index("")

_End = tuple[float, int]
"""When an issue ends, and which it is. Of those that end at one time the later issue counts."""
_START_OF_TIME: _End = (0.0, -1)


@dataclass(frozen=True, slots=True)
class IssueTimes:
    """By issue: seconds, and the hazard that it stalled for (of `CAUSES`) with whose end clears it.

    Where it did not stall, `blocker` is that of the hazard that cleared last, -1 for none.
    """

    start_s: list[float] = field(default_factory=list)
    stop_s: list[float] = field(default_factory=list)
    stall_s: list[float] = field(default_factory=list)
    cause: list[int] = field(default_factory=list)
    blocker: list[int] = field(default_factory=list)


def issue_times(
    waits: Waits, engines: Sequence[str], seconds: Sequence[float], serial: bool
) -> IssueTimes:
    """Start issues in program order, each once its engine is free and its hazards are cleared.

    `engines` and `seconds` have an entry for each issue. With `serial` each issue also starts after
    the end of all issues before it, and none counts as stalled.
    """
    times = IssueTimes()
    ends = _Ends(waits)
    end_s, issue = ends.end_s, ends.issue
    last_reads = _LastReads(waits, end_s)
    free_s = dict.fromkeys(engines, 0.0)
    last_end = barrier = _START_OF_TIME
    read_first, written_by = waits.reads
    span_first = waits.spans.first
    writer_first, writers = waits.writers
    for at, engine in enumerate(engines):
        if at in waits.barriers:
            barrier = max(barrier, last_end)
        if at in waits.several:
            ends.settle(waits.several[at])

        # The hazard that clears last: none may start before.
        (ready_s, blocker), cause = barrier, _BARRIER
        for writer in written_by[read_first[at] : read_first[at + 1]]:
            if end_s[writer] > ready_s:
                ready_s, blocker, cause = end_s[writer], issue[writer], _READ_AFTER_WRITE
        for span in range(span_first[at], span_first[at + 1]):
            begin, stop = writer_first[span], writer_first[span + 1]
            if begin == stop:
                continue  # Nothing lay in these bytes before.
            written_s, writer = max((end_s[each], each) for each in writers[begin:stop])
            if written_s > ready_s:
                ready_s, blocker, cause = written_s, writer, _WRITE_AFTER_WRITE
            read_s, reader = last_reads.before(at, waits.overwritten[begin:stop])
            if read_s > ready_s:
                ready_s, blocker, cause = read_s, reader, _WRITE_AFTER_READ

        # The engine.
        idle_s = free_s[engine]
        start_s = idle_s if idle_s > ready_s else ready_s
        if serial and last_end[0] > start_s:
            start_s = last_end[0]
        stop_s = start_s + seconds[at]
        end_s[at] = free_s[engine] = stop_s
        if (stop_s, at) > last_end:
            last_end = (stop_s, at)

        stalled = ready_s > idle_s and not serial
        times.start_s.append(start_s)
        times.stop_s.append(stop_s)
        times.stall_s.append(ready_s - idle_s if stalled else 0.0)
        times.cause.append(cause if stalled else _NO_CAUSE)
        times.blocker.append(blocker)
    return times


class _Ends:
    """When issues ended, by number: `end_s`, and `issue`, which one that is.

    After the issues come the slots of `waits.several`, each of which stands for the last of several
    stores to be settled; the last entry, number -1, is the start of time.
    """

    def __init__(self, waits: Waits) -> None:
        self.end_s = [0.0] * (len(waits) + waits.slots + 1)
        self.issue = [*range(len(waits)), *[-1] * (waits.slots + 1)]

    def settle(self, several: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Have each slot stand for that of its stores which ended last."""
        for slot, stores in several:
            self.end_s[slot], self.issue[slot] = max((self.end_s[each], each) for each in stores)


class _LastReads:
    """The last reads of residencies.

    Issues are asked about in program order, so those readers of a residency that have been compared
    once are not compared again: `_latest` has their maximum, `_next` the position of the next one.
    """

    def __init__(self, waits: Waits, end_s: Sequence[float]) -> None:
        self._first, self._readers = waits.readers
        self._end_s = end_s
        self._next = list(self._first)
        self._latest = [_START_OF_TIME] * (len(self._first) - 1)

    def before(self, at: int, residencies: Sequence[int]) -> _End:
        """The latest end of those readers of some residencies (-1: none) that come before `at`."""
        last = _START_OF_TIME
        readers, first = self._readers, self._first
        for residency in residencies:
            if residency < 0:
                continue
            position, stop = self._next[residency], first[residency + 1]
            latest = self._latest[residency]
            if position < stop and readers[position] < at:
                while position < stop and (reader := readers[position]) < at:
                    end = (self._end_s[reader], reader)
                    if end > latest:
                        latest = end
                    position += 1
                self._next[residency], self._latest[residency] = position, latest
            if latest > last:
                last = latest
        return last
