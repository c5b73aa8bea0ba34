"""Names of the parts of the on-chip memory on the address map, where parameters stream."""

from __future__ import annotations

from bokeh.models import Label, Span
from bokeh.plotting import figure

from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion
from app.widgets.palette import Theme
from planners.core.units import format_bytes

SHARE = 0.04  # of the map's height: a narrower band has no room for its name


class StreamBands:
    """The border between ring and activations, and their names; empty for other plans."""

    def __init__(self, plot: figure, theme: Theme) -> None:
        self.line = Span(
            location=0, dimension="width", line_color=theme.text, line_width=1.2, visible=False
        )
        self.names = [_name(theme), _name(theme)]
        for item in (self.line, *self.names):
            plot.add_layout(item)

    def show(self, shown: DisplayedPlan, region: ShownRegion | None) -> None:
        """Name the parts of the on-chip memory; a single region needs no border."""
        stream = shown.stream
        parts = (
            [r for r in stream.regions[1:] if r.memory == region.memory]
            if (stream and region and not region.key)
            else []
        )
        self.line.visible = len(parts) > 1
        for label in self.names:
            label.visible = False
        if region is None:
            return
        for label, part in zip(self.names, parts, strict=False):
            room = part.size_bytes / region.size_bytes > SHARE
            text = f"{part.name} {format_bytes(part.size_bytes)}"
            label.update(x=4, y=part.base + part.size_bytes, text=text, visible=room)
        if len(parts) > 1:
            self.line.location = parts[1].base


def _name(theme: Theme) -> Label:
    return Label(
        x=4,
        y=0,
        x_units="screen",
        y_offset=-3,
        text="",
        text_color=theme.text,
        text_font_size="10.5px",
        text_baseline="top",
        background_fill_color=theme.panel,
        background_fill_alpha=0.85,
        padding=2,
        visible=False,
    )
