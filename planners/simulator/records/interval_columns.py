"""Intervals of a trace as columns: one row an instruction on its engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planners.core.tables.table import Numbers, Small
from planners.simulator.records.column_rows import ColumnRows
from planners.simulator.records.interval import Cause, Interval

Seconds: TypeAlias = NDArray[np.float64]
CAUSES: tuple[Cause, ...] = (
    "",
    "read after write",
    "write after write",
    "write after read",
    "barrier",
)

_NAMES = ("engines", "labels")


@dataclass(frozen=True)
class IntervalColumns:
    """Intervals in program order, as `Interval` has them.

    `engine` and `label` are numbers of names, `cause` of `CAUSES`; `blocker` is -1 for none.
    """

    engines: tuple[str, ...]
    labels: tuple[str, ...]
    engine: Numbers
    label: Numbers
    start_s: Seconds
    stop_s: Seconds
    stall_s: Seconds
    instruction: Numbers
    step: Numbers
    cause: Small
    blocker: Numbers

    def __len__(self) -> int:
        return len(self.engine)

    def at(self, rows: Numbers) -> IntervalColumns:
        """Some of the intervals, in this order."""
        some = {field.name: getattr(self, field.name) for field in fields(self)}
        columns = {name: column[rows] for name, column in some.items() if name not in _NAMES}
        return replace(self, **columns)

    def intervals(self) -> tuple[Interval, ...]:
        """Every interval as an object."""
        rows = zip(
            [self.engines[at] for at in self.engine.tolist()],
            self.start_s.tolist(),
            self.stop_s.tolist(),
            self.instruction.tolist(),
            self.step.tolist(),
            [self.labels[at] for at in self.label.tolist()],
            self.stall_s.tolist(),
            [CAUSES[at] for at in self.cause.tolist()],
            [None if at < 0 else at for at in self.blocker.tolist()],
            strict=True,
        )
        return tuple([Interval(*row) for row in rows])

    def by_engine(self, seconds: Seconds) -> Mapping[str, float]:
        """The sum of some seconds of each interval, by engine in the order of their first."""
        sums = np.bincount(self.engine, seconds, len(self.engines)).tolist()
        seen = self.engine[np.sort(np.unique(self.engine, return_index=True)[1])].tolist()
        return {self.engines[at]: sums[at] for at in seen}

    @property
    def makespan_s(self) -> float:
        """When the last of them ends."""
        return float(self.stop_s.max(initial=0.0))


def columns_of_intervals(intervals: Iterable[Interval]) -> IntervalColumns:
    """Intervals as columns."""
    if isinstance(intervals, HeldIntervals):
        return intervals.columns
    some = list(intervals)
    engines, labels = _Numbered(), _Numbered()
    whole = np.array(
        [
            (
                engines[each.engine],
                labels[each.label],
                each.instruction,
                each.step,
                CAUSES.index(each.cause),
                -1 if each.blocker is None else each.blocker,
            )
            for each in some
        ],
        np.int64,
    ).reshape(len(some), 6)
    seconds = np.array([(i.start_s, i.stop_s, i.stall_s) for i in some], np.float64)
    start_s, stop_s, stall_s = seconds.reshape(len(some), 3).T
    engine, label, instruction, step, cause, blocker = whole.T
    return IntervalColumns(
        engines=tuple(engines),
        labels=tuple(labels),
        engine=engine,
        label=label,
        start_s=start_s,
        stop_s=stop_s,
        stall_s=stall_s,
        instruction=instruction,
        step=step,
        cause=cause.astype(np.uint8),
        blocker=blocker,
    )


class _Numbered(defaultdict[str, int]):
    """Names as numbers, in the order in which they are first seen."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


class HeldIntervals(ColumnRows[Interval]):
    """Intervals that are held as columns."""

    def __init__(self, columns: IntervalColumns) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def _some(self, rows: Numbers) -> tuple[Interval, ...]:
        return self.columns.at(rows).intervals()
