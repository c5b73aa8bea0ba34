"""The plan that a link compares with: planned again beside the plan on screen. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.jobs import ENDS
from app.one_job import OneJob
from app.state import Problem

if TYPE_CHECKING:
    from app.session import Session

FAILED = "The plan that the link compares with is not there: {}"


class Repins(OneJob):
    """One problem at a time; a plan that somebody pins meanwhile is kept instead."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._fields: dict[str, Any] = {}

    @property
    def pinned_for(self) -> dict[str, Any]:
        """The fields of the problem that is compared with, or is to be once it is planned."""
        return self._fields if self.busy else dict(self.session.work.pinned_for)

    def start(self, fields: Mapping[str, Any]) -> None:
        """Have a problem planned, to be pinned; nothing to do where there are no fields."""
        if not fields or self._job:
            return
        session, problem = self.session, Problem(**fields)
        self._fields = {n: v for n, v in fields.items() if n != "time_limit"}
        if self._fields == session.work.shown_for:  # the plan on screen is the one
            session.pins.keep(session.work.shown, self._fields)
            return
        self._job = session.pool.submit("plan", problem=session.request(problem))
        session.work.pinning = True

    def poll(self) -> None:
        """Take the plan, or one line on why there is none."""
        work = self.session.work
        for message in self._job.drain() if self._job else ():
            kind = message["type"]
            if kind == "plan" and work.pinned is None:
                self.session.pins.keep(message["shown"], self._fields)
            elif kind == "infeasible":
                work.notice = FAILED.format("no plan fits its budget.")
            elif kind in ("error", "died"):
                work.notice = FAILED.format(message["text"])
            if kind in ENDS:
                self._job = None
                work.pinning = False
