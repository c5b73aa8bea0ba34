"""Times in bundles: an interval for each instruction of a bundled program."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import planners as sp
from planners.core.tables.distinct import distinct
from planners.core.tables.table import Numbers
from planners.simulator.records.interval_columns import CAUSES, IntervalColumns


def bundled_intervals(times: IntervalColumns, place: Numbers) -> Iterator[sp.Interval]:
    """One interval for each instruction of the bundled program, one after the other in an engine.

    Pixels of several operators alternate within a row: each operator gets its seconds of the row in
    one piece, so that sums over operators and engines are unchanged. The last of an engine
    ends when its last instruction does. `place` has where each instruction is in the bundled
    program.
    """
    _, row = distinct(times.step, times.engine)
    first_of_row = np.full(int(row.max(initial=-1)) + 1, len(row))
    np.minimum.at(first_of_row, row, np.arange(len(row)))
    _, which = distinct(first_of_row[row], place[times.instruction])
    first = np.full(int(which.max(initial=-1)) + 1, len(which))
    np.minimum.at(first, which, np.arange(len(which)))
    busy = np.bincount(which, times.stop_s - times.start_s, len(first)).tolist()
    stall = np.bincount(which, times.stall_s, len(first)).tolist()
    longest = np.lexsort((np.arange(len(which)), -times.stall_s, which))
    longest = longest[np.searchsorted(which[longest], np.arange(len(first)))]
    order = np.lexsort((first, first_of_row[row][first]))
    heads = first[order].tolist()
    begun = times.start_s[first].tolist()
    ends = np.zeros(len(first))
    np.maximum.at(ends, which, times.stop_s)
    last = dict(zip(times.engine[first[order]].tolist(), order.tolist(), strict=True))
    at, of = 0.0, -1
    earliest = np.full(len(first_of_row), np.inf)
    np.minimum.at(earliest, row[first], times.start_s[first])
    for group, head in zip(order.tolist(), heads, strict=True):
        if int(row[head]) != of:
            of = int(row[head])
            at = float(earliest[of])
        most = int(longest[group])
        start = at if begun[group] <= at else at + stall[group]
        if last[int(times.engine[head])] == group:
            start = max(start, float(ends[group]) - busy[group])
        blocker = int(times.blocker[most])
        yield sp.Interval(
            engine=times.engines[times.engine[most]],
            start_s=start,
            stop_s=start + busy[group],
            instruction=int(place[times.instruction[head]]),
            step=int(times.step[most]),
            label=times.labels[times.label[most]],
            stall_s=stall[group],
            cause=CAUSES[times.cause[most]],
            blocker=int(place[blocker]) if blocker >= 0 and stall[group] else None,
        )
        at = start + busy[group]
