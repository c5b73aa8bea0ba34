"""The plan that a link compares with: planned again beside the plan on screen. No Panel here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.state import problem_with
from app.session.models import Models, answered
from app.session.requests import Ask, SessionPart, setter

FAILED = "The plan to compare with cannot be shown: {}"
Keep = Callable[[DisplayedPlan, Mapping[str, Any]], object]


class Repins(SessionPart):
    """One problem at a time; a plan that somebody pins meanwhile is kept instead.

    `keep` pins a plan with the fields of the problem that it answers.
    """

    def __init__(self, models: Models, jobs: Asks, keep: Keep) -> None:
        self.models, self._keep = models, keep
        runs = setter(models.work, "pinning")
        self._plan = Ask(jobs, self._take, runs=runs, wrong=lambda text: self._failed(text))
        self.asks = (self._plan,)
        self._fields: dict[str, Any] = {}

    @property
    def pinned_for(self) -> dict[str, Any]:
        """The fields of the problem that is compared with, or will be once it is planned."""
        return self._fields if self.busy else dict(self.models.work.pinned_for)

    def start(self, fields: Mapping[str, Any]) -> None:
        """Have a problem planned, to be pinned; nothing to do where there are no fields."""
        if not fields or self.busy:
            return
        self._fields = answered(fields)
        shown = self.models.shown
        if shown and self._fields == self.models.work.shown_for:  # the plan on screen is the one
            self._keep(shown, self._fields)
            return
        self._plan.ask(Request("plan", self.models.request(problem_with(fields))))

    def _take(self, answer: Answer) -> None:
        if answer.name == "plan" and self.models.work.pinned is None:
            self._keep(answer["shown"], self._fields)
        elif answer.kind == "infeasible":
            self._failed("no plan fits its budget.")

    def _failed(self, why: str) -> None:
        self.models.work.notice = FAILED.format(why)
