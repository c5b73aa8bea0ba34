"""The bars of the timeline: each interval in a window, or bundles where there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import planners as sp
from app.model.checked_plan import Shown
from app.model.colours import BLUE, GREEN, GREY, ORANGE, PLAIN, PURPLE, VERMILLION, YELLOW
from app.model.units import seconds_text
from app.stories.why import cause_text
from planners.core.program import Compute

MOST = 1500  # bars at once: with more, most are thinner than a line
ENDS_IN_SIGHT = 900  # what is closer than this part of the window cannot be distinguished
WAITS = "right_diagonal_line"
FULL = "left_diagonal_line"
ENGINES = {
    "compute": ("compute", BLUE, PLAIN),
    "dma_in": ("DMA in", GREEN, "dot"),
    "dma_out": ("DMA out", ORANGE, "right_diagonal_line"),
    "storage": ("storage", PURPLE, "horizontal_line"),
    "copy": ("copy", YELLOW, "vertical_line"),
}
COLUMNS = ("left", "right", "lane", "colour", "hatch", "label", "what", "when", "step", "cause")
STALL_COLUMNS = (*COLUMNS, "height", "alpha")
Columns = dict[str, list[Any]]


class Bars:
    """The timeline's bars of a trace, by the seconds that are in sight."""

    def __init__(self, shown: Shown, trace: sp.Trace) -> None:
        self.shown, self.trace = shown, trace
        self._start = np.array([item.start_s - item.stall_s for item in trace.intervals])
        self._stop = np.array([item.stop_s for item in trace.intervals])

    def count(self, start: float, stop: float) -> int:
        """How many intervals there are in a window of seconds."""
        return int(self._inside(start, stop).sum())

    def columns(self, start: float, stop: float) -> tuple[Columns, Columns]:
        """A row for each interval in a window, and one for each wait."""
        items = [self.trace.intervals[i] for i in np.flatnonzero(self._inside(start, stop))]
        return interval_columns(self.shown, items), stall_columns(self.shown, items)

    def bundles(self, start: float, stop: float) -> tuple[Columns, Columns]:
        """Intervals of an engine that follow each other closely as one; likewise waits."""
        apart = (stop - start) / ENDS_IN_SIGHT
        items = [self.trace.intervals[i] for i in np.flatnonzero(self._inside(start, stop))]
        by_engine: dict[str, list[sp.Interval]] = {}
        for item in items:
            by_engine.setdefault(item.engine, []).append(item)
        bars: Columns = {name: [] for name in (*COLUMNS, "kind")}
        for engine, intervals in by_engine.items():
            for run in runs([(i.start_s, i.stop_s) for i in intervals], apart):
                _add(bars, _bundle(self.shown, engine, [intervals[k] for k in run]))
        waits: Columns = {name: [] for name in STALL_COLUMNS}
        stood = [i for i in by_engine.get("compute", []) if i.stall_s > 0]
        for run in runs([(i.start_s - i.stall_s, i.start_s) for i in stood], apart):
            _add(waits, _bundled_wait([stood[k] for k in run]))
        return bars, waits

    def _inside(self, start: float, stop: float) -> Any:
        return (self._start < stop) & (self._stop > start)


def runs(spans: Sequence[tuple[float, float]], apart: float) -> Iterable[range]:
    """Ranges of positions of spans, in rising order, that are closer to each other than `apart`."""
    first = 0
    for k in range(1, len(spans) + 1):
        if k == len(spans) or spans[k][0] - spans[k - 1][1] > apart:
            yield range(first, k)
            first = k


def _bundle(shown: Shown, engine: str, items: Sequence[sp.Interval]) -> tuple[Any, ...]:
    lane, colour, hatch = ENGINES.get(engine, (engine, BLUE, PLAIN))
    ran = isinstance(shown.instructions[items[0].instruction], Compute)
    labels = dict.fromkeys(item.label for item in items)
    first, last = items[0], items[-1]
    busy = sum(item.stop_s - item.start_s for item in items) / (last.stop_s - first.start_s)
    names = list(labels)
    label = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
    thing = "parts of operators" if ran else "transfers"
    when = f"{seconds_text(last.stop_s - first.start_s)} from {seconds_text(first.start_s)}"
    what = f"{len(items)} {thing}, busy {busy:.0%}" if len(items) > 1 else thing[:-1]
    row = (first.start_s, last.stop_s, lane, colour, hatch, label, what, when, first.step + 1)
    return (*row, "zoom in to see each", "operator" if ran else "tensor")


def _bundled_wait(items: Sequence[sp.Interval]) -> tuple[Any, ...]:
    start, stop = items[0].start_s - items[0].stall_s, items[-1].start_s
    stood = sum(item.stall_s for item in items)
    row = (start, stop, "compute", VERMILLION, WAITS, items[0].label, "compute waits")
    when = f"{seconds_text(stood)} in {len(items)} waits from {seconds_text(start)}"
    return (*row, when, items[0].step + 1, "zoom in to see each", 0.5, 0.15)


def _add(columns: Columns, row: Sequence[Any]) -> None:
    for name, value in zip(columns, row, strict=True):
        columns[name].append(value)


def lane_name(engine: str) -> str:
    """What a lane is called."""
    return ENGINES.get(engine, (engine, BLUE, PLAIN))[0]


def interval_columns(shown: Shown, items: Iterable[sp.Interval]) -> Columns:
    """One row for each interval."""
    columns: Columns = {name: [] for name in (*COLUMNS, "kind")}
    for item in items:
        ran = isinstance(shown.instructions[item.instruction], Compute)
        lane, colour, hatch = ENGINES.get(item.engine, (item.engine, BLUE, PLAIN))
        what = "computed" if ran else "stored" if item.engine.startswith("dma_out") else "loaded"
        when = f"{seconds_text(item.stop_s - item.start_s)} from {seconds_text(item.start_s)}"
        look = (item.start_s, item.stop_s, lane, colour, hatch, item.label, what)
        row = (*look, when, item.step + 1, cause_text(shown, item))
        for name, value in zip(COLUMNS, row, strict=True):
            columns[name].append(value)
        columns["kind"].append("operator" if ran else "tensor")
    return columns


def stall_columns(shown: Shown, items: Iterable[sp.Interval]) -> Columns:
    """One row for each wait: hatched where arithmetic stands still, a thin line elsewhere.

    A transfer engine that waits for its data costs no time of its own.
    """
    columns: Columns = {name: [] for name in STALL_COLUMNS}
    for item in items:
        if item.stall_s <= 0:
            continue
        lane = lane_name(item.engine)
        costs = item.engine == "compute"
        colour, hatch = (VERMILLION, WAITS) if costs else (GREY, PLAIN)
        when = f"{seconds_text(item.stall_s)} before {item.label}"
        row: Sequence[Any] = (item.start_s - item.stall_s, item.start_s, lane, colour, hatch)
        row = (*row, item.label, f"{lane} waits", when, item.step + 1, cause_text(shown, item))
        row = (*row, *((0.5, 0.15) if costs else (0.1, 0.7)))
        for name, value in zip(STALL_COLUMNS, row, strict=True):
            columns[name].append(value)
    return columns
