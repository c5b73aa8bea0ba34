"""Moves of a page's one cursor and one selection. No Panel here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.pool import next_run
from app.state import group_selection, moved, operator_selection, run_selection
from app.stream_waits import next_wait

if TYPE_CHECKING:
    from app.session import Session


class Cursor:
    """Where a session's cursor goes, and what is selected there."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def step_by(self, by: int) -> None:
        """Move by some steps, within the program."""
        work, look = self.session.work, self.session.look
        if work.shown:
            look.step = moved(look.step, by, work.shown.steps)

    def to_peak(self, direction: int) -> None:
        """Move to the next or previous local maximum of occupancy."""
        work, look = self.session.work, self.session.look
        if not work.shown:
            return
        peaks, at = work.shown.peaks, look.step
        ahead = [p for p in peaks if (p > at if direction > 0 else p < at)]
        if ahead:
            look.step = ahead[0] if direction > 0 else ahead[-1]

    def to_operator(self, name: str) -> None:
        """Select an operator, with its blocks opened, and go to where it runs."""
        shown, look = self.session.work.shown, self.session.look
        if name not in shown.graph.index:
            return
        look.expanded = sorted(shown.tree.reveal(look.expanded, shown.graph.index[name]))
        look.selection = operator_selection(name)
        if (step := shown.first_step(name)) is not None:
            look.step = step

    def to_next_group(self) -> None:
        """Select the fused group or run at the cursor, or the one after it where that is.

        Of streamed parameters: the next layer whose kernel waits.
        """
        shown, look = self.session.work.shown, self.session.look
        if shown and shown.stream:
            if (layer := next_wait(shown, look.step)) is not None:
                operator = operator_selection(shown.stream.layers[layer].operator)
                look.param.update(selection=operator, step=layer)
            return
        if shown and shown.pool:
            run = next_run(shown.pool, look.step, look.selection)
            look.param.update(selection=run_selection(run.run.operators), step=run.start_step)
            return
        here = shown.group_at(look.step) if shown else None
        if here is None:
            return
        number = shown.groups.index(here) + (look.selection == group_selection(here.name))
        group = shown.groups[number % len(shown.groups)]
        look.param.update(selection=group_selection(group.name), step=group.start_step)
