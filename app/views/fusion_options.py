"""The options of the planner of fused groups."""

from __future__ import annotations

from typing import Any

import panel as pn

from app.options import FUSION, takes
from app.session import Session
from app.state import Problem
from app.style import COMPACT, TEXT
from app.views.following import follow
from app.views.whole_number import WholeNumber
from planners.fusion.baselines import BASELINES

BEST, ONLINE = "", "online"
NAMES = {
    "no_fusion": "no fusion",
    "fused_layer": "fused-layer (2016)",
    "dnnvm": "DNNVM (2019)",
    "efficient_s": "Efficient-S (2020)",
}
SEARCHES = {
    "best partition": BEST,
    "online, by rules": ONLINE,
    **{f"baseline: {NAMES.get(name, name)}": name for name in BASELINES},
}
ALWAYS = "Fused plans always count parameters."
WIDE: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "margin": (2, 8),
    "stylesheets": [COMPACT],
}


class FusionOptions:
    """Widgets that follow the problem and change it: `search` stands in front, `rest` is folded."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._mirroring = False
        self.search = pn.widgets.Select(
            label="Groups", options=SEARCHES, css_classes=["search"], **WIDE
        )
        self.search.param.watch(self._searched, "value")
        self.widgets: dict[str, Any] = {
            "joint": self._check("keep maps on chip between groups (joint)", "joint"),
            "double_buffer": self._check("load ahead where there is room", "double-buffer"),
            "free_local_layers": self._check("local layers alone for free", "free-local"),
            "bands": pn.widgets.Select(
                label="Bands of columns, at most",
                options=Problem.param["bands"].objects,
                css_classes=["bands"],
                **WIDE,
            ),
        }
        self.channels = WholeNumber(
            session, "channel_tile", "Channels at once, at least", "channel-tile", **WIDE
        )
        for name, widget in self.widgets.items():
            widget.param.watch(self._changed(name), "value")
        w = self.widgets
        self.joint = w["joint"]
        about = pn.pane.HTML(f'<span class="faint">{ALWAYS}</span>', margin=(0, 8))
        about.stylesheets = [TEXT]
        self.rest = pn.Column(
            w["bands"],
            self.channels.field,
            self.channels.wrong,
            w["double_buffer"],
            w["free_local_layers"],
            about,
            sizing_mode="stretch_width",
            margin=0,
        )
        follow(session.problem, list(session.problem.param), lambda: self._mirror())
        self._mirror()

    def _check(self, label: str, name: str) -> pn.widgets.Checkbox:
        return pn.widgets.Checkbox(label=label, css_classes=[name], **WIDE)

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new is not None:
                self.session.change(**{name: event.new})

        return change

    def _searched(self, event: Any) -> None:
        if not self._mirroring:
            baseline = event.new if event.new in BASELINES else ""
            self.session.change(online=event.new == ONLINE, baseline=baseline)

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem = self.session.problem
        offered, here = takes(problem.planner), problem.planner == FUSION
        own_search = problem.online or bool(problem.baseline)
        self._mirroring = True
        try:
            self.search.value = ONLINE if problem.online else problem.baseline
            self.search.visible = self.rest.visible = here
            for name, widget in self.widgets.items():
                widget.value = getattr(problem, name)
                widget.visible = here and name in offered
            self.channels.field.visible = here and "channel_tile" in offered
            self.joint.disabled = own_search
        finally:
            self._mirroring = False
