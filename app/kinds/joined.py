"""Plans that join the methods: stretches of operators in a pool or as fused groups."""

from __future__ import annotations

import planners as sp
from app.kinds.kind import Row, fact
from app.kinds.whole import WholeKind
from app.model.checked_plan import Shown
from app.stories.sentence import Sentence
from app.stories.whole import whole_story
from planners.core.details.joined import POOL, JoinedStretch


class JoinedKind(WholeKind):
    """What the page shows of stretches beyond what it shows of whole tensors."""

    planner = "joined"
    about = (
        "Joins the methods in one plan: blocks run in a circular pool with outputs over dying"
        " inputs, or as fused groups where they do not fit, and weights stream into the bytes"
        " that are free. Best for little memory and weights that count."
    )
    manner = "in a circular pool, or as fused groups where it does not fit"
    whole_operators = False

    def made(self, shown: Shown) -> bool:
        return bool(shown.plan.details.stretches)

    def parts(self, shown: Shown) -> str:
        count = len(shown.plan.details.stretches)
        return f"{count} stretches" if count != 1 else "1 stretch"

    def aim(self, plan: sp.Plan) -> str:
        return "traffic"

    def part_of(self, shown: Shown, operator: str) -> list[Row]:
        return [
            row
            for stretch in shown.plan.details.stretches
            if _first(shown, stretch) <= shown.graph.index[operator] <= _last(shown, stretch)
            for row in (fact(_runs(stretch)), fact(f"why: {stretch.why}"))
        ]

    def story(self, shown: Shown, step: int) -> list[Sentence]:
        begun = [
            Sentence("tile", f"From here to {stretch.last}: {_runs(stretch)}. Why: {stretch.why}.")
            for stretch in shown.plan.details.stretches
            if stretch.first in shown.ran[step] and _begins(shown, stretch, step)
        ]
        return [*begun, *whole_story(shown, step)]


def _runs(stretch: JoinedStretch) -> str:
    if stretch.how == POOL:
        return "runs in the pool, outputs over dying inputs"
    return "runs as fused groups, from host to host"


def _first(shown: Shown, stretch: JoinedStretch) -> int:
    return shown.graph.index.get(stretch.first, len(shown.graph.operators))


def _last(shown: Shown, stretch: JoinedStretch) -> int:
    return shown.graph.index.get(stretch.last, -1)


def _begins(shown: Shown, stretch: JoinedStretch, step: int) -> bool:
    """Whether nothing of the stretch ran before."""
    first, last = _first(shown, stretch), _last(shown, stretch)
    index = shown.graph.index
    return not (
        step and any(first <= index[name] <= last for name in shown.ran[step - 1] if name in index)
    )
