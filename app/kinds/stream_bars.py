"""The timeline of streamed parameters: reads, copies and kernels of layers, and their waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import RING_NAMES
from app.display.waits import WHY, Stage, stages_of
from app.kinds.timeline_bars import (
    COLUMNS,
    ENGINES,
    FULL,
    STALL_COLUMNS,
    WAITS,
    Bars,
    Columns,
    lane_name,
)
from app.model.units import seconds_text
from planners.core.colours import BLUE, GREY, ORANGE, PLAIN, VERMILLION
from planners.core.units import format_bytes

DONE = {"read": "read", "copy": "copied", "kernel": "ran"}


class StreamBars(Bars):
    """What the timeline draws of a plan that streams its parameters."""

    def __init__(self, shown: DisplayedPlan, trace: sp.Trace) -> None:
        stream = shown.stream
        assert stream is not None
        stages = sorted(stages_of(stream, trace), key=lambda stage: stage.start_s)
        self.stages = stages
        self.shown = shown
        super().__init__(shown.names, replace(trace, intervals=tuple(map(_interval, stages))))

    def _bars(self, positions: Any) -> Columns:
        bars: Columns = {name: [] for name in (*COLUMNS, "kind")}
        for i in positions:
            _add(bars, _bar(self.shown, self.stages[i]))
        return bars

    def _waits(self, positions: Any) -> Columns:
        waits: Columns = {name: [] for name in STALL_COLUMNS}
        for i in positions:
            if self.stages[i].wait is not None:
                _add(waits, _wait(self.shown, self.stages[i]))
        return waits


def _interval(stage: Stage) -> sp.Interval:
    """An interval of the bundles, drawn where there are too many bars."""
    seconds = stage.wait.seconds if stage.wait else 0.0
    return sp.Interval(
        stage.engine, stage.start_s, stage.stop_s, 0, stage.layer, "", seconds, "", None
    )


def _bar(shown: DisplayedPlan, stage: Stage) -> Sequence[Any]:
    stream = shown.stream
    assert stream is not None
    layer = stream.layers[stage.layer]
    lane, colour, hatch = ENGINES.get(stage.engine, (stage.engine, BLUE, PLAIN))
    where = f" into the {RING_NAMES[stage.ring]}" if stage.ring and not stream.details.joint else ""
    size = f" {format_bytes(layer.size_bytes)}" if stage.kind != "kernel" else ""
    part = f" {layer.slice}," if layer.slice else ""
    what = f"{part}{DONE[stage.kind]}{size}{where}".strip()
    when = f"{seconds_text(stage.stop_s - stage.start_s)} from {seconds_text(stage.start_s)}"
    cause = stage.wait.text if stage.wait else "did not wait"
    row = (stage.start_s, stage.stop_s, lane, colour, hatch, layer.operator, what, when)
    return (*row, stage.layer + 1, cause, "operator")


def _wait(shown: DisplayedPlan, stage: Stage) -> Sequence[Any]:
    """Hatched red where a kernel is stalled, hatched the other way where a ring is full."""
    stream, wait = shown.stream, stage.wait
    assert stream is not None
    assert wait is not None
    layer = stream.layers[stage.layer]
    colour, hatch, height, alpha = GREY, PLAIN, 0.1, 0.7
    if stage.kind == "kernel":
        colour, hatch, height, alpha = VERMILLION, WAITS, 0.5, 0.15
    elif wait.cause == "ring full":
        colour, hatch, height, alpha = ORANGE, FULL, 0.34, 0.25
    what = f"{lane_name(stage.engine)}: {wait.cause}"
    when = f"{wait.text[0].upper()}{wait.text[1:]}"
    row = (stage.start_s - wait.seconds, stage.start_s, lane_name(stage.engine), colour, hatch)
    return (*row, layer.operator, what, when, stage.layer + 1, WHY[wait.cause], height, alpha)


def _add(columns: Columns, row: Sequence[Any]) -> None:
    for name, value in zip(columns, row, strict=True):
        columns[name].append(value)
