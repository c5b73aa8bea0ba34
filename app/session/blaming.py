"""What the peak on screen is made of: asked of a worker, for one plan at a time. No Panel here."""

from __future__ import annotations

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.session.auditing import Auditing
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter
from planners.audits.verdict.audit import OURS


class Blaming(SessionPart):
    """The answer is of the plan that was on screen when it was asked: another plan has none yet."""

    def __init__(self, models: Models, jobs: Asks, auditing: Auditing) -> None:
        self.models, self._auditing = models, auditing
        work = models.work
        how = {"runs": setter(work, "blaming"), "wrong": setter(work, "notice")}
        self._blame = Ask(jobs, self._take, **how)
        self.asks = (self._blame,)
        self._asked: DisplayedPlan | None = None
        work.param.watch(lambda *_: self._forget(), "shown")

    def start(self) -> None:
        """Ask what the peak of the plan on screen is made of."""
        shown, work = self.models.shown, self.models.work
        if shown is None or self.busy:
            return
        if verdict := self._auditing.verdict:
            problem = {name: verdict[name] for name in ("upload", "model")}
            request = Request("blame", problem, {"better": shown.plan.planner == OURS})
        else:
            try:
                request = Request("blame", more={"packed": shown.packed_text})
            except sp.BadInput as error:
                work.notice = str(error)
                return
        self._asked = shown
        self._blame.ask(request)

    def _take(self, answer: Answer) -> None:
        if answer.name == "blame" and self._asked is self.models.shown:
            self.models.work.blamed = dict(answer.data)

    def _forget(self) -> None:
        self._blame.drop()
        self.models.work.blamed = {}
