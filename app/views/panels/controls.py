"""What to plan: a line over the views, and the rest in the sidebar.

A change is planned at once; the plan on screen stays till then.
"""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.model.near_names import meant_model
from app.model.sizes import plain_shape
from app.model.state import GRANULARITIES, WIDTH_LABELS
from app.session.session import Session
from app.views.panels.planner_options import PlannerOptions
from app.widgets.bound import bind, said_in
from app.widgets.budget_field import BudgetField
from app.widgets.deferred import seen
from app.widgets.files_field import FilesField
from app.widgets.following import follow
from app.widgets.help_text import budget_words, planner_words
from app.widgets.machine_field import MachineField
from app.widgets.model_field import ModelField
from app.widgets.style import FIELD, PLAIN, SMALL
from planners.audits.shown import of_allocation
from planners.core.caveats import caveats
from planners.core.weights import WORDS

CAVEATS = """
.caveat { font-size: 11px; line-height: 1.3; color: var(--sw-faint); border-left: 3px solid #E69F00;
  padding-left: 6px; margin: 2px 0; max-height: 42px; overflow-y: auto; }
"""
TIMM = ("timm:nasnetalarge", "timm:pnasnet5large")  # any other timm model may be typed


def caveats_html(lines: list[str]) -> str:
    """What is not known of a network, a paragraph each."""
    return "".join(
        f'<div class="caveat" role="note" tabindex="0">{escape(line)}</div>' for line in lines
    )


class Controls(pn.viewable.Viewer):
    """Widgets for the problem, and files."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._make_problem()
        self._bind()
        self.budget = BudgetField(session)
        self.options = PlannerOptions(session)
        self._make_again()
        self.files = FilesField(session)

    def _make_problem(self) -> None:
        wide = {"sizing_mode": "stretch_width", "margin": (2, 8), "stylesheets": [FIELD]}
        self.model = ModelField(
            options=[*sp.models(), *TIMM],
            css_classes=["model"],
            sizing_mode="stretch_width",
            margin=(8, 8, 2, 8),
            height=46,
        )
        self.model.on_key(lambda name: self._choose(name))
        self.caveats = pn.pane.HTML(
            "", css_classes=["caveats"], margin=(0, 8), stylesheets=[PLAIN, CAVEATS], visible=False
        )
        self.shape = pn.widgets.TextInput(
            label="Input shape or batch",
            placeholder="the model's own",
            css_classes=["shape"],
            **wide,
        )
        self.wrong_shape = pn.pane.HTML(
            "", css_classes=["shape-wrong"], margin=(0, 8), stylesheets=[PLAIN]
        )
        self.granularity = pn.widgets.Select(
            label="Granularity", options=list(GRANULARITIES), css_classes=["granularity"], **wide
        )
        self.width = pn.widgets.Select(
            label="Bytes/element", options=WIDTH_LABELS, css_classes=["width"], **wide
        )
        self.weights = pn.widgets.Select(
            label="Weights",
            options={words: weights for weights, words in WORDS.items()},
            css_classes=["weights"],
            **wide,
        )
        self.machine = MachineField(self.session)

    def _bind(self) -> None:
        problem = self.session.problem

        def change(**fields: Any) -> None:
            self.session.change(**fields)

        bind(self.granularity, problem, "granularity", change=change)
        bind(self.width, problem, "bytes_per_element", change=change)
        bind(self.weights, problem, "weights", change=change)
        bind(
            self.shape,
            problem,
            "input_shape",
            back=readable_shape,
            change=change,
            wrong=said_in(self.wrong_shape),
        )
        follow(problem, "model", lambda: self._show())
        follow(self.session.work, ["shown", "shown_for"], lambda: self._show_caveats())
        self._show()

    def _choose(self, name: str) -> None:
        """Plan a model by the name that was typed, as the catalogue spells it."""
        brought = self.session.models.brought.tokens
        model_name = name if name in brought else meant_model(name, sp.models()) or name
        self.session.change(model=model_name)
        self.model.value = model_name

    def _make_again(self) -> None:
        self.again = pn.widgets.Button(
            label="Plan again",
            color="primary",
            on_click=lambda _e: self.session.plan(fresh=True),
            css_classes=["plan"],
            stylesheets=[SMALL],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )

    def _show(self) -> None:
        """Show the model by its name."""
        self.model.value = self.session.problem.model
        self._show_caveats()

    def _show_caveats(self) -> None:
        """Beside the model: what is not known of it or left out, where it is the one shown."""
        work, problem = self.session.work, self.session.problem
        same = work.shown is not None and work.shown_for.get("model") == problem.model
        is_shown = same and not of_allocation(work.shown.graph)  # Nobody counts its arithmetic.
        lines = caveats(work.shown.graph).lines() if is_shown else []
        self.caveats.object = caveats_html(lines)
        self.caveats.visible = bool(lines)

    @property
    def line(self) -> pn.FlexBox:
        """What decides most, to stand over the views: model, machine, budget and planner."""
        fields = (
            (self.model, "2 1 190px"),
            (self.machine.preset, "2 1 200px"),
            (pn.Column(self.budget.typed, self.budget.wrong, margin=0), "1 1 110px"),
            (self.options.planner, "2 1 200px"),
        )
        for field, flex in fields:
            field.styles = {"flex": flex, "min-width": "0"}
        return pn.FlexBox(
            *(field for field, _ in fields),
            css_classes=["problem-line"],
            flex_wrap="wrap",
            align_items="center",
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )

    def __panel__(self) -> pn.Column:
        def heading(text: str) -> pn.pane.HTML:
            return pn.pane.HTML(
                f"<h2>{text}</h2>",
                stylesheets=[PLAIN],
                margin=(8, 8, 2, 8),
                sizing_mode="stretch_width",
            )

        return seen(
            pn.Column,
            self.caveats,
            pn.Row(self.shape, self.width, sizing_mode="stretch_width", margin=0),
            self.wrong_shape,
            pn.Row(self.granularity, self.weights, sizing_mode="stretch_width", margin=0),
            self.machine,
            heading("Budget"),
            budget_words(self.session),
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


def readable_shape(text: str) -> str:
    """A shape as it was typed. Raises `BadInput` for anything else."""
    plain_shape(text)
    return text.strip()
