"""RAM run by run, in the order of execution, with the sizes of the chip's memory and the pool."""

from __future__ import annotations

from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    Label,
    Range1d,
    Span,
)
from bokeh.plotting import figure

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.pool import FORMS
from app.widgets.axes import FORMAT_ADDRESS, KIB_TICKS
from app.widgets.frames import filled_there
from app.widgets.glyphs import put, tappable, tell
from app.widgets.hatched import hatched
from app.widgets.palette import Theme, dress, tooltip
from planners.core.colours import BLUE, GREY, PLAIN, VERMILLION
from planners.core.units import format_bytes

PARTS = {
    "tensors": (BLUE, PLAIN),
    "workspace": (GREY, "left_diagonal_line"),
}
COLUMNS = ("left", "right", "bottom", "top", "colour", "hatch", "run", "name", "what", "sizes")
MOST_TICKS = 16
NEAR = 2.5
"""The chip's limit is drawn to scale up to this multiple of the pool."""


class RunBars:
    """A figure that is made once; a tap on a bar selects the run."""

    def __init__(self, theme: Theme) -> None:
        self.source = ColumnDataSource({name: [] for name in COLUMNS})
        self.between = ColumnDataSource({name: [] for name in COLUMNS})
        self.chosen = filled_there("left", "right", "top")
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.chip = Span(dimension="width", line_color=VERMILLION, line_dash="dashed", line_width=2)
        self.pool = Span(dimension="width", line_color=theme.text, line_width=1.5)
        self.chip_name, self.pool_name = _label(theme.alarm), _label(theme.text)
        self.ticker = FixedTicker(ticks=[])
        self.figure = self._figure(theme)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=252,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="save",
            x_axis_label="run, in the order of execution",
            y_axis_label="RAM",
            css_classes=["run-bars"],
        )
        dress(plot, theme)
        plot.title.text = "RAM of each run"
        sides = {name: name for name in ("left", "right", "bottom", "top")}
        bars = hatched(
            plot,
            "quad",
            self.source,
            [hatch for _, hatch in PARTS.values()],
            **sides,
            fill_color="colour",
            fill_alpha=0.85,
            line_color=theme.panel,
            hatch_color=theme.panel,
            hatch_alpha=0.6,
            hatch_scale=8,
        )
        free = put(
            plot,
            "quad",
            **sides,
            source=self.between,
            fill_color=GREY,
            fill_alpha=0.12,
            line_color=theme.faint,
            line_dash=[3, 3],
        )
        put(
            plot,
            "quad",
            left="left",
            right="right",
            bottom=0,
            top="top",
            source=self.chosen,
            beside=self.source,
            fill_color=None,
            line_color=theme.text,
            line_width=2.2,
        )
        for item in (self.chip, self.pool, self.chip_name, self.pool_name):
            plot.add_layout(item)
        plot.xgrid.visible = False
        plot.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=5)
        formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        formatter.args = {"unit": formatter}
        plot.yaxis.formatter = formatter
        plot.xaxis.ticker = self.ticker
        plot.xaxis.formatter = CustomJSTickFormatter(code="return Math.round(tick + 0.5)")
        tell(plot, [*bars, free], tooltip("@name", "@what", "@sizes"))
        tappable(plot, [*bars, free], there=True)
        return plot

    def show(self, shown: DisplayedPlan) -> None:
        """Draw the runs of a plan's pool."""
        pool = shown.pool
        if pool is None:
            return
        self.source.data, self.between.data = bar_columns(shown)
        self.pool.location, chip = pool.size_bytes, chip_bytes(shown)
        near = chip <= NEAR * pool.size_bytes
        top = (max(chip, pool.size_bytes) if near else pool.size_bytes) * 1.18
        self.y_range.update(start=0, end=top)
        self.x_range.update(start=0, end=len(pool.runs))
        every = 1 + len(pool.runs) // MOST_TICKS
        self.ticker.ticks = [k + 0.5 for k in range(0, len(pool.runs), every)]
        self.chip.location, self.chip.visible = chip, near
        words = f"the chip has {format_bytes(chip)}"
        self.chip_name.update(
            x=len(pool.runs),
            y=chip if near else top,
            text=words if near else f"{words} ↑",
            text_baseline="bottom" if near else "top",
            y_offset=2 if near else -2,
        )
        close = near and chip - pool.size_bytes < 0.12 * top
        self.pool_name.update(
            x=0,
            y=pool.size_bytes,
            text=f"pool {format_bytes(pool.size_bytes)}",
            text_align="left",
            x_offset=4,
            text_baseline="top" if close and chip < pool.size_bytes else "bottom",
        )


def _label(colour: str) -> Label:
    return Label(
        x=0,
        y=0,
        text="",
        text_color=colour,
        text_font_size="11px",
        text_font_style="bold",
        text_align="right",
        text_baseline="bottom",
        x_offset=-4,
        y_offset=2,
    )


def chip_bytes(shown: DisplayedPlan) -> int:
    """The size of the machine's on-chip memory: the preset's, whatever the budget is."""
    machine = shown.plan.machine
    preset = sp.presets().get(machine.name, machine)
    return preset.scratchpad_bytes


def held_bytes(shown: DisplayedPlan) -> list[int]:
    """The most bytes of whole tensors that the pool holds during each run."""
    pool = shown.pool
    assert pool is not None
    columns, by_step = shown.residency_columns, [0] * shown.steps
    sides = (side.tolist() for side in shown.sides)
    for tensor, size_bytes, left, right in zip(
        columns.tensor.tolist(), columns.size_bytes.tolist(), *sides, strict=True
    ):
        for step in range(left, right):
            if pool.run_at(step).role(columns.tensors[tensor]) != "workspace":
                by_step[step] += size_bytes
    return [max(by_step[run.start_step : run.stop_step], default=0) for run in pool.runs]


def bar_columns(shown: DisplayedPlan) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Rows of tensors and workspace, and of what must stay free between them."""
    pool = shown.pool
    assert pool is not None
    bars: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    free: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for run, tensors in zip(pool.runs, held_bytes(shown), strict=True):
        bytes_in_use, extent = tensors + run.workspace_bytes, pool.extent_bytes(run)
        sizes = (
            f"{format_bytes(tensors)} of tensors, {format_bytes(run.workspace_bytes)} of workspace;"
            f" {format_bytes(extent)} including the distance kept free between them"
        )
        what = f"{FORMS[run.run.form]}, steps {run.start_step + 1} – {run.stop_step}"
        words = (run.number, f"{run.number + 1}: {run.name}", what, sizes)
        at = 0
        for (colour, hatch), size in zip(
            PARTS.values(), (tensors, run.workspace_bytes), strict=True
        ):
            _add(bars, run.number, (at, at + size), (colour, hatch), words)
            at += size
        if extent > bytes_in_use:
            _add(free, run.number, (bytes_in_use, extent), (GREY, PLAIN), words)
    return bars, free


def _add(
    columns: dict[str, list[Any]],
    number: int,
    sides: tuple[int, int],
    look: tuple[str, str],
    words: tuple[Any, ...],
) -> None:
    row = (number + 0.08, number + 0.92, *sides, *look, *words)
    for name, value in zip(COLUMNS, row, strict=True):
        columns[name].append(value)
