"""The bars of the timeline: each interval in a window, or bundles where there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import planners as sp
from app.captions.spill_reasons import cause_text
from app.display.instruction_names import InstructionNames
from app.model.units import seconds_text
from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PLAIN, PURPLE, VERMILLION, YELLOW
from planners.simulator.records.interval_columns import columns_of_intervals

MOST = 1500  # bars at once: with more, those thinner than a line are drawn together
ENDS_IN_SIGHT = 900  # what is closer than this part of the window cannot be distinguished
WAITS = "right_diagonal_line"
FULL = "left_diagonal_line"
BOUND = "bound"
"""A lane under the engine that computes: what binds its operators."""
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

    def __init__(self, names: InstructionNames, trace: sp.Trace) -> None:
        self.names, self.trace = names, trace
        self._times = times = columns_of_intervals(trace.intervals)
        self._begin, self._stop, self._stall = times.start_s, times.stop_s, times.stall_s
        self._engine = np.array(times.engines)[times.engine]
        self._start = self._begin - self._stall

    def count(self, start: float, stop: float) -> int:
        """How many intervals there are in a window of seconds."""
        return int(self._inside(start, stop).sum())

    def columns(self, start: float, stop: float) -> tuple[Columns, Columns]:
        """A row for each interval in a window, and one for each wait."""
        inside = np.flatnonzero(self._inside(start, stop))
        return self._bars(inside), self._waits(inside)

    def bundles(self, start: float, stop: float, apart: float = 0.0) -> tuple[Columns, Columns]:
        """Each interval that lasts longer than `apart`, and of each engine those between them that
        follow each other as closely, as one; likewise waits."""
        apart = apart or (stop - start) / ENDS_IN_SIGHT
        inside = np.flatnonzero(self._inside(start, stop))
        lasts = self._stop - self._begin
        bars = self._bars(inside[lasts[inside] > apart])
        for engine in dict.fromkeys(self._engine[inside].tolist()):
            of_engine = inside[self._engine[inside] == engine]
            for first, stop_at in runs(self._begin[of_engine], self._stop[of_engine], apart):
                if lasts[of_engine[first]] <= apart:
                    _add(bars, self._bundle(engine, of_engine[first:stop_at]))
        waits = self._waits(inside[self._stall[inside] > apart])
        stood = inside[(self._engine[inside] == "compute") & (self._stall[inside] > 0)]
        for first, stop_at in runs(self._start[stood], self._begin[stood], apart):
            if self._stall[stood[first]] <= apart:
                _add(waits, self._bundled_wait(stood[first:stop_at]))
        return bars, waits

    def _inside(self, start: float, stop: float) -> Any:
        return (self._start < stop) & (self._stop > start)

    def _bars(self, positions: Any) -> Columns:
        return interval_columns(self.names, self._items(positions))

    def _waits(self, positions: Any) -> Columns:
        stood = positions[self._stall[positions] > 0]
        return stall_columns(self.names, self._items(stood))

    def _items(self, positions: Any) -> Sequence[sp.Interval]:
        return self._times.at(positions).intervals()

    def _bundle(self, engine: str, positions: Any) -> tuple[Any, ...]:
        lane, colour, hatch = ENGINES.get(engine, (engine, BLUE, PLAIN))
        first, last = self._items(positions[[0, -1]])
        ran = engine in self.names.computing
        numbers = dict.fromkeys(self._times.label[positions].tolist())
        names = [self._times.labels[at] for at in numbers]
        label = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        lasts = last.stop_s - first.start_s
        busy = float((self._stop[positions] - self._begin[positions]).sum()) / (lasts or 1.0)
        thing = "parts of operators" if ran else "transfers"
        count = len(positions)
        what = f"{count:,} {thing}, busy {busy:.0%}" if count > 1 else thing[:-1]
        when = f"{seconds_text(lasts)} from {seconds_text(first.start_s)}"
        row = (first.start_s, last.stop_s, lane, colour, hatch, label, what, when, first.step + 1)
        return (*row, "zoom in to see each", "operator" if ran else "tensor")

    def _bundled_wait(self, positions: Any) -> tuple[Any, ...]:
        first, last = self._items(positions[[0, -1]])
        start = first.start_s - first.stall_s
        row = (start, last.start_s, "compute", VERMILLION, WAITS, first.label, "compute waits")
        stood = seconds_text(float(self._stall[positions].sum()))
        when = f"{stood} in {len(positions)} waits from {seconds_text(start)}"
        return (*row, when, first.step + 1, "zoom in to see each", 0.5, 0.15)


def runs(starts: Any, stops: Any, apart: float) -> Iterable[tuple[int, int]]:
    """Ranges of positions of spans, in rising order, that are closer to each other than `apart`;
    one that lasts longer is alone."""
    long = stops - starts > apart
    new = np.ones(len(starts) + 1, bool)
    new[1:-1] = (starts[1:] - stops[:-1] > apart) | long[1:] | long[:-1]
    firsts = np.flatnonzero(new).tolist()
    return zip(firsts, firsts[1:], strict=False)


def _add(columns: Columns, row: Sequence[Any]) -> None:
    for name, value in zip(columns, row, strict=True):
        columns[name].append(value)


def lane_name(engine: str) -> str:
    """What a lane is called."""
    if engine == BOUND:
        return "bound by"
    return ENGINES.get(engine, (engine, BLUE, PLAIN))[0]


def interval_columns(names: InstructionNames, items: Iterable[sp.Interval]) -> Columns:
    """One row for each interval."""
    columns: Columns = {name: [] for name in (*COLUMNS, "kind")}
    for item in items:
        ran = item.engine in names.computing
        lane, colour, hatch = ENGINES.get(item.engine, (item.engine, BLUE, PLAIN))
        what = "computed" if ran else "stored" if item.engine.startswith("dma_out") else "loaded"
        when = f"{seconds_text(item.stop_s - item.start_s)} from {seconds_text(item.start_s)}"
        look = (item.start_s, item.stop_s, lane, colour, hatch, item.label, what)
        row = (*look, when, item.step + 1, cause_text(names, item))
        for name, value in zip(COLUMNS, row, strict=True):
            columns[name].append(value)
        columns["kind"].append("operator" if ran else "tensor")
    return columns


def stall_columns(names: InstructionNames, items: Iterable[sp.Interval]) -> Columns:
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
        row = (*row, item.label, f"{lane} waits", when, item.step + 1, cause_text(names, item))
        row = (*row, *((0.5, 0.15) if costs else (0.1, 0.7)))
        for name, value in zip(STALL_COLUMNS, row, strict=True):
            columns[name].append(value)
    return columns
