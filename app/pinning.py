"""A plan that is kept beside the one on screen, to compare them. No Panel here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from param.parameterized import discard_events

if TYPE_CHECKING:
    from app.session import Session


class Pins:
    """What a session compares with."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def pin(self) -> None:
        """Keep the plan on screen to compare others with."""
        work = self.session.work
        work.param.update(pinned=work.shown, pinned_for=work.shown_for)
        self.session.look.panel = "compare"

    def unpin(self) -> None:
        """Compare no more."""
        self.session.work.param.update(pinned=None, pinned_for={})

    def swap(self) -> None:
        """Show the pinned plan and pin the one that was shown, with the problems they answer."""
        session, work = self.session, self.session.work
        if work.pinned is None:
            return
        shown, fields, step = work.pinned, work.pinned_for, session.look.step
        with discard_events(work):  # views follow `shown`, once both are exchanged
            work.param.update(pinned=work.shown, pinned_for=work.shown_for, shown_for=fields)
        session.problem.param.update(**fields)
        session.show(shown)
        session.cursor.step_by(step - session.look.step)
        work.param.trigger("shown_for")
