"""Presenting: what a step's sentences mention, and where something moves next. No Panel here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import step_story
from app.model.presenter import LAYOUTS
from app.session.models import Models


class Teaching:
    """While a layout is presented, the browser marks what the sentences at the cursor mention."""

    def __init__(self, models: Models) -> None:
        self.models = models
        models.work.param.watch(lambda *_: self.stop(), "shown")

    def stop(self) -> None:
        """Another plan is on screen: stop the cursor."""
        self.models.look.playing = False

    def present(self, layout: str) -> None:
        """Present a layout, or none; to begin clears the selection, which would hide what is
        mentioned."""
        look = self.models.look
        if layout == look.presenting or layout not in ("", *LAYOUTS):
            return
        begins = {} if look.presenting else {"selection": ""}
        look.param.update(presenting=layout, **begins)

    def to_event(self, direction: int = 1) -> None:
        """Bring the cursor to the next or previous step in which something moves."""
        look, shown = self.models.look, self.models.work.shown
        if shown is not None and (step := next_event(shown, look.step, direction)) is not None:
            look.step = step

    def play(self) -> None:
        """Start or stop automatic moves of the cursor; the client does them."""
        self.models.look.playing = not self.models.look.playing


def spoken_tensors(shown: DisplayedPlan, step: int) -> list[str]:
    """The tensors that a step's sentences name; where one operator ran, all that it touches."""
    named = [sentence.tensor for sentence in step_story(shown, step) if sentence.tensor]
    ran = shown.ran[step]
    if len(ran) == 1:
        operator = shown.graph.operators[shown.graph.index[ran[0]]]
        named += [*operator.inputs, *operator.outputs]
    return [name for name in dict.fromkeys(named) if name in shown.graph.tensors]


def next_event(shown: DisplayedPlan, step: int, direction: int = 1) -> int | None:
    """The nearest such step after a step, or before it; None where there is none."""
    steps = shown.moves
    if direction > 0:
        place = bisect_right(steps, step)
        return steps[place] if place < len(steps) else None
    place = bisect_left(steps, step) - 1
    return steps[place] if place >= 0 else None
