"""What a figure has in sight, and what is done once that has been still for a moment.

A wheel or a drag moves a range sixty times a second: what is drawn follows when it stops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.models import Range1d
from bokeh.plotting import figure

from app.display.detail import Sight
from app.widgets.glyphs import settle

STILL_MS = 100
ALIKE = 0.1
"""Windows whose widths differ by so much of them show as much."""
USUAL = (540, 230)
"""Pixels of a map or timeline before it is laid out, roughly, in a window 1280 wide."""


class WhenStill:
    """Calls `act` when the ranges of a figure have been still for a moment, or its width is known.

    Without a page it acts at once.
    """

    def __init__(self, plot: figure, act: Callable[[], None]) -> None:
        self.plot, self.act = plot, act
        self._due: Any = None
        for around in (plot.x_range, plot.y_range):
            if isinstance(around, Range1d):
                for side in ("start", "end"):
                    around.on_change(side, lambda _attr, _old, _new: self._moved())
        plot.on_change("inner_width", lambda _attr, _old, _new: self._moved())

    def _moved(self) -> None:
        page = self.plot.document
        if page is None or page.session_context is None:
            self.act()
            return
        if self._due is not None:
            page.remove_timeout_callback(self._due)
        self._due = page.add_timeout_callback(self._act, STILL_MS)

    def _act(self) -> None:
        self._due = None
        with pn.io.unlocked():
            self.act()
            settle(self.plot.document)


def sight_of(plot: figure) -> Sight:
    """What a figure with two ranges of numbers has in sight, by the pixel."""
    across, up = plot.x_range, plot.y_range
    left, right, bottom, top = map(float, (across.start, across.end, up.start, up.end))
    wide, high = pixels(plot)
    return Sight(left, right, bottom, top, (right - left) / wide, (top - bottom) / high)


def pixels(plot: figure) -> tuple[float, float]:
    """The width and height of a figure's frame in pixels, as the browser says; or the usual."""
    try:
        return max(1.0, plot.inner_width), max(1.0, plot.inner_height)
    except UnsetValueError:
        return USUAL
