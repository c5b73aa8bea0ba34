"""What is on chip in bundles: workspaces as a whole, and pixels that come and go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from planners.core.program import Piece, Span, whole
from planners.core.tables.boxes import boxes_of, merged
from planners.core.tables.distinct import distinct
from planners.core.tables.table import Numbers
from planners.simulator.records.residency_columns import ENDINGS, ORIGINS, ResidencyColumns


def bundled_stays(
    shown: DisplayedPlan, residencies: ResidencyColumns, bounds: Numbers, firsts: Sequence[int]
) -> Iterator[sp.Residency]:
    """Workspaces during their run, then pixels of tensors that come and go together.

    `shown` has the bundled program, whose steps begin at `firsts`; `bounds` has where each step
    begins in the program whose `residencies` these are, and its end.
    """
    pool = shown.pool
    assert pool is not None
    memory = shown.plan.machine.onchip
    inner = set()
    for run in pool.runs:
        for buffer in run.run.buffers:
            inner.add(buffer.tensor)
            spans = [Span(memory, *r) for r in pool.ranges(buffer.offset, buffer.size_bytes)]
            piece = whole(shown.graph.tensors[buffer.tensor])
            yield _stay(piece, memory, spans, (run.start_step, run.stop_step), firsts)
    others = np.flatnonzero([name not in inner for name in residencies.tensors])
    rows = np.flatnonzero(np.isin(residencies.tensor, others))
    first, stop = _columns(residencies, rows, bounds)
    yield from _together(residencies, _grouped(residencies, rows, first, stop), memory, firsts)


def _stay(
    piece: Piece,
    memory: str,
    spans: Iterable[Span],
    place: tuple[int, int],
    firsts: Sequence[int],
    *,
    ends: bool = True,
) -> sp.Residency:
    start, stop = place
    last = firsts[stop] - 1 if ends else -1
    return sp.Residency(
        piece, memory, tuple(spans), start, stop, firsts[start], last, "compute", "dead"
    )


def _columns(
    residencies: ResidencyColumns, rows: Numbers, bounds: Numbers
) -> tuple[Numbers, Numbers]:
    """The steps `[first, stop)` at whose fullest moments each stay is there."""
    count = int(bounds[-1])
    stops = np.where(residencies.stop_instruction >= 0, residencies.stop_instruction, count)
    change = np.zeros(count + 1, np.int64)
    np.add.at(change, residencies.start_instruction, residencies.size_bytes)
    np.subtract.at(change, stops, residencies.size_bytes)
    held_bytes = change.cumsum()
    steps = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    moments = [start + int(np.argmax(held_bytes[start:stop])) for start, stop in steps]
    first = np.searchsorted(moments, residencies.start_instruction[rows], side="left")
    return first, np.searchsorted(moments, stops[rows], side="left")


@dataclass(frozen=True)
class _Members:
    """Stays, group after group: the steps of each group, and where its stays begin."""

    place: list[tuple[int, int]]
    begins: Numbers
    row: Numbers


def _grouped(
    residencies: ResidencyColumns, rows: Numbers, first: Numbers, stop: Numbers
) -> _Members:
    """Stays of one tensor that come, go, begin and end alike."""
    there = first < stop
    seen = set(np.unique(residencies.tensor[rows[there]]).tolist())
    late = rows[~np.isin(residencies.tensor[rows], list(seen))]
    rows, first, stop = rows[there], first[there], stop[there]
    for at, step in _unseen(residencies, late.tolist(), rows, first, stop):
        rows, first, stop = (
            np.append(column, value)
            for column, value in ((rows, at), (first, step), (stop, step + 1))
        )
    _, group = distinct(
        residencies.tensor[rows], first, stop, residencies.origin[rows], residencies.ending[rows]
    )
    group = _by_first(group)
    order = np.argsort(group, kind="stable")
    begins = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 2))
    heads = order[begins[:-1]]
    place = list(zip(first[heads].tolist(), stop[heads].tolist(), strict=True))
    return _Members(place, begins, rows[order])


def _by_first(which: Numbers) -> Numbers:
    """The same groups, numbered in the order in which they are first seen."""
    first = np.unique(which, return_index=True)[1]
    rank = np.empty_like(first)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[which]


def _unseen(
    residencies: ResidencyColumns, late: Sequence[int], rows: Numbers, first: Numbers, stop: Numbers
) -> Iterator[tuple[int, int]]:
    """Stays of tensors that are absent at every step's fullest moment, such as of a single pixel.

    Each is shown in the first step in which it lies on nothing else that is shown.
    """
    spans = [[_spans(residencies, [int(at)]) for at in rows]] if late else []
    shown = [(a, b, each) for a, b, each in zip(first, stop, *spans, strict=True)] if late else []
    for at in late:
        mine = _spans(residencies, [at])
        for step in range(int(residencies.start_step[at]), int(residencies.stop_step[at])):
            there = (each for a, b, each in shown if a <= step < b)
            if not any(_meet(mine, other) for other in there):
                shown.append((step, step + 1, mine))
                yield at, step
                break


def _spans(residencies: ResidencyColumns, rows: Iterable[int]) -> list[tuple[int, int]]:
    at = [
        k
        for row in rows
        for k in range(int(residencies.first[row]), int(residencies.first[row + 1]))
    ]
    return list(
        zip(residencies.span_start[at].tolist(), residencies.span_stop[at].tolist(), strict=True)
    )


def _meet(some: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    return any(a < d and c < b for a, b in some for c, d in others)


def _together(
    residencies: ResidencyColumns, members: _Members, memory: str, firsts: Sequence[int]
) -> Iterator[sp.Residency]:
    """A residency for each group: the box around its pieces, and all of their bytes."""
    row, begins = members.row, members.begins[:-1]
    if not len(begins):
        return
    low = np.minimum.reduceat(residencies.start[row], begins)
    high = np.maximum.reduceat(residencies.stop[row], begins)
    ends = np.logical_and.reduceat(residencies.stop_instruction[row] >= 0, begins).tolist()
    group = np.repeat(np.arange(len(begins)), np.diff(members.begins))
    counts = np.diff(residencies.first)[row]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    span = np.repeat(residencies.first[:-1][row], counts) + within
    of, start, stop = merged(
        np.repeat(group, counts),
        residencies.span_start[span, None],
        residencies.span_stop[span, None],
    )
    bounds = np.searchsorted(of, np.arange(len(begins) + 1)).tolist()
    every = [
        Span(memory, a, b) for a, b in zip(start[:, 0].tolist(), stop[:, 0].tolist(), strict=True)
    ]
    heads: list[Any] = row[begins].tolist()
    for at, head in enumerate(heads):
        tensor = int(residencies.tensor[head])
        (box,) = boxes_of(low[at : at + 1], high[at : at + 1], residencies.ranks[tensor])
        spans = every[bounds[at] : bounds[at + 1]]
        piece = Piece(residencies.tensors[tensor], box)
        bundle = _stay(piece, memory, spans, members.place[at], firsts, ends=ends[at])
        yield replace(
            bundle,
            origin=ORIGINS[residencies.origin[head]],
            ending=ENDINGS[residencies.ending[head]],
        )


def coalesced(spans: Iterable[Span]) -> list[Span]:
    """Spans of one memory in rising order, those that touch as one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.stop)):
        if joined and span.start <= joined[-1].stop:
            joined[-1] = replace(joined[-1], stop=max(joined[-1].stop, span.stop))
        else:
            joined.append(span)
    return joined
