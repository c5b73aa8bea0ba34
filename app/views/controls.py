"""The sidebar: what to plan. A change is planned at once; the plan on screen stays till then."""

from __future__ import annotations

from typing import Any

import panel as pn

import planners as sp
from app.options import always_counts
from app.session import Session
from app.sizes import plain_shape
from app.state import GRANULARITIES, WIDTHS
from app.style import COMPACT, TEXT, wrong_html
from app.views.budget_field import BudgetField
from app.views.files_field import FilesField
from app.views.machine_field import MachineField
from app.views.model_field import ModelField
from app.views.planner_options import PlannerOptions
from app.views.words import budget_words, planner_words

TIMM = ("timm:nasnetalarge", "timm:pnasnet5large")  # any other timm model may be typed
COUNTED, ALWAYS = "count parameters", "parameters count"


class Controls(pn.viewable.Viewer):
    """Widgets for the problem, and files."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._mirroring = False
        self._make_problem()
        self.budget = BudgetField(session)
        self.options = PlannerOptions(session)
        self._make_again()
        self.files = FilesField(session)
        session.problem.param.watch(lambda *_: self._mirror(), list(session.problem.param))
        self._mirror()

    def _make_problem(self) -> None:
        wide = {"sizing_mode": "stretch_width", "margin": (2, 8), "stylesheets": [COMPACT]}
        self.model = ModelField(
            options=[*sp.models(), *TIMM],
            css_classes=["model"],
            sizing_mode="stretch_width",
            margin=(2, 8),
            height=46,
        )
        self.model.on_key(lambda name: self.session.change(model=name))
        self.shape = pn.widgets.TextInput(
            label="Input shape or batch",
            placeholder="the model's own",
            css_classes=["shape"],
            **wide,
        )
        self.shape.param.watch(self._shaped, "value")
        self.wrong_shape = pn.pane.HTML(
            "", css_classes=["shape-wrong"], margin=(0, 8), stylesheets=[TEXT]
        )
        self.granularity = pn.widgets.Select(
            label="Granularity", options=list(GRANULARITIES), css_classes=["granularity"], **wide
        )
        self.width = pn.widgets.Select(
            label="Bytes/element", options=list(WIDTHS), css_classes=["width"], **wide
        )
        self.parameters = pn.widgets.Checkbox(
            label=COUNTED,
            css_classes=["parameters"],
            **{**wide, "margin": (20, 8, 0, 8)},
        )
        self.machine = MachineField(self.session)
        for name, widget in self._widgets().items():
            widget.param.watch(self._changed(name), "value")

    def _widgets(self) -> dict[str, Any]:
        return {
            "granularity": self.granularity,
            "bytes_per_element": self.width,
            "parameters": self.parameters,
        }

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new not in (None, ""):
                self.session.change(**{name: event.new})

        return change

    def _shaped(self, event: Any) -> None:
        """Take a shape that can be read; say what is wrong with any other, and keep it."""
        if self._mirroring:
            return
        try:
            plain_shape(event.new)
        except sp.SpillwayError as error:
            self.wrong_shape.object = wrong_html(error)
            return
        self.wrong_shape.object = ""
        self.session.change(input_shape=event.new.strip())

    def _make_again(self) -> None:
        self.again = pn.widgets.Button(
            label="Plan again",
            color="primary",
            on_click=lambda _e: self.session.plan(fresh=True),
            css_classes=["plan"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem = self.session.problem
        self._mirroring = True
        try:
            for name, widget in self._widgets().items():
                widget.value = getattr(problem, name)
            forced = always_counts(problem.planner)
            self.parameters.param.update(
                value=forced or problem.parameters,
                disabled=forced,
                label=ALWAYS if forced else COUNTED,
            )
            self.model.value = problem.model
            self.shape.value = problem.input_shape
        finally:
            self._mirroring = False

    def __panel__(self) -> pn.Column:
        def heading(text: str) -> pn.pane.HTML:
            return pn.pane.HTML(
                f"<h4>{text}</h4>",
                stylesheets=[TEXT],
                margin=(8, 8, 2, 8),
                sizing_mode="stretch_width",
            )

        return pn.Column(
            self.model,
            pn.Row(self.shape, self.width, sizing_mode="stretch_width", margin=0),
            self.wrong_shape,
            pn.Row(self.granularity, self.parameters, sizing_mode="stretch_width", margin=0),
            self.machine,
            heading("Budget"),
            budget_words(),
            self.budget,
            heading("Planner"),
            planner_words(self.session),
            self.options,
            self.again,
            heading("Plan or graph file"),
            self.files,
            css_classes=["controls"],
            sizing_mode="stretch_width",
            margin=0,
        )
