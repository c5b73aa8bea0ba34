"""A line or two under the budget and the planner: what they do, in words that the glossary has."""

from __future__ import annotations

from collections.abc import Mapping

import panel as pn

from app.glossary import marked
from app.options import AUTO, FUSION, OVERLAP, STREAMING
from app.session import Session
from app.style import TEXT
from app.views.following import follow

BUDGET = "Of the scratchpad: MR, MH, MP or any size."
BUDGET_TERMS = {"scratchpad": "scratchpad", "MR": "MR", "MH": "MH", "MP": "MP"}
WORDS: Mapping[str, str] = {
    AUTO: "Has every planner that can plan the same within the budget, and takes the plan that is"
    " best for what is chosen below. What is proven is proven of that planner's own aim.",
    "cosma": "Chooses which residency each tensor has, at which address, and what goes to its home"
    " off chip meanwhile, with the least spill traffic.",
    FUSION: "Runs fused groups tile by tile: a line buffer and a halo of rows instead of whole"
    " maps, in bands where rows are long.",
    OVERLAP: "Lets an output take the place of a dying input in a circular pool, segment by"
    " segment: its write pointer never passes what is still read.",
    STREAMING: "Reads parameters layer by layer into a ring while earlier layers run, in a"
    " pipeline; layers take what the machine's roofline says, or times of a paper.",
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
    """What a planner does; nothing of one that somebody brought."""
    words = WORDS.get(planner, "")
    return f'<div class="faint">{marked(words, WORD_TERMS)}</div>' if words else ""


def budget_words() -> pn.pane.HTML:
    """What the named budgets are of."""
    return _pane(f'<div class="faint">{marked(BUDGET, BUDGET_TERMS)}</div>', "budget-words")


def planner_words(session: Session) -> pn.pane.HTML:
    """What the planner that is chosen does."""
    pane = _pane("", "planner-words")

    def show() -> None:
        pane.object = planner_html(session.problem.planner)
        pane.visible = bool(pane.object)

    follow(session.problem, "planner", show)
    show()
    return pane


def _pane(html: str, name: str) -> pn.pane.HTML:
    return pn.pane.HTML(
        html, css_classes=[name], stylesheets=[TEXT], margin=(2, 8), sizing_mode="stretch_width"
    )
