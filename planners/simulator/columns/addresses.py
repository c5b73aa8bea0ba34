"""Do residencies overwrite one another, which lay in others' bytes, and how many are on chip?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planners.core.tables.table import COMPUTE, Numbers
from planners.simulator.columns.operands import Operands, Spans
from planners.simulator.columns.pairing import FOREVER, PHASES, PairedResidencies
from planners.simulator.columns.undecided import require

BLOCK = 4096
"""Spans that are placed at once: many meet few cells, as groups lay out the memory anew."""


class Owners(NamedTuple):
    """Whose bytes spans take: by `span` (of `spans`, in order) what residencies lay there last."""

    spans: Spans
    span: Numbers
    residency: Numbers


def placed(operands: Operands, residencies: PairedResidencies) -> Owners:
    """The spans of all residencies in order of placing, and whose bytes they take.

    Raises `Undecided` where one takes bytes of a residency that has not ended.
    """
    own_bytes = operands.own_bytes[residencies.place]
    settles = np.flatnonzero(residencies.wide != own_bytes)
    end = residencies.end.copy()
    end[settles] = residencies.complete[settles] + 1  # Then its own bytes are taken anew.
    wide = operands.spans(residencies.place, residencies.wide)
    rest = operands.spans(residencies.place[settles], own_bytes[settles])
    residency = np.concatenate((wide.row, settles[rest.row]))
    start, stop = (np.concatenate(both) for both in zip(wide[1:], rest[1:], strict=True))
    begins = np.concatenate((residencies.begin[wide.row], end[settles[rest.row]]))
    ends = np.concatenate((end[wide.row], residencies.end[settles[rest.row]]))
    order = np.argsort(begins, kind="stable")
    spans = Spans(residency[order], start[order], stop[order])
    begins, ends = begins[order], ends[order]
    owners_by_part: list[tuple[Numbers, Numbers]] = []
    root = operands.root[residencies.place][spans.row]
    for each in np.unique(root).tolist():
        rows = np.flatnonzero(root == each)
        some = Spans(spans.row[rows], spans.start[rows], spans.stop[rows])
        span, before = _owners(some, begins[rows], ends[rows])
        owners_by_part.append((rows[span], spans.row[rows[before]]))
    pairs = [np.concatenate(column) for column in zip(*owners_by_part, strict=True)]
    span, owner = pairs or [np.zeros(0, np.int64)] * 2
    order = np.argsort(span, kind="stable")
    return Owners(spans, span[order], owner[order])


def _owners(spans: Spans, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """Spans, in order of time, each with those that lay there before it.

    Block by block: the ends of a block's spans cut the memory into cells, in each of which spans
    come one after the other; the first of a block takes what the blocks before it left there.
    """
    require(spans.start < spans.stop)
    edges = np.unique(np.concatenate((spans.start, spans.stop)))
    low, high = np.searchsorted(edges, spans.start), np.searchsorted(edges, spans.stop)
    left = np.full(len(edges), -1)  # by stretch between ends of any spans: who lay there last
    owners = []
    for first in range(0, len(low), BLOCK):
        some = slice(first, first + BLOCK)
        ends_here = np.unique(np.concatenate((low[some], high[some])))
        span, cell = _expanded(*(np.searchsorted(ends_here, x[some]) for x in (low, high)))
        order = np.argsort(cell.astype(np.uint16), kind="stable")
        span, cell = span[order] + first, cell[order]
        changes = np.flatnonzero(cell[1:] != cell[:-1])
        begun, over = np.append(0, changes + 1), np.append(changes, len(cell) - 1)
        within, at = _expanded(ends_here[cell[begun]], ends_here[cell[begun] + 1])
        follows = np.flatnonzero(cell[1:] == cell[:-1])
        after = np.concatenate((span[begun][within], span[follows + 1]))
        before = np.concatenate((left[at], span[follows]))
        left[at] = span[over][within]
        fresh = before >= 0  # Most cells of a span were those of one other.
        fresh[1:] &= (before[1:] != before[:-1]) | (after[1:] != after[:-1])
        owners.append(np.unique(after[fresh] * len(low) + before[fresh]))
    after, before = np.divmod(np.concatenate(owners), len(low))
    require(ends[before] <= begins[after], begins[after] // PHASES)
    return after, before


def _expanded(first: Numbers, stop: Numbers) -> tuple[Numbers, Numbers]:
    """All numbers of some ranges, each with the position of its range before it."""
    counts = stop - first
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - (np.cumsum(counts) - counts)[which] + first[which]


def extent(operands: Operands, residencies: PairedResidencies, spans: Spans) -> int:
    """The end of the highest byte on chip that is ever taken."""
    onchip = ~operands.offchip[residencies.place][spans.row]
    return int(spans.stop[onchip].max(initial=0))


def occupancy(operands: Operands, residencies: PairedResidencies) -> tuple[int, ...]:
    """The most bytes on chip in each step, seen at each placing and after each compute."""
    table = operands.table
    onchip = np.flatnonzero(~operands.offchip[residencies.place])
    own_bytes = operands.own_bytes[residencies.place[onchip]]
    wide, end = residencies.wide[onchip], residencies.end[onchip]
    settles = np.flatnonzero(wide != own_bytes)
    gone = np.flatnonzero(end < FOREVER)
    time = np.concatenate(
        (residencies.begin[onchip], residencies.complete[onchip][settles] + 1, end[gone])
    )
    delta = np.concatenate((wide, (own_bytes - wide)[settles], -own_bytes[gone]))
    placing = np.arange(len(time)) < len(onchip)
    order = np.argsort(time, kind="stable")
    time, placing = time[order], placing[order]
    held_bytes = np.cumsum(delta[order])
    most = np.zeros(len(operands.program.steps), np.int64)
    np.maximum.at(most, table.step[time[placing] // PHASES], held_bytes[placing])
    computes = np.flatnonzero(table.kind == COMPUTE)
    after = np.searchsorted(time, (computes + 1) * PHASES) - 1
    seen = after >= 0
    np.maximum.at(most, table.step[computes[seen]], held_bytes[after[seen]])
    return tuple(most.tolist())
