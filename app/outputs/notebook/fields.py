"""The left side of the what-if panel: planner, budget, machine, options and wishes."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w

import planners as sp
from app.model.options import apart
from app.model.sizes import format_exact
from app.model.state import WIDTH_LABELS
from app.outputs.notebook.options import FULL, NARROW, OptionWidgets, possible
from app.outputs.notebook.pages import styled
from app.session.session import Session
from app.widgets.bound import bind
from app.widgets.budget_field import ABOUT, place_of, slider_sizes, ticks_html
from app.widgets.style import TICKS
from planners.core.units import format_bytes, parse_size
from planners.core.weights import WORDS

Act = Callable[[Callable[[], object]], None]
WISHES = 'One a line: "keep T", "spill T", "A before B", "fuse A B", "split A B"'
SIDE = "300px"


class Fields:
    """Widgets that follow a session's problem and change it."""

    def __init__(self, session: Session, act: Act) -> None:
        self.session, self.act = session, act
        self.sizes: list[int] = [1, 2]  # the sizes of the slider's places, in KiB
        self._make_choices()
        self._make_budget()
        self._make_options()
        self._make_wishes()
        self._bind()
        session.problem.param.watch(lambda *_: self._show(), list(session.problem.param))
        session.work.param.watch(lambda *_: self._measure(), ["budgets", "shown", "reach"])
        self._show()
        self._measure()

    def _make_choices(self) -> None:
        planners = [(info.title, name) for name, info in sp.planners().items()]
        machines = [(machine.title, name) for name, machine in sp.presets().items()]
        self.planner = w.Dropdown(options=planners, layout=FULL, tooltip="How it is planned")
        self.machine = w.Dropdown(options=machines, layout=FULL, tooltip="What it runs on")
        self.width = w.Dropdown(
            options=list(WIDTH_LABELS.items()),
            description="B/element",
            layout=FULL,
            style=NARROW,
            tooltip="Bytes of each element",
        )
        self.weights = w.Dropdown(
            options=[(words, weights) for weights, words in WORDS.items()],
            description="weights",
            layout=FULL,
            style=NARROW,
            tooltip="Weights: left out, counted or read in place; named budgets follow",
        )
        self.apart = w.HTML("")
        choices = {"planner": self.planner, "machine": self.machine}
        choices |= {"bytes_per_element": self.width, "weights": self.weights}
        self.choices: dict[str, Any] = choices

    def _make_budget(self) -> None:
        self.named = {
            name: w.Button(description=name, tooltip=about, layout={"width": "31%"})
            for name, about in ABOUT.items()
        }
        for name, button in self.named.items():
            button.on_click(lambda _b, name=name: self._change(budget=name))
        self.slider = w.IntSlider(
            min=0,
            max=1,
            readout=False,
            continuous_update=False,
            layout=FULL,
            disabled=True,
            tooltip="The budget, from what is too small to what is enough",
        )
        self.ticks = w.HTML(layout={"width": "88%", "margin": "-12px 6% 0"})
        self.typed = w.Text(
            description="size",
            continuous_update=False,
            placeholder="e.g. 256 KiB, 1.5MB",
            layout=FULL,
            style=NARROW,
            tooltip="A budget in bytes, KiB, KB, …, or MR, MH, MP",
        )

    def _make_options(self) -> None:
        self._forms: dict[str, OptionWidgets] = {}
        self.chosen = w.VBox(layout=FULL)

    @property
    def options(self) -> dict[str, Any]:
        """The widgets of the chosen planner's options, by name."""
        return self._form.widgets

    @property
    def _form(self) -> OptionWidgets:
        planner = self.session.problem.planner
        if planner not in self._forms:
            self._forms[planner] = OptionWidgets(self.session, planner, self.act)
        return self._forms[planner]

    def _make_wishes(self) -> None:
        self.has_wishes = "wishes" in self.session.problem.param
        self.wishes = w.Textarea(
            placeholder=WISHES,
            continuous_update=False,
            rows=3,
            layout=FULL,
            tooltip="What a plan must respect: " + WISHES,
        )

    def _bind(self) -> None:
        problem, change = self.session.problem, self._change
        for name, widget in self.choices.items():

            def fitting(value: Any, of: Any = widget) -> Any:
                return value if value in possible(of) else of.value

            bind(widget, problem, name, to=fitting, change=change)
        sized: dict[str, Any] = {"back": self._size, "wrong": self._wrong}
        bind(self.typed, problem, "budget", change=change, **sized)
        sized = {
            "to": lambda _: self._place(),
            "back": lambda at: format_exact(self.sizes[at] * 1024),
        }
        self.handle = bind(self.slider, problem, "budget", change=change, **sized)
        if self.has_wishes:
            bind(self.wishes, problem, "wishes", to="\n".join, back=lines_of, change=change)

    def _change(self, **fields: Any) -> None:
        self.act(lambda: self.session.change(**fields))

    def _wrong(self, error: sp.SpillwayError | None) -> None:
        if error is not None:
            self.act(lambda: setattr(self.session.work, "notice", str(error)))

    def _size(self, text: str) -> str:
        """A budget as it was typed. Raises `BadInput` for anything else."""
        name = text.strip().upper()
        return name if name in self.named else format_exact(parse_size(text.strip()))

    def _show(self) -> None:
        """Show which budget is chosen, and the options of the planner."""
        for name, button in self.named.items():
            button.button_style = "primary" if self.session.problem.budget == name else ""
        self.chosen.children = [self._form.box]
        self.apart.value = escape(apart(self.session.problem.values_by_name()))

    def _measure(self) -> None:
        """Set the ends of the slider, and the sizes of the named budgets."""
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
        self.sizes = slider_sizes(budgets, least, most)
        self.ticks.value = styled(f"<style>{TICKS}</style>{ticks_html(named, self.sizes)}")
        # In one message: a slider that is shorter first moves its handle, and says so.
        with self.slider.hold_sync(), self.slider.hold_trait_notifications():
            self.slider.max = len(self.sizes) - 1
            self.handle.show()

    def _place(self) -> int:
        """Place the handle at the budget; where no size is known, leave it."""
        size = self.session.models.handle_bytes
        if not size:
            return int(self.slider.value)
        return min(len(self.sizes) - 1, place_of(size, self.sizes))

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
            self.weights,
            self.apart,
            *wishes,
        ]
        return w.VBox(children, layout={"width": SIDE, "flex": f"0 0 {SIDE}"})


def lines_of(text: str) -> list[str]:
    """The lines of a text that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _heading(words: str) -> w.HTML:
    return w.HTML(styled(f'<div class="sw-heading">{words}</div>'))
