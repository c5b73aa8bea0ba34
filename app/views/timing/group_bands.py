"""What runs together along an axis of steps or seconds: a coloured piece with a name for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import ColumnDataSource, CustomJS, Range1d
from bokeh.plotting import figure

from app.kinds.kind import Band
from app.model.paths import script
from app.widgets.frames import filled_there
from app.widgets.glyphs import put, tappable, tell
from app.widgets.palette import Theme, tooltip
from planners.core.colours import DARK_INK, ink_on

INKS = {"dark": DARK_INK, "light": "#ffffff"}
COLUMNS = ("left", "right", "colour", "ink", "name", "who", "line", "dark", "light")
FIT_NAMES = script("group_names")


class GroupBands:
    """A row of pieces in a figure: hover describes a group, a tap selects it."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({name: [] for name in COLUMNS})
        self.chosen = filled_there("left", "right")

    def draw(
        self, plot: figure, theme: Theme, x_range: Range1d, across: Mapping[str, Any], middle: Any
    ) -> None:
        """Add the glyphs: `across` places a piece across the axis, `middle` its name."""
        kind = "hbar" if "y" in across else "quad"
        named = {k: v for k, v in across.items() if k == "y_range_name"}
        sides = {"left": "left", "right": "right", **across}
        pieces = put(
            plot,
            kind,
            **sides,
            source=self.source,
            fill_color="colour",
            fill_alpha=0.9,
            line_color=theme.panel,
            line_width=1,
        )
        around: dict[str, Any] = {"fill_color": None, "line_color": theme.text, "line_width": 2}
        put(plot, kind, **sides, source=self.chosen, beside=self.source, **around)
        for ink, colour in INKS.items():
            put(
                plot,
                "text",
                x="left",
                y=middle,
                **named,
                text=ink,
                source=self.source,
                text_color=colour,
                text_font_size="10px",
                text_font_style="bold",
                text_baseline="middle",
                x_offset=3,
            )
        tell(plot, [pieces], tooltip("@name: @who", "@line"))
        tappable(plot, [pieces], there=True)
        fit = CustomJS(args={"plot": plot, "range": x_range, "source": self.source}, code=FIT_NAMES)
        x_range.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.source.js_on_change("data", fit)

    def show(self, bands: Sequence[Band], places: Sequence[tuple[float, float]]) -> None:
        """The bands of a plan, each from where to where."""
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for band, (left, right) in zip(bands, places, strict=True):
            ink = "dark" if ink_on(band.colour) == DARK_INK else "light"
            row = (left, right, band.colour, ink, band.name, band.who, band.line, "", "")
            for name, value in zip(COLUMNS, row, strict=True):
                columns[name].append(value)
        self.source.data = columns

    def tell(self, bands: Sequence[Band]) -> None:
        """Add to the hovers what is known by now."""
        self.source.data["line"] = [band.line for band in bands]


def step_places(bands: Sequence[Band]) -> list[tuple[float, float]]:
    """Where bands are on an axis of steps."""
    return [(float(band.start_step), float(band.stop_step)) for band in bands]


def second_places(
    bands: Sequence[Band], seconds: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Where bands compute on an axis of seconds, of which each step has a start and an end."""
    return [(seconds[band.start_step][0], seconds[band.stop_step - 1][1]) for band in bands]
