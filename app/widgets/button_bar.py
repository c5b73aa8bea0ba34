"""A row of small buttons as one component: a page has dozens of them, and each of Panel's is two
models and a tree of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import param

from app.model.paths import script
from app.widgets.rows import Sender

Act = Callable[[], object]


class ButtonBar(Sender):
    """Buttons by name, which is also their CSS class; a tap sends the name."""

    buttons = param.List(
        default=[], doc="Dicts: name, label, about, and down, off, shown, danger, end, here."
    )

    def __init__(self, **params: Any) -> None:
        super().__init__(**{"margin": (0, 2), **params})
        self._acts: dict[str, Act] = {}
        self.on_key(lambda name: self._acts[name]() if name in self._acts else None)

    def add(self, name: str, label: str, about: str, act: Act | None, **look: Any) -> None:
        """One more; without `act` the browser acts by itself, on its name.

        `look` is what it looks like at first: `down` as pressed, `off` disabled, `shown` or not,
        `danger` in red, `end` at the right end of the row.
        """
        if act is not None:
            self._acts[name] = act
        row = {"name": name, "label": label, "about": about, "here": act is None, **look}
        self.buttons = [*self.buttons, row]

    def look(self, name: str, **look: Any) -> None:
        """Change how one looks."""
        rows = [{**row, **look} if row["name"] == name else row for row in self.buttons]
        if rows != self.buttons:
            self.buttons = rows

    _esm = script("button_bar")
    _stylesheets: ClassVar[list[str]] = [
        """
.button-bar { width: 100%; display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
.button-bar .end { margin-left: auto; }
.button-bar [hidden] { display: none; }
button { font: 12px/1.3 var(--sw-font); padding: 3px 9px; min-height: 28px; border-radius: 4px;
  border: 1px solid transparent; background: var(--sw-grid); color: var(--sw-text);
  text-align: left; cursor: pointer; }
button:hover { border-color: var(--sw-faint); }
button:disabled { opacity: .5; cursor: default; }
button[aria-pressed=true] { background: #0072B2; color: #fff; }
button.danger { background: #b52b27; color: #fff; }
"""
    ]


def alone(layout: str) -> ButtonBar:
    """A button in a view's head that presents it; the browser acts on its name."""
    bar = ButtonBar()
    add_alone(bar, layout)
    return bar


def add_alone(bar: ButtonBar, layout: str) -> None:
    """The same as the last of other buttons."""
    about = "present this view full screen; Esc returns"
    bar.add(f"present-{layout}", "⤢", about, None, end=True)
