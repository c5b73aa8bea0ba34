"""Small buttons, as all views have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn

from app.style import COMPACT


def button(label: str, name: str, act: Callable[[], object], **more: Any) -> pn.widgets.Button:
    """A button whose CSS class is `name`, so that tests and keys find it; `more` is Panel's own."""
    chosen = {"margin": (0, 3), "stylesheets": [COMPACT], **more}
    return pn.widgets.Button(label=label, css_classes=[name], on_click=lambda _e: act(), **chosen)
