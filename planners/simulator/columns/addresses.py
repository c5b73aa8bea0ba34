"""Do stays overwrite one another, which lay where others are placed, and how much is on chip?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

from planners.core.tables.table import COMPUTE, Numbers
from planners.simulator.columns.operands import Operands, Spans
from planners.simulator.columns.stays import FOREVER, PHASES, Stays
from planners.simulator.columns.unsure import Unsure, require

CELLS_A_SPAN = 12
"""Stretches between ends of spans that a span has, on average, where they are listed one by one."""


class Owners(NamedTuple):
    """Whose bytes spans take: by `span` (of `spans`, in order), the stays that lay there last."""

    spans: Spans
    span: Numbers
    stay: Numbers


def placed(operands: Operands, stays: Stays) -> Owners:
    """The spans of all stays in order of placing, and whose bytes they take.

    Raises `Unsure` where one takes bytes of a stay that has not ended.
    """
    own = operands.own_bytes[stays.place]
    settles = np.flatnonzero(stays.wide != own)
    end = stays.end.copy()
    end[settles] = stays.complete[settles] + 1  # Then its own bytes are taken anew.
    wide = operands.spans(stays.place, stays.wide)
    rest = operands.spans(stays.place[settles], own[settles])
    stay = np.concatenate((wide.row, settles[rest.row]))
    start, stop = (np.concatenate(both) for both in zip(wide[1:], rest[1:], strict=True))
    begins = np.concatenate((stays.begin[wide.row], end[settles[rest.row]]))
    ends = np.concatenate((end[wide.row], stays.end[settles[rest.row]]))
    order = np.argsort(begins, kind="stable")
    spans = Spans(stay[order], start[order], stop[order])
    begins, ends = begins[order], ends[order]
    found: list[tuple[Numbers, Numbers]] = []
    root = operands.root[stays.place][spans.row]
    for each in np.unique(root).tolist():
        rows = np.flatnonzero(root == each)
        some = Spans(spans.row[rows], spans.start[rows], spans.stop[rows])
        by_cell = _by_cell(some, begins[rows], ends[rows])
        span, before = _by_sweep(some, begins[rows], ends[rows]) if by_cell is None else by_cell
        found.append((rows[span], spans.row[rows[before]]))
    pairs = [np.concatenate(column) for column in zip(*found, strict=True)]
    span, owner = pairs or [np.zeros(0, np.int64)] * 2
    order = np.argsort(span, kind="stable")
    return Owners(spans, span[order], owner[order])


def _by_cell(spans: Spans, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers] | None:
    """Spans, in order of time, each with those that lay there before it; None for too many cells.

    Cells are the stretches between ends of spans: in each, spans come one after the other.
    """
    edges = np.unique(np.concatenate((spans.start, spans.stop)))
    low, high = np.searchsorted(edges, spans.start), np.searchsorted(edges, spans.stop)
    counts = high - low
    if int(counts.sum()) > CELLS_A_SPAN * len(counts):
        return None
    span = np.repeat(np.arange(len(counts)), counts)
    cell = np.arange(len(span)) - (np.cumsum(counts) - counts)[span] + low[span]
    order = np.argsort(cell.astype(np.uint16) if len(edges) <= 1 << 16 else cell, kind="stable")
    follows = np.flatnonzero(cell[order[1:]] == cell[order[:-1]])
    before = np.full(len(span), -1)
    before[order[follows + 1]] = span[order[follows]]
    fresh = before >= 0  # Most cells of a span were those of one other.
    fresh[1:] &= (before[1:] != before[:-1]) | (span[1:] != span[:-1])
    after, before = span[fresh], before[fresh]
    require(ends[before] <= begins[after])
    pairs = np.unique(after * len(counts) + before)
    return pairs // max(1, len(counts)), pairs % max(1, len(counts))


def _by_sweep(spans: Spans, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """The same, span by span: each range of addresses remembers which span took it last."""
    edges, owners = [-1], [-1]
    after: list[int] = []
    before: list[int] = []
    until, since = ends.tolist(), begins.tolist()
    pairs = zip(spans.start.tolist(), spans.stop.tolist(), strict=True)
    for at, (start, stop) in enumerate(pairs):
        first, last = bisect_right(edges, start) - 1, bisect_left(edges, stop)
        here = owners[first:last]
        for owner in dict.fromkeys(here):
            if owner >= 0:
                if until[owner] > since[at]:
                    raise Unsure
                after.append(at)
                before.append(owner)
        left = [edges[first]] if edges[first] < start else []
        right = [stop] if last == len(edges) or edges[last] > stop else []
        edges[first:last] = [*left, start, *right]
        owners[first:last] = [*here[: len(left)], at, *here[-1:][: len(right)]]
    return np.array(after, np.int64), np.array(before, np.int64)


def extent(operands: Operands, stays: Stays, spans: Spans) -> int:
    """The end of the highest byte on chip that is ever taken."""
    onchip = ~operands.offchip[stays.place][spans.row]
    return int(spans.stop[onchip].max(initial=0))


def occupancy(operands: Operands, stays: Stays) -> tuple[int, ...]:
    """The most bytes on chip in each step, seen at each placing and after each compute."""
    table = operands.table
    onchip = np.flatnonzero(~operands.offchip[stays.place])
    own = operands.own_bytes[stays.place[onchip]]
    wide, end = stays.wide[onchip], stays.end[onchip]
    settles = np.flatnonzero(wide != own)
    gone = np.flatnonzero(end < FOREVER)
    time = np.concatenate((stays.begin[onchip], stays.complete[onchip][settles] + 1, end[gone]))
    delta = np.concatenate((wide, (own - wide)[settles], -own[gone]))
    placing = np.arange(len(time)) < len(onchip)
    order = np.argsort(time, kind="stable")
    time, placing = time[order], placing[order]
    held = np.cumsum(delta[order])
    most = np.zeros(len(operands.program.steps), np.int64)
    np.maximum.at(most, table.step[time[placing] // PHASES], held[placing])
    computes = np.flatnonzero(table.kind == COMPUTE)
    after = np.searchsorted(time, (computes + 1) * PHASES) - 1
    seen = after >= 0
    np.maximum.at(most, table.step[computes[seen]], held[after[seen]])
    return tuple(most.tolist())
