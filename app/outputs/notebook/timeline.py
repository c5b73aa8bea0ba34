"""The timeline: what each engine does and when, and where it waits, as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import planners as sp
from app.kinds.timeline_bars import FULL, WAITS, Bars, Columns, lane_name
from app.model.units import seconds_text
from planners.core.colours import BLUE, GREY, ORANGE, VERMILLION
from planners.core.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Paints,
    Scale,
    box,
    drawing,
    even_step,
    legend,
    line,
    text,
)

MOST = 300  # bars and as many waits; with more, those that follow closely are one
ENDS = 3  # bundles are this much coarser than on a screen that can zoom
LANE = 26
EDGE = WIDTH - RIGHT
LOOKS = {
    "busy": (BLUE, " ", "an engine works"),
    "compute waits": (VERMILLION, WAITS, "compute stalls"),
    "ring full": (ORANGE, FULL, "an earlier layer must run first"),
    "transfer waits": (GREY, " ", "ready early; waits for data or room, without delaying anything"),
}


def lanes_html(
    bars: Bars,
    engines: Sequence[str],
    end: float,
    paints: Paints,
    at: tuple[float, float] | None = None,
) -> str:
    """Legend and drawing of engines over `end` seconds; `at` is where the cursor is."""
    busy, waits = _fitting(bars, end)
    names = [lane_name(engine) for engine in engines]
    lanes = {name: 4 + LANE * k for k, name in enumerate(names)}
    seconds = Scale(0, end or 1.0, LEFT, EDGE)
    bottom = 4 + LANE * len(lanes)
    parts = [text(LEFT - 6, y + LANE * 0.66, name, "sw-tick", "end") for name, y in lanes.items()]
    parts += [line(LEFT, y, EDGE, y, "sw-grid") for y in lanes.values()]
    parts += [_bar(waits, i, seconds, lanes, paints) for i in range(len(waits["left"]))]
    parts += [_bar(busy, i, seconds, lanes, paints) for i in range(len(busy["left"]))]
    parts.append(_axis(seconds, bottom))
    if at is not None:
        x = seconds(at[0])
        parts.append(box(x, 2, max(1.5, seconds(at[1]) - x), bottom, kind="sw-cur"))
    words = f"Timeline of {', '.join(names)}: {seconds_text(end)}"
    ends = {"data_end": f"{end:.6g}", "data_left": LEFT, "data_right": EDGE}
    drawn = drawing((WIDTH, bottom + 20), words, *parts, kind="sw-lanes", **ends)
    return legend(paints, LOOKS, _seen(waits)) + drawn


def _fitting(bars: Bars, end: float) -> tuple[Columns, Columns]:
    columns = bars.columns(0, end * 1.01)
    if len(columns[0]["left"]) + len(columns[1]["left"]) <= 2 * MOST:
        return columns
    return bars.bundles(0, end * ENDS)


def _seen(waits: Columns) -> set[str]:
    """The kinds of waits that occur, for the legend."""
    looks = {VERMILLION: "compute waits", ORANGE: "ring full", GREY: "transfer waits"}
    return {"busy", *(looks.get(colour, "busy") for colour in waits["colour"])}


def _bar(columns: Columns, i: int, seconds: Scale, lanes: dict[str, int], paints: Paints) -> str:
    row: dict[str, Any] = {name: values[i] for name, values in columns.items()}
    high = row.get("height", 0.72) * LANE
    x, y = seconds(row["left"]), lanes.get(row["lane"], 4) + (LANE - high) / 2
    title = [row["label"], row["what"], row["when"], f"step {row['step']}", row["cause"]]
    fill = paints.fill(row["colour"], row["hatch"])
    hover = "\n".join(dict.fromkeys(filter(None, title)))
    return box(x, y, seconds(row["right"]) - x, high, hover, fill=fill, data_s=row["step"])


def _axis(seconds: Scale, y: float) -> str:
    """Times under the lanes."""
    step = even_step(seconds.high, 8)
    parts = []
    k = 0
    while k * step <= seconds.high:
        at = k * step
        parts.append(text(seconds(at), y + 13, seconds_text(at), "sw-tick", "middle"))
        k += 1
    return "".join(parts)


def stall_rows(trace: sp.Trace) -> list[tuple[str, str, str, str]]:
    """For each engine: busy seconds, their share of the time, and seconds stalled."""
    whole, stood = trace.makespan_s or 1.0, trace.stall_s
    return [
        (
            lane_name(engine),
            seconds_text(busy),
            f"{busy / whole:.1%}",
            seconds_text(stood.get(engine, 0.0)),
        )
        for engine, busy in trace.busy_s.items()
    ]
