"""Small buttons, as in all views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh.models import Tooltip

from app.widgets.style import SMALL


def button(
    label: str, name: str, act: Callable[[], object] | None, **more: Any
) -> pn.widgets.Button:
    """A button whose CSS class is `name`, so that tests and keys find it; `more` is Panel's own.

    Without `act`, the browser acts by itself.
    """
    chosen = {"margin": (0, 3), "stylesheets": [SMALL], **more}
    if act is not None:
        chosen["on_click"] = lambda _event: act()
    return pn.widgets.Button(label=label, css_classes=[name], **chosen)


def to_the_left(words: str) -> Tooltip:
    """A description of a button near the right edge of the window, where there is room for it."""
    sheet = ":host { white-space: initial; max-width: 300px; }"
    return Tooltip(content=words, position="left", stylesheets=[sheet])
