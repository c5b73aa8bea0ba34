"""The options of the planner that streams parameters layer by layer."""

from __future__ import annotations

from typing import Any

import panel as pn

import planners as sp
from app.options import STREAMING, STREAMING_OPTIONS, USUAL, why_not
from app.session import Session
from app.sizes import format_exact
from app.streaming import PIPELINE_NAMES
from app.style import COMPACT
from app.views.following import follow
from planners.units import parse_size

PIPELINES = {title: name for name, title in PIPELINE_NAMES.items()}
STAGES = {"the better": 0, "two (zero-copy)": 2, "three": 3}
SLICES = {
    "whole": 1,
    "as is best": 0,
    **{f"≤ largest / {n}": n for n in (2, 3, 4, 6, 8, 12, 16)},
}
TIMES = {"what suits the machine": "", "its roofline": "roofline"}
SPREADS = {"as they are": 0.0, **{f"up to {n} % longer": n / 100 for n in (5, 10, 20, 50, 100)}}
DRAWS = {"none": 0, "100 draws": 100, "1,000 draws": 1000}
WIDE: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "margin": (2, 8),
    "stylesheets": [COMPACT],
}


class StreamOptions:
    """Widgets that follow the problem and change it; `rest` is folded."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._mirroring = False
        self.widgets: dict[str, Any] = {
            "pipeline": self._select("Pipeline", PIPELINES, "pipeline"),
            "slices": self._select("Layers", SLICES, "slices"),
            "stages": self._select("Stages", STAGES, "stages"),
            "times": self._select("Times", TIMES, "times"),
            "spread": self._select("Bound: times may be", SPREADS, "spread"),
            "draws": self._select("Monte Carlo band", DRAWS, "draws"),
            "twice": self._check("rings mapped twice: no gap is lost", "twice"),
            "one_memory": self._check("weights and activations in one memory", "one-memory"),
        }
        self.sizes = {
            "ring_bytes": self._size("Each ring", "the largest layer", "ring-bytes"),
            "ring_step": self._size("Step of the search", "1 MiB", "ring-step"),
        }
        for name, widget in self.widgets.items():
            widget.param.watch(self._changed(name), "value")
        for name, widget in self.sizes.items():
            widget.param.watch(self._sized(name), "value")
        w, row = {**self.widgets, **self.sizes}, {"sizing_mode": "stretch_width", "margin": 0}
        self.front = pn.Column(
            w["pipeline"], pn.Row(w["slices"], w["stages"], **row), w["one_memory"], **row
        )
        self.rest = pn.Column(
            w["twice"],
            pn.Row(w["ring_bytes"], w["ring_step"], **row),
            w["times"],
            pn.Row(w["spread"], w["draws"], **row),
            **row,
        )
        follow(session.problem, list(session.problem.param), lambda: self._mirror())
        self._mirror()

    def _select(self, label: str, choices: dict[str, Any], name: str) -> pn.widgets.Select:
        return pn.widgets.Select(label=label, options=choices, css_classes=[name], **WIDE)

    def _check(self, label: str, name: str) -> pn.widgets.Checkbox:
        return pn.widgets.Checkbox(label=label, css_classes=[name], **WIDE)

    def _size(self, label: str, usual: str, name: str) -> pn.widgets.TextInput:
        return pn.widgets.TextInput(label=label, placeholder=usual, css_classes=[name], **WIDE)

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new is not None:
                self.session.change(**{name: event.new})

        return change

    def _sized(self, name: str) -> Any:
        """Take a size that can be read; say what is wrong with any other."""

        def change(event: Any) -> None:
            if self._mirroring:
                return
            try:
                size = parse_size(event.new) if event.new.strip() else USUAL[name]
            except sp.SpillwayError as error:
                self.session.work.notice = str(error)
            else:
                self.session.change(**{name: size})

        return change

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem, ruled_out = self.session.problem, why_not(self.session.problem)
        here = problem.planner == STREAMING
        self._mirroring = True
        try:
            for name, widget in self.widgets.items():
                value = getattr(problem, name) if name not in ruled_out else USUAL[name]
                _offer(widget, value)
                widget.value = value
                widget.disabled = name in ruled_out
            for name, widget in self.sizes.items():
                value = getattr(problem, name)
                widget.value = "" if value == USUAL[name] else format_exact(value)
                widget.visible = name not in ruled_out
            self.front.visible = self.rest.visible = here
        finally:
            self._mirroring = False

    @property
    def unusual(self) -> list[str]:
        """What in the folded part is not the usual, in a word each."""
        problem, ruled_out = self.session.problem, why_not(self.session.problem)
        if problem.planner != STREAMING:
            return []
        return [
            UNUSUAL.get(name, "{}").format(getattr(problem, name))
            for name in STREAMING_OPTIONS
            if name in UNUSUAL and name not in ruled_out and getattr(problem, name) != USUAL[name]
        ]


UNUSUAL = {
    "twice": "mapped twice",
    "ring_bytes": "ring size",
    "ring_step": "step",
    "times": "{}",
    "spread": "bound",
    "draws": "band",
}


def _offer(widget: Any, value: Any) -> None:
    """A value of a link that is not in the list is added to it."""
    if isinstance(widget, pn.widgets.Select) and value not in widget.options.values():
        widget.options = {**widget.options, str(value): value}
