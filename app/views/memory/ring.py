"""The circular pool as a ring: what lies where at the cursor, and how far output is from input."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from bokeh.model import Model
from bokeh.models import ColumnDataSource, Label
from bokeh.plotting import figure

from app.display.displayed_plan import DisplayedPlan
from app.display.pool import PoolRun, PoolRuns
from app.kinds.bundle_residencies import coalesced
from app.widgets.frames import State, filled_there
from app.widgets.glyphs import Layers, put, tappable, tell
from app.widgets.hatched import hatched
from app.widgets.palette import Theme, dress, tooltip
from planners.core.colours import ROLES, VERMILLION
from planners.core.program import Span
from planners.core.units import format_bytes

INNER, OUTER, ARC = 0.58, 0.95, 1.06
COLUMNS = ("start", "end", "colour", "hatch", "tensor", "what", "size", "address")
FRESH, FREED = "written in this step", "freed in this step"


class RingView:
    """A figure that is made once; the client replaces what is in it as the cursor moves."""

    def __init__(self, theme: Theme) -> None:
        self.source = filled_there(*COLUMNS)
        self.fresh, self.freed = filled_there("start", "end"), filled_there("start", "end")
        self.arc, self.heads = filled_there("start", "end"), filled_there("x", "y", "angle")
        self.figure = self._figure(theme)
        Layers.on_figure(self.figure).settle(every=True)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            width=246,
            height=246,
            toolbar_location=None,
            frame_align=False,  # so that the circle has the whole square, whatever stands beside it
            x_axis_type=None,
            y_axis_type=None,
            x_range=(-1.18, 1.18),
            y_range=(-1.18, 1.18),
            tools="",
            css_classes=["ring"],
        )
        dress(plot, theme)
        plot.grid.visible = plot.title.visible = False
        plot.min_border = plot.min_border_right = 0
        once = ColumnDataSource({"x": [0], "low": [INNER - 0.03], "high": [INNER + 0.04]})
        put(
            plot,
            "annulus",
            0,
            0,
            source=once,
            inner_radius=INNER,
            outer_radius=OUTER,
            fill_color=theme.grid,
            fill_alpha=0.35,
            line_color=theme.faint,
            line_width=0.8,
        )
        ends = {"start_angle": "start", "end_angle": "end", "direction": "clock"}
        wedge: dict[str, Any] = {
            "x": 0,
            "y": 0,
            "inner_radius": INNER,
            "outer_radius": OUTER,
            **ends,
        }
        parts = hatched(
            plot,
            "annular_wedge",
            self.source,
            [hatch for _, hatch, _ in ROLES.values()],
            **wedge,
            fill_color="colour",
            fill_alpha=0.9,
            line_color=None,
            hatch_color=theme.outline,
            hatch_alpha=0.55,
            hatch_scale=8,
            hatch_weight=1.3,
        )
        put(
            plot,
            "annular_wedge",
            **wedge,
            source=self.fresh,
            fill_color=None,
            line_color=theme.text,
            line_width=2.2,
        )
        put(
            plot,
            "annular_wedge",
            **wedge,
            source=self.freed,
            fill_color=None,
            line_color=VERMILLION,
            line_width=1.6,
            line_dash=[4, 3],
        )
        line: dict[str, Any] = {"line_color": theme.text, "line_width": 2}
        put(plot, "arc", x=0, y=0, radius=ARC, **ends, source=self.arc, **line)
        put(plot, "scatter",
            "x", "y", marker="triangle", angle="angle", size=8, source=self.heads,
            fill_color=theme.text, line_color=None,
        )  # fmt: skip
        zero = {"x0": "x", "y0": "low", "x1": "x", "y1": "high"}
        put(plot, "segment", **zero, source=once, line_color=theme.text)
        self.zero = _label(theme.faint, 0, INNER - 0.09, "0", "10px")
        self.lines = [
            _label(theme.text, 0, y, "", size, bold=k == 1)
            for k, (y, size) in enumerate(((0.24, "10.5px"), (0.04, "13px"), (-0.16, "10.5px")))
        ]
        self.lines.append(_label(theme.faint, 0, -0.33, "", "10px"))
        for item in (self.zero, *self.lines):
            plot.add_layout(item)
        lines = ("@what", "@size", "@address")
        tell(plot, parts, tooltip("@tensor", *lines))
        tappable(plot, parts, there=True)
        return plot

    @property
    def film_models(self) -> list[Model]:
        """What `ring_states` are states of: the client changes them as the cursor moves."""
        sources = (self.source, self.fresh, self.freed, self.arc, self.heads)
        return [*sources, *self.lines]


def _label(colour: str, x: float, y: float, text: str, size: str, *, bold: bool = False) -> Label:
    return Label(
        x=x,
        y=y,
        text=text,
        text_color=colour,
        text_font_size=size,
        text_align="center",
        text_baseline="middle",
        text_font_style="bold" if bold else "normal",
    )


def angle(address: float, size: int) -> float:
    """Where an address is on the ring: 0 at the top, rising clockwise, in radians."""
    return pi / 2 - 2 * pi * address / size


def wedge(start: int, stop: int, size: int) -> tuple[float, float]:
    """The start and end angles of a range of bytes."""
    return angle(start, size), angle(stop, size)


def ring_columns(shown: DisplayedPlan, pool: PoolRuns, step: int) -> dict[str, list[Any]]:
    """A wedge for each range of bytes of each tensor that lies in the pool at a step."""
    run = pool.run_at(step)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    spans: dict[str, list[Span]] = {}
    for residency in shown.live(step):
        spans.setdefault(residency.tensor, []).extend(residency.spans)
    for tensor in sorted(spans, key=lambda name: run.role(name) != "workspace"):
        role = run.role(tensor)
        colour, hatch, _ = ROLES[role]
        for span in coalesced(spans[tensor]):
            where = f"{span.start:,} – {span.stop:,}"
            size = format_bytes(span.stop - span.start)
            row = (*wedge(span.start, span.stop, pool.size_bytes), colour, hatch, tensor)
            for name, value in zip(COLUMNS, (*row, role, size, where), strict=True):
                columns[name].append(value)
    return columns


def changes(
    shown: DisplayedPlan, pool: PoolRuns, step: int
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """What has come in this step, and what was there in the step before and has gone."""
    run = pool.run_at(step)
    columns = []
    for steps, old in ((step, step - 1), (step - 1, step)):
        rows: dict[str, list[Any]] = {"start": [], "end": []}
        kept = set(shown.live(old)) if 0 <= old < shown.steps else set()
        for residency in shown.live(steps) if steps >= 0 else ():
            if residency in kept or run.role(residency.tensor) == "workspace":
                continue
            for span in residency.spans if _inner(pool, residency.tensor) else ():
                start, end = wedge(span.start, span.stop, pool.size_bytes)
                rows["start"].append(start)
                rows["end"].append(end)
        columns.append(rows)
    return columns[0], columns[1]


def _inner(pool: PoolRuns, tensor: str) -> bool:
    return tensor in pool.layout.offsets


def ring_states(shown: DisplayedPlan, pool: PoolRuns, step: int) -> list[State]:
    """What lies in the pool at a step, what came and went, the distance d, and the words inside."""
    run = pool.run_at(step)
    fresh, freed = changes(shown, pool, step)
    held_bytes = shown.held(step, shown.live(step))
    words = (
        short(run.name, 20),
        f"d = {run.distance_bytes:,} B" if run.distance_bytes is not None else "",
        f"{format_bytes(held_bytes)} held",
        f"of {format_bytes(pool.size_bytes)}",
    )
    sources = (ring_columns(shown, pool, step), fresh, freed, *distance_columns(pool, run))
    return [*({"data": columns} for columns in sources), *({"text": text} for text in words)]


def distance_columns(pool: PoolRuns, run: PoolRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """An arc from where the output begins to where the input does, and triangles at its ends."""
    if not run.distance_bytes:
        return {"start": [], "end": []}, {"x": [], "y": [], "angle": []}
    low = pool.layout.offsets[run.writes[0]]
    start, end = (angle(at, pool.size_bytes) for at in (low, low + run.distance_bytes))
    # A triangle points up at angle 0; at the end of a clockwise arc it points along it.
    heads = {
        "x": [ARC * cos(start), ARC * cos(end)],
        "y": [ARC * sin(start), ARC * sin(end)],
        "angle": [start, end + pi],
    }
    return {"start": [start], "end": [end]}, heads


def short(text: str, letters: int) -> str:
    """A text shortened to fit."""
    return text if len(text) <= letters else text[: letters - 1] + "…"
