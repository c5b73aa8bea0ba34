"""The lower right corner: the panels of `app.model.panels`, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import panel as pn

from app.model.panels import PANELS
from app.session.session import Session
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.legends import switch

HEIGHT = 250


class Corner(pn.viewable.Viewer):
    """All panels in one place; the look of the page says which one is in front."""

    def __init__(self, session: Session, choose: Callable[[str], object], **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "height": HEIGHT, "margin": 0}
        self.views = {n: panel_of(to)(session, choose, HEIGHT) for n, to in PANELS.items()}
        # A box more is a layout more at each step: only what is no pane itself gets one.
        self.panels = {
            name: view if isinstance(view, pn.viewable.Viewable) else pn.Column(view, **wide)
            for name, view in self.views.items()
        }
        follow(session.look, "panel", lambda: self._turn())
        self._turn()

    def _turn(self) -> None:
        for name, panel in self.panels.items():
            panel.visible = name == self.session.look.panel

    def __panel__(self) -> pn.Column:
        return seen(
            pn.Column,
            switch(self.session, "panel", {name: name for name in PANELS}, ["panel"]),
            *self.panels.values(),
            sizing_mode="stretch_width",
            margin=0,
        )


def panel_of(target: str) -> Callable[[Session, Callable[[str], object], int], Any]:
    """What makes a panel, imported by its `module:name`."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
