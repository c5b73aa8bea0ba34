"""Panels that only some plans have: made for the browser when the first such plan comes.

With all of them at once a page has half as many models again, and is as much later on screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn

from app.style import BOX


def hidden_box(name: str) -> pn.Column:
    """An empty box that is not seen."""
    return pn.Column(
        pn.Spacer(height=0),
        css_classes=["box", name],
        stylesheets=[BOX],
        visible=False,
        sizing_mode="stretch_width",
    )


def fill(box: pn.Column, rows: Callable[[], list[Any]]) -> None:
    """Put the rows into a box that is still empty."""
    if isinstance(box[0], pn.Spacer):
        box.objects = rows()
