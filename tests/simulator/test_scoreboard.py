"""What the scoreboard over columns promises, each on waits of a few issues written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planners.simulator.columns.scoreboard import IssueTimes, issue_times
from planners.simulator.columns.waits import Lists
from planners.simulator.records.interval_columns import CAUSES


def lists(by_key: Mapping[int, Sequence[int]], count: int) -> Lists:
    first, values = [0], list[int]()
    for key in range(count):
        values += by_key.get(key, ())
        first.append(len(values))
    return Lists(first, values)


@dataclass(frozen=True)
class HandWaits:
    """`Waits` by hand: `overwrites` has, by issue, the writer and the residency of each of the
    spans that it writes, and `reading` the issues that read each residency."""

    issues: int
    writers_of_reads: Mapping[int, Sequence[int]] = field(default_factory=dict)
    overwrites: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)
    reading: Mapping[int, Sequence[int]] = field(default_factory=dict)
    barriers: frozenset[int] = frozenset()
    several: Mapping[int, Sequence[tuple[int, Sequence[int]]]] = field(default_factory=dict)
    slots: int = 0

    def __len__(self) -> int:
        return self.issues

    @property
    def reads(self) -> Lists:
        return lists(self.writers_of_reads, self.issues)

    @property
    def spans(self) -> Lists:
        counts = {at: [0] * len(spans) for at, spans in self.overwrites.items()}
        return lists(counts, self.issues)

    @property
    def _taken(self) -> list[tuple[int, int]]:
        return [span for at in sorted(self.overwrites) for span in self.overwrites[at]]

    @property
    def writers(self) -> Lists:
        by_span = {span: [writer] for span, (writer, _) in enumerate(self._taken)}
        return lists(by_span, len(self._taken))

    @property
    def overwritten(self) -> list[int]:
        return [residency for _, residency in self._taken]

    @property
    def readers(self) -> Lists:
        return lists(self.reading, len(self.reading))


def times_of(waits: HandWaits, engines: str, seconds: Sequence[float], **more: bool) -> IssueTimes:
    """Engines by their first letters: `icox` is a load, a compute, a store and a copy."""
    named = [
        {"i": "dma_in", "c": "compute", "o": "dma_out", "x": "copy"}[letter] for letter in engines
    ]
    return issue_times(waits, named, seconds, more.get("serial", False))  # type: ignore[arg-type]


def causes(times: IssueTimes) -> list[str]:
    return [CAUSES[cause] for cause in times.cause]


def test_engines_run_side_by_side_and_each_in_program_order() -> None:
    times = times_of(HandWaits(4), "icic", [2, 3, 1, 1])
    assert times.start_s == [0, 0, 2, 3]
    assert times.stop_s == [2, 3, 3, 4]
    assert times.stall_s == [0, 0, 0, 0]
    assert causes(times) == [""] * 4, "to wait for an engine is no stall"


def test_a_read_waits_for_the_last_of_its_writers() -> None:
    times = times_of(HandWaits(3, writers_of_reads={2: [0, 1]}), "ioc", [2, 5, 1])
    assert (times.start_s[2], times.stall_s[2], times.blocker[2]) == (5, 5, 1)
    assert causes(times)[2] == "read after write"


def test_a_write_waits_for_who_wrote_there_and_for_who_read_it() -> None:
    """Issue 0 loads, 1 reads it for four seconds, 2 loads into the same bytes."""
    read = HandWaits(3, {1: [0]}, {2: [(0, 0)]}, {0: [1]})
    times = times_of(read, "ici", [2, 4, 1])
    assert (times.start_s[2], times.stall_s[2], times.blocker[2]) == (6, 4, 1)
    assert causes(times)[2] == "write after read"
    unread = HandWaits(3, {}, {2: [(0, 0)]}, {0: []})
    times = times_of(unread, "ico", [2, 4, 1])
    assert (times.start_s[2], times.stall_s[2], times.blocker[2]) == (2, 2, 0)
    assert causes(times)[2] == "write after write"


def test_readers_that_come_later_are_not_waited_for_and_none_is_forgotten() -> None:
    """Of one residency issues 1 and 3 are readers; 2 and 4 write into its bytes."""
    waits = HandWaits(5, {}, {2: [(0, 0)], 4: [(0, 0)]}, {0: [1, 3]})
    times = times_of(waits, "icoco", [1, 2, 1, 9, 1])
    assert (times.start_s[2], times.blocker[2]) == (2, 1)
    assert (times.start_s[4], times.blocker[4]) == (11, 3)


def test_what_lay_nowhere_before_is_not_waited_for() -> None:
    times = times_of(HandWaits(2, {}, {1: [(-1, -1)]}, {}), "ic", [5, 1])
    assert (times.start_s[1], times.stall_s[1], causes(times)[1]) == (0, 0, "")


def test_behind_a_barrier_all_in_front_of_it_has_ended() -> None:
    times = times_of(HandWaits(3, barriers=frozenset({2})), "oci", [2, 7, 1])
    assert (times.start_s[2], times.stall_s[2], times.blocker[2]) == (7, 7, 1)
    assert causes(times)[2] == "barrier"


def test_of_several_stores_the_one_that_ends_last_is_waited_for() -> None:
    """The load of issue 2 reads what 0 and 1 stored: number 3, beyond the issues, is both."""
    waits = HandWaits(3, {2: [3]}, several={2: [(3, [0, 1])]}, slots=1)
    assert times_of(waits, "oci", [8, 3, 1]).blocker[2] == 0
    times = times_of(waits, "oci", [2, 3, 1])
    assert (times.start_s[2], times.blocker[2], causes(times)[2]) == (3, 1, "read after write")


def test_of_hazards_that_clear_at_one_time_the_first_is_said_and_of_its_readers_the_last() -> None:
    """As in the scoreboard of instructions: reads, then writers, then readers of what lay there."""
    waits = HandWaits(4, {3: [0, 1]}, {3: [(2, 0)]}, {0: [2]})
    times = times_of(waits, "coix", [4, 4, 4, 1])
    assert (times.start_s[3], times.blocker[3], causes(times)[3]) == (4, 0, "read after write")
    waits = HandWaits(4, {}, {3: [(0, 0)]}, {0: [1, 2]})
    times = times_of(waits, "coix", [1, 4, 4, 1])
    assert (times.start_s[3], times.blocker[3], causes(times)[3]) == (4, 2, "write after read")


def test_serial_issues_start_one_after_the_other_and_never_stall() -> None:
    times = times_of(HandWaits(3, {1: [0], 2: [1]}), "ico", [2, 3, 1], serial=True)
    assert times.start_s == [0, 2, 5]
    assert causes(times) == [""] * 3
    assert times.stall_s == [0, 0, 0]
    assert times.blocker[1:] == [0, 1]


def test_no_issue_takes_no_time() -> None:
    assert times_of(HandWaits(0), "", []).start_s == []
