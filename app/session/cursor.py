"""Moves of a page's single cursor and selection. No Panel here."""

from __future__ import annotations

from app.model.state import moved, operator_selection
from app.session.models import Models


class Cursor:
    """Moves a session's step cursor, selects operators, opens and closes blocks of the graph."""

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

    def open(self, block: str) -> None:
        """Draw what is in a block of the graph."""
        shown, look = self.models.work.shown, self.models.look
        if block in shown.tree.names:
            look.expanded = sorted(shown.tree.expand(look.expanded, block))

    def close(self, block: str) -> None:
        """Draw a block of the graph as one node."""
        look = self.models.look
        look.expanded = sorted(self.models.work.shown.tree.collapse(look.expanded, block))

    def to_operator(self, name: str) -> None:
        """Select an operator, open its blocks, and go to where it runs."""
        shown, look = self.models.work.shown, self.models.look
        if name not in shown.graph.index:
            return
        look.expanded = sorted(shown.tree.reveal(look.expanded, shown.graph.index[name]))
        look.selection = operator_selection(name)
        if (step := shown.first_step(name)) is not None:
            look.step = step
