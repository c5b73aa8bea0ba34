"""The mark at the top of an axis whose limit lies far above: waves across it, and words."""

from __future__ import annotations

from bokeh.model import Model
from bokeh.models import BoxAnnotation, Label, Range1d
from bokeh.plotting import figure

from app.widgets.palette import Theme

TAG = "far-limit"
"""By this and the limit in bytes, the models' tags, a page's script finds it."""


class FarLimit:
    """Not there while the limit is on the axis; `high` is the waves' share of the frame."""

    def __init__(self, plot: figure, theme: Theme, high: float) -> None:
        self.high = high
        plot.extra_y_ranges = {**plot.extra_y_ranges, TAG: Range1d(0, 1)}
        self.waves = BoxAnnotation(
            y_range_name=TAG,
            bottom=1 - high,
            top=1,
            fill_color=None,
            line_color=None,
            hatch_pattern="horizontal_wave",
            hatch_color=theme.faint,
            hatch_scale=7,
            hatch_weight=1,
            visible=False,
            propagate_hover=True,
        )
        self.words = Label(
            x=4,
            y=1 - high,
            x_units="screen",
            y_range_name=TAG,
            y_offset=-3,
            text="",
            text_color=theme.text,
            text_font_size="10.5px",
            text_baseline="top",
            visible=False,
        )
        for mark in self.models:
            plot.add_layout(mark)

    @property
    def models(self) -> list[Model]:
        """What changes."""
        return [self.waves, self.words]

    def say(self, words: str, limit_bytes: int, top: float = 1.0) -> None:
        """Show the mark with these words below `top`, a share of the frame; without words, hide
        it."""
        shown, low = bool(words), top - self.high
        tags = [TAG, limit_bytes if shown else 0]
        self.waves.update(visible=shown, tags=tags, top=top, bottom=low)
        self.words.update(visible=shown, tags=tags, y=low, text=f"↑ {words}" if shown else "")
