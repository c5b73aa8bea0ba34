"""What memory costs in time, traffic or energy: the points of a sweep and their stairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import holoviews as hv

from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from planners.core.errors import BadInput
from planners.plots.style import (
    FORMAT_BYTES,
    FORMAT_SECONDS,
    HEIGHT,
    KIB_TICKER,
    WIDTH,
    dressed,
    tips,
)
from planners.study.fronts import front as undominated

if TYPE_CHECKING:
    import pandas as pd

Quantity = Literal["latency", "traffic", "energy"]
COLUMNS: Mapping[str, tuple[str, str]] = {
    "latency": ("makespan_s", "s"),
    "traffic": ("offchip_bytes", "bytes"),
    "energy": ("energy_j", "J"),
}
FORMATS = {"bytes": FORMAT_BYTES, "s": FORMAT_SECONDS}
LOOKS = (
    (BLUE, "circle"),
    (ORANGE, "square"),
    (GREEN, "triangle"),
    (PURPLE, "diamond"),
    (VERMILLION, "inverted_triangle"),
    (SKY, "hex"),
    (GREY, "star"),
)


def front(
    rows: pd.DataFrame | Sequence[Mapping[str, Any]], against: Quantity = "latency"
) -> hv.Overlay:
    """A sweep's plans, memory in bytes along x, `against` along y, with each planner's stairs.

    `rows` are those of one network, as `sp.sweep` returns them; rows without a plan are left out.
    A planner has a colour and a marker of its own. Raises `BadInput` where nothing is left, or
    where rows are of several networks.
    """
    if against not in COLUMNS:
        raise BadInput(f"against {against!r:.60}: choose {', '.join(COLUMNS)}")
    column, unit = COLUMNS[against]
    every = rows if isinstance(rows, Sequence) else rows.to_dict("records")
    planned = [row for row in every if row["status"] in ("optimal", "feasible")]
    if len(models := {row["model"] for row in planned}) != 1:
        raise BadInput("no plan in these rows" if not models else f"rows of {len(models)} networks")
    layers = []
    most = max(int(row["budget_bytes"]) for row in planned)
    for k, planner in enumerate(dict.fromkeys(row["planner"] for row in planned)):
        points = [
            (int(row["budget_bytes"]), float(row[column]), row["budget"], row["status"])
            for row in planned
            if row["planner"] == planner
        ]
        layers += _layers(planner, points, LOOKS[k % len(LOOKS)], (against, unit), most)
    overlay = hv.Overlay(layers).relabel(str(models.pop()))
    framed = {"width": WIDTH, "height": HEIGHT, "xformatter": FORMAT_BYTES, "xticks": KIB_TICKER}
    if unit in FORMATS:
        framed["yformatter"] = FORMATS[unit]
    return dressed(overlay, legend_position="right", padding=0.08, **framed)


def _layers(
    planner: str,
    points: list[tuple[int, float, Any, str]],
    look: tuple[str, str],
    y: Sequence[str],
    most: int,
) -> list[Any]:
    colour, marker = look
    memory = hv.Dimension("memory", label="memory budget", unit="bytes")
    other = hv.Dimension(y[0], unit=y[1])
    stairs = [points[i][:2] for i in undominated([point[:2] for point in points])]
    stairs.append((most, stairs[-1][1]))  # More memory is no worse.
    curve = hv.Curve(stairs, kdims=[memory], vdims=[other], label=planner)
    curve = dressed(curve, color=colour, interpolation="steps-post")
    dots = hv.Scatter(points, kdims=[memory], vdims=[other, "budget", "status"], label=planner)
    tooltip = tips(("budget", "budget"), (y[0], y[0]), ("", "status"))
    look_of = {"color": colour, "marker": marker, "size": 8, "hover_tooltips": tooltip}
    return [curve, dressed(dots, tools=["hover"], **look_of)]
