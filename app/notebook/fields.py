"""The left side of the what-if panel: planner, budget, machine, options and wishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w
import param

import planners as sp
from app.notebook.pages import styled
from app.options import why_not
from app.session import Session
from app.sizes import format_exact
from app.state import WIDTHS
from app.style import TICKS
from app.views.budget_field import ABOUT, place_of, slider_sizes, ticks_html
from planners.units import format_bytes, parse_size

Act = Callable[[Callable[[], object]], None]
MATTER = {
    "cosma": ("schedule", "objective", "replacement"),
    "fusion": ("joint", "online", "bands"),
    "overlap": ("pool_objective", "fuse"),
    "streaming": ("pipeline", "slices", "twice", "one_memory"),
}
"""The options of each planner that change most; code has them all."""
WORDS = {
    "pool_objective": "objective",
    "joint": "outputs may stay on chip between groups",
    "online": "the paper's fast rules",
    "bands": "bands, at most",
    "fuse": "operators may run together",
    "twice": "rings mapped twice",
    "one_memory": "weights and activations in one memory",
}
WISHES = 'One a line: "keep T", "spill T", "A before B", "fuse A B", "split A B"'
SIDE = "300px"
FULL = {"width": "96%"}
NARROW = {"description_width": "88px"}


class Fields:
    """Widgets that follow a session's problem and change it."""

    def __init__(self, session: Session, act: Act) -> None:
        self.session, self.act = session, act
        self._mirroring = False
        self.sizes: list[int] = [1, 2]  # what the slider's places mean, in KiB
        self._make_choices()
        self._make_budget()
        self._make_options()
        self._make_wishes()
        session.problem.param.watch(lambda *_: self._mirror(), list(session.problem.param))
        session.work.param.watch(lambda *_: self._measure(), ["budgets", "shown", "reach"])
        self._mirror()
        self._measure()

    def _make_choices(self) -> None:
        planners = [(info.title, name) for name, info in sp.planners().items()]
        machines = [(machine.title, name) for name, machine in sp.presets().items()]
        self.planner = w.Dropdown(options=planners, layout=FULL, tooltip="How it is planned")
        self.machine = w.Dropdown(options=machines, layout=FULL, tooltip="What it runs on")
        self.width = w.Dropdown(
            options=WIDTHS,
            description="B/element",
            layout=FULL,
            style=NARROW,
            tooltip="Bytes of each element",
        )
        self.parameters = w.Checkbox(
            description="parameters count too",
            indent=False,
            layout=FULL,
            tooltip="Whether parameters take room in the budget",
        )
        choices = {"planner": self.planner, "machine": self.machine}
        choices |= {"bytes_per_element": self.width, "parameters": self.parameters}
        for name, widget in choices.items():
            widget.observe(self._changed(name), "value")
        self.choices: dict[str, Any] = choices

    def _make_budget(self) -> None:
        self.named = {
            name: w.Button(description=name, tooltip=about, layout={"width": "31%"})
            for name, about in ABOUT.items()
        }
        for name, button in self.named.items():
            button.on_click(lambda _b, name=name: self._budget(name))
        self.slider = w.IntSlider(
            min=0,
            max=1,
            readout=False,
            continuous_update=False,
            layout=FULL,
            disabled=True,
            tooltip="The budget, from what is too small to what is enough",
        )
        self.slider.observe(self._slid, "value")
        self.ticks = w.HTML(layout={"width": "88%", "margin": "-12px 6% 0"})
        self.typed = w.Text(
            description="size",
            continuous_update=False,
            placeholder="e.g. 256 KiB, 1.5MB",
            layout=FULL,
            style=NARROW,
            tooltip="A budget in bytes, KiB, KB, …, or MR, MH, MP",
        )
        self.typed.observe(self._typed, "value")

    def _make_options(self) -> None:
        self.options: dict[str, Any] = {}
        for name in dict.fromkeys(name for names in MATTER.values() for name in names):
            widget = option_widget(name, self.session.problem.param[name])
            widget.observe(self._changed(name), "value")
            self.options[name] = widget
        self.chosen = w.VBox(layout=FULL)

    def _make_wishes(self) -> None:
        self.has_wishes = "wishes" in self.session.problem.param
        self.wishes = w.Textarea(
            placeholder=WISHES,
            continuous_update=False,
            rows=3,
            layout=FULL,
            tooltip="What a plan must respect: " + WISHES,
        )
        self.wishes.observe(self._wished, "value")

    def _changed(self, name: str) -> Callable[[Any], None]:
        def change(event: Any) -> None:
            if not self._mirroring:
                self.act(lambda: self.session.change(**{name: event["new"]}))

        return change

    def _wished(self, event: Any) -> None:
        lines = [line.strip() for line in event["new"].splitlines() if line.strip()]
        if not self._mirroring:
            self.act(lambda: self.session.change(wishes=lines))

    def _budget(self, text: str) -> None:
        self.act(lambda: self.session.change(budget=text))

    def _slid(self, event: Any) -> None:
        if not self._mirroring:
            self._budget(f"{self.sizes[event['new']]} KiB")

    def _typed(self, event: Any) -> None:
        text = event["new"].strip()
        if self._mirroring or not text:
            return
        name = text.upper()
        self.act(
            lambda: self.session.change(
                budget=name if name in self.named else format_exact(parse_size(text))
            )
        )

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem = self.session.problem
        self._mirroring = True
        try:
            for name, widget in {**self.choices, **self.options}.items():
                if getattr(problem, name) in _possible(widget):
                    widget.value = getattr(problem, name)
            self.typed.value = problem.budget
            for name, button in self.named.items():
                button.button_style = "primary" if problem.budget == name else ""
            if self.has_wishes:
                self.wishes.value = "\n".join(problem.wishes)
            self._rule_out()
            self._place()
        finally:
            self._mirroring = False

    def _rule_out(self) -> None:
        """The planner's options; those that others rule out are disabled, and say why."""
        ruled_out = why_not(self.session.problem)
        names = MATTER.get(self.session.problem.planner, ())
        for name in names:
            widget = self.options[name]
            widget.disabled = name in ruled_out
            widget.tooltip = ruled_out.get(name, str(self.session.problem.param[name].doc))
        self.chosen.children = [self.options[name] for name in names]
        info = sp.planners().get(self.session.problem.planner)
        self.parameters.disabled = bool(info and info.always_counts)

    def _measure(self) -> None:
        """Where the slider begins and ends, and what the named budgets come to."""
        budgets = self.session.work.budgets
        for name, button in self.named.items():
            unproven = name == "MP" and budgets and not budgets["MP_proven"]
            size = f" {format_bytes(budgets[name])}" if budgets else " …"
            button.tooltip = f"{ABOUT[name]}:{size}"
            button.description = name + (" ≤" if unproven else "")
        self.slider.disabled = not budgets
        if not budgets:
            return
        least, most = self.session.live.least_bytes, self.session.streams.most_bytes
        named = {} if self.session.streams.offered else dict(budgets)
        named |= {"least": least} if least else {}
        self._mirroring = True
        try:
            self.sizes = slider_sizes(budgets, least, most)
            self.slider.max = len(self.sizes) - 1
            self.ticks.value = styled(f"<style>{TICKS}</style>{ticks_html(named, self.sizes)}")
            self._place()
        finally:
            self._mirroring = False

    def _place(self) -> None:
        """Put the handle where the budget is."""
        budget, shown = self.session.problem.budget, self.session.work.shown
        size = self.session.work.budgets.get(budget) if budget in self.named else None
        if size is None and budget not in self.named:
            size = parse_size(budget)
        size = size or (shown.plan.budget_bytes if shown else None)
        if size:
            self.slider.value = min(self.slider.max, place_of(size, self.sizes))

    @property
    def box(self) -> w.VBox:
        """All of them, one below the other."""
        wishes = [_heading("Wishes"), self.wishes] if self.has_wishes else []
        children = [
            _heading("Planner"),
            self.planner,
            self.chosen,
            _heading("Budget"),
            w.HBox(list(self.named.values())),
            self.slider,
            self.ticks,
            self.typed,
            _heading("Machine"),
            self.machine,
            self.width,
            self.parameters,
            *wishes,
        ]
        return w.VBox(children, layout={"width": SIDE, "flex": f"0 0 {SIDE}"})


def option_widget(name: str, spec: param.Parameter) -> Any:
    """A widget for a field of the problem, by what sort of value it has."""
    words = WORDS.get(name, name)
    if isinstance(spec, param.Boolean):
        return w.Checkbox(description=words, indent=False, layout=FULL, tooltip=spec.doc)
    if isinstance(spec, param.Selector):
        return w.Dropdown(
            options=list(spec.objects),
            description=words,
            layout=FULL,
            style=NARROW,
            tooltip=spec.doc,
        )
    low, high = spec.bounds
    return w.BoundedIntText(
        min=low, max=high, description=words, layout=FULL, style=NARROW, tooltip=spec.doc
    )


def _possible(widget: Any) -> Sequence[Any]:
    """The values that a widget can have."""
    if isinstance(widget, w.Dropdown):
        return [item[1] if isinstance(item, tuple) else item for item in widget.options]
    if isinstance(widget, w.Checkbox):
        return (True, False)
    return range(widget.min, widget.max + 1)


def _heading(words: str) -> w.HTML:
    return w.HTML(styled(f'<div class="sw-heading">{words}</div>'))
