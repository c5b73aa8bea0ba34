"""Moves of a page's single cursor and selection. No Panel here."""

from __future__ import annotations

from app.kinds.registry import kind_of
from app.model.state import moved, operator_selection
from app.session.models import Models


class Cursor:
    """Where a session's cursor goes, and what is selected there."""

    def __init__(self, models: Models) -> None:
        self.models = models

    def step_by(self, by: int) -> None:
        """Move by some steps, within the program."""
        work, look = self.models.work, self.models.look
        if work.shown:
            look.step = moved(look.step, by, work.shown.steps)

    def to_peak(self, direction: int) -> None:
        """Move to the next or previous local maximum of occupancy."""
        work, look = self.models.work, self.models.look
        if not work.shown:
            return
        peaks, at = work.shown.peaks, look.step
        ahead = [p for p in peaks if (p > at if direction > 0 else p < at)]
        if ahead:
            look.step = ahead[0] if direction > 0 else ahead[-1]

    def to_operator(self, name: str) -> None:
        """Select an operator, open its blocks, and go to where it runs."""
        shown, look = self.models.work.shown, self.models.look
        if name not in shown.graph.index:
            return
        look.expanded = sorted(shown.tree.reveal(look.expanded, shown.graph.index[name]))
        look.selection = operator_selection(name)
        if (step := shown.first_step(name)) is not None:
            look.step = step

    def to_next_group(self) -> None:
        """Select the fused group or run at the cursor, or the one after it where that is selected.

        Of streamed parameters: the next layer whose kernel waits.
        """
        shown, look = self.models.work.shown, self.models.look
        following = kind_of(shown).next_part(shown, look.step, look.selection) if shown else None
        if following is not None:
            look.param.update(selection=following[0], step=following[1])
