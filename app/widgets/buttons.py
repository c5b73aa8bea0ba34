"""Small buttons, as in all views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import param
from bokeh.models import Tooltip

from app.widgets.following import follow
from app.widgets.style import SMALL

LINE = ".bk-btn { white-space: nowrap; min-height: 24px; }"


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


def stays_down(
    label: str,
    name: str,
    about: str,
    turn: Callable[[], object],
    is_down: Callable[[], bool],
    source: param.Parameterized,
    *names: str,
) -> pn.widgets.Button:
    """A button that looks pressed while something holds, which the named parameters change."""
    made = button(label, name, turn, description=about, margin=(0, 2), stylesheets=[SMALL, LINE])

    def show() -> None:
        made.color = "primary" if is_down() else "default"

    follow(source, list(names), show)
    show()
    return made


def to_the_left(words: str) -> Tooltip:
    """A description of a button near the right edge of the window, where there is room for it."""
    sheet = ":host { white-space: initial; max-width: 300px; }"
    return Tooltip(content=words, position="left", stylesheets=[sheet])


def alone(layout: str) -> pn.widgets.Button:
    """A button in a view's head that presents it; the browser acts on its name."""
    about = to_the_left("this view alone on the screen, for a hall; back with Esc")
    return button("⤢", f"present-{layout}", None, description=about, width=34, margin=(0, 2))
