"""Saves one figure as a picture; only the browser can draw it."""

from __future__ import annotations

from app.model.paths import script
from app.widgets.component import Component


class Picture(Component):
    """Finds a figure by a class that only it has and saves it as PNG or SVG."""

    def save_figure(self, figure: str, kind: str, name: str) -> None:
        """Save the figure that has the class `figure` as `name` with the ending `kind`."""
        self._send_msg({"figure": figure, "kind": kind, "name": name})

    _esm = script("picture")
