"""C code of the plan on screen: requested from a worker, taken when ready. No Panel here."""

from __future__ import annotations

import planners as sp
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.state import Work
from app.session.requests import Ask, SessionPart, setter


class Coding(SessionPart):
    """One request at a time."""

    def __init__(self, work: Work, jobs: Asks) -> None:
        self.work = work
        flags = {"runs": setter(work, "coding"), "wrong": setter(work, "notice")}
        self._code = Ask(jobs, self._take, **flags)
        self.asks = (self._code,)

    def start(self) -> None:
        """Have C code written for the plan on screen."""
        work = self.work
        if not work.shown or self.busy:
            return
        try:
            plan = work.shown.text  # As planned: the plan on screen may have a shorter program.
        except sp.BadInput as error:
            work.notice = str(error)
            return
        self._code.ask(Request("code", more={"plan": plan}))
        work.notice = ""

    def _take(self, answer: Answer) -> None:
        if answer.name == "code":
            self.work.code = {name: answer[name] for name in ("name", "zip")}
