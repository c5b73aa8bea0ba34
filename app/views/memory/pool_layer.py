"""Over the address map of a circular pool: names of tensors, and the distance d of one run."""

from __future__ import annotations

from typing import Any

from bokeh.model import Model
from bokeh.models import ColumnDataSource, CustomJS, Label
from bokeh.plotting import figure

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.display.pool import PoolRun, PoolRuns
from app.widgets.frames import State, filled_there
from app.widgets.glyphs import put
from app.widgets.palette import Theme
from planners.core.colours import DARK_INK, YELLOW

NAMES = ("tensor", "left", "right", "bottom", "top")


class PoolLayer:
    """Empty for plans without a pool."""

    def __init__(self, plot: figure, theme: Theme, fit_labels: str) -> None:
        self.names = ColumnDataSource({name: [] for name in NAMES})
        self.fitting = ColumnDataSource({name: [] for name in ("label_x", "label_y", "label")})
        self.arrow, self.heads = filled_there("x", "y0", "y1"), filled_there("x", "y", "angle")
        put(
            plot,
            "text",
            x="label_x",
            y="label_y",
            text="label",
            source=self.fitting,
            beside=self.names,
            text_color=DARK_INK,
            text_align="center",
            text_baseline="middle",
            text_font_size="10.5px",
            background_fill_color="#ffffff",
            background_fill_alpha=0.55,
        )
        put(
            plot,
            "segment",
            x0="x",
            x1="x",
            y0="y0",
            y1="y1",
            source=self.arrow,
            beside=self.names,
            line_color=theme.text,
            line_width=2,
        )
        put(
            plot,
            "scatter",
            x="x",
            y="y",
            marker="triangle",
            angle="angle",
            size=8,
            source=self.heads,
            beside=self.names,
            fill_color=theme.text,
            line_color=theme.outline,
        )
        self.label = Label(
            x=0,
            y=0,
            text="",
            x_offset=6,
            text_color=DARK_INK,
            text_font_size="11px",
            text_font_style="bold",
            text_baseline="middle",
            background_fill_color=YELLOW,
            background_fill_alpha=0.9,
            padding=2,
            visible=False,
        )
        plot.add_layout(self.label)
        args = {"plot": plot, "steps": plot.x_range, "range": plot.y_range, "source": self.names}
        args["names"] = self.fitting
        fit = CustomJS(args=args, code=fit_labels)
        for around in (plot.x_range, plot.y_range):
            around.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.names.js_on_change("data", fit)

    @property
    def film_models(self) -> list[Model]:
        """What `mark_states` are states of: the client changes them as the cursor moves."""
        return [self.arrow, self.heads, self.label]

    def show(self, shown: DisplayedPlan) -> None:
        """Name the tensors and workspaces of a plan's pool."""
        rows = name_rows(shown) if shown.pool else []
        self.names.data = {name: [row[name] for row in rows] for name in NAMES}


def mark_states(shown: DisplayedPlan, step: int, moved: Warp | None = None) -> list[State]:
    """An arrow over the bytes from where the output begins to where the input does, and d in bytes,
    in the run at a step; nothing where there is no such distance. `moved` is where steps are."""
    place = moved or Warp()
    pool = shown.pool
    run = pool.run_at(step) if pool else None
    if pool is None or run is None or not run.distance_bytes:
        none: list[dict[str, list[int]]] = [{"x": [], "y0": [], "y1": []}]
        none += [{"x": [], "y": [], "angle": []}]
        return [*({"data": data} for data in none), {"visible": False}]
    x, parts = place(run.start_step + 0.5), distance_parts(pool, run)
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    ends = {"x": [x, x], "y": [lows[0], highs[-1]], "angle": [3.141592653589793, 0.0]}
    low, high = max(parts, key=lambda part: part[1] - part[0])
    late = x > 0.8 * place(shown.steps)  # at the end there is no room to the right
    label = {
        "x": x,
        "y": (low + high) / 2,
        "text": f"d = {run.distance_bytes:,} B",
        "text_align": "right" if late else "left",
        "x_offset": -6 if late else 6,
        "visible": True,
    }
    arrow = {"x": [x] * len(parts), "y0": lows, "y1": highs}
    return [{"data": arrow}, {"data": ends}, label]


def distance_parts(pool: PoolRuns, run: PoolRun) -> list[tuple[int, int]]:
    """From the output's first byte up to the input's, in two parts where that wraps."""
    start = pool.layout.offsets[run.writes[0]]
    return pool.ranges(start, run.distance_bytes or 0)


def name_rows(shown: DisplayedPlan) -> list[dict[str, Any]]:
    """A place for the name of each tensor and workspace: the middle of its life and bytes."""
    pool = shown.pool
    assert pool is not None
    places: list[tuple[str, int, int, int, int]] = []
    for name, offset in pool.layout.offsets.items():
        steps = [run for run in pool.runs if name in run.alive]
        if steps:
            life = steps[0].start_step, steps[-1].stop_step
            places.append((name, *life, offset, pool.sizes[name]))
    for run in pool.runs:
        for buffer in run.run.buffers:
            life = run.start_step, run.stop_step
            places.append((buffer.tensor, *life, buffer.offset, buffer.size_bytes))
    return [_name(pool, *place) for place in places]


def _name(
    pool: PoolRuns, name: str, left: int, right: int, offset: int, size: int
) -> dict[str, Any]:
    bottom, top = max(pool.ranges(offset, size), key=lambda part: part[1] - part[0])
    return {
        "tensor": name,
        "left": left,
        "right": right,
        "bottom": bottom,
        "top": top,
    }
