"""The badge that marks a wish on a view."""

from __future__ import annotations

from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.widgets.glyphs import put
from planners.core.colours import DARK_INK, YELLOW

FONT = "'DejaVu Sans', 'Segoe UI Symbol', 'Apple Symbols', sans-serif"


def badge(plot: figure, source: ColumnDataSource, **place: Any) -> Any:
    """Letters on yellow, readable on every colour, light and dark."""
    return put(
        plot,
        "text",
        x="x",
        y="y",
        text="text",
        source=source,
        text_font=value(FONT),
        text_font_size="11px",
        text_color=DARK_INK,
        background_fill_color=YELLOW,
        background_fill_alpha=0.95,
        border_line_color=DARK_INK,
        border_radius=3,
        padding=1,
        **place,
    )
