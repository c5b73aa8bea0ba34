"""A line or two under the budget and the planner: what they do, in terms of the glossary."""

from __future__ import annotations

import panel as pn

from app.kinds.registry import kind_of_planner
from app.model.glossary import marked
from app.model.options import apart
from app.session.session import Session
from app.widgets.following import follow
from app.widgets.style import PLAIN, TIP
from planners.core.weights import COUNTED

BUDGET = "Bytes of the scratchpad, for what is counted: {}."
BUDGET_TERMS = {
    "scratchpad": "scratchpad",
    "weights": "weights",
}
WORD_TERMS = {
    "residency": "residency",
    "home": "home",
    "spill traffic": "spill traffic",
    "fused groups": "fused group",
    "tile": "tile",
    "line buffer": "line buffer",
    "halo": "halo",
    "bands": "band",
    "circular pool": "circular pool",
    "segment": "segment",
    "write pointer": "write pointer",
    "ring": "ring",
    "pipeline": "pipeline",
    "roofline": "roofline",
    "budget": "budget",
}


def planner_html(planner: str) -> str:
    """What a planner does; empty for a third-party planner."""
    words = kind_of_planner(planner).about
    return f'<div class="faint">{marked(words, WORD_TERMS)}</div>' if words else ""


def budget_words(session: Session) -> pn.pane.HTML:
    """What the named budgets measure: the problem says it, not the planner."""
    pane = _pane("", "budget-words")

    def show() -> None:
        words = BUDGET.format(measured(session.problem.weights))
        pane.object = f'<div class="faint">{marked(words, BUDGET_TERMS)}</div>'

    follow(session.problem, "weights", show)
    show()
    return pane


def measured(weights: str) -> str:
    """What named budgets are of."""
    return "activations and weights" if weights == COUNTED else "activations, no weights"


def planner_words(session: Session) -> pn.pane.HTML:
    """What the chosen planner does."""
    pane = _pane("", "planner-words")

    def show() -> None:
        other = apart(session.problem.values_by_name())
        caution = f'<div class="caution" role="note">{other[:1].upper()}{other[1:]}.</div>'
        pane.object = planner_html(session.problem.planner) + (caution if other else "")
        pane.visible = bool(pane.object)

    follow(session.problem, ["planner", "weights"], show)
    show()
    return pane


def _pane(html: str, name: str) -> pn.pane.HTML:
    return pn.pane.HTML(
        html,
        css_classes=[name],
        stylesheets=[TIP, PLAIN],
        margin=(2, 8),
        sizing_mode="stretch_width",
    )
