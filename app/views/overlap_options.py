"""The options of the planner that lets outputs overlap their dying inputs."""

from __future__ import annotations

from typing import Any

import panel as pn

from app.options import OVERLAP
from app.session import Session
from app.style import COMPACT
from app.views.following import follow

OBJECTIVES = {
    "least work within the budget": "macs",
    "least RAM": "ram",
    "least latency, whole rows": "latency",
}
WIDE: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "margin": (2, 8),
    "stylesheets": [COMPACT],
}


class OverlapOptions:
    """Widgets that follow the problem and change it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._mirroring = False
        self.objective = pn.widgets.Select(
            label="Objective", options=OBJECTIVES, css_classes=["pool-objective"], **WIDE
        )
        self.fuse = pn.widgets.Checkbox(
            label="operators may run together (fuse)", css_classes=["fuse"], **WIDE
        )
        self.widgets = {"pool_objective": self.objective, "fuse": self.fuse}
        for name, widget in self.widgets.items():
            widget.param.watch(self._changed(name), "value")
        follow(session.problem, list(session.problem.param), lambda: self._mirror())
        self._mirror()

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new is not None:
                self.session.change(**{name: event.new})

        return change

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem = self.session.problem
        self._mirroring = True
        try:
            for name, widget in self.widgets.items():
                widget.value = getattr(problem, name)
                widget.visible = problem.planner == OVERLAP
        finally:
            self._mirroring = False
