"""What fits instead: planners that have a plan where the chosen one has none. No Panel here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.kinds.registry import known_planners
from app.model.state import problem_with
from app.session.models import Models
from app.session.requests import Ask, SessionPart
from app.session.sweep_lines import PROBE
from planners.core.registry import FUSION, JOINED

LIMIT_S = 30.0
"""For one planner's least budget."""


class Elsewhere(SessionPart):
    """Asks the other planners for their least budgets, one after the other, once nothing fits.

    Where fused groups fit, so does `joined`, which asks for these too.
    """

    def __init__(self, models: Models, jobs: Asks, change: Callable[..., object]) -> None:
        self.models, self._change = models, change
        self._ask = Ask(jobs, self._take, ended=lambda _last: self._next())
        self.asks = (self._ask,)
        self._queue: deque[str] = deque()
        self._asked = ""
        self._why: dict[str, Any] = {}
        self._planner = ""
        models.work.param.watch(lambda *_: self._begin(), "infeasible")

    def turn_to(self, planner: str) -> None:
        """Plan the same problem with another planner."""
        self._change(planner=planner, wishes=[])

    def _begin(self) -> None:
        self._ask.drop()
        work, problem = self.models.work, self.models.problem
        work.elsewhere = []
        self._queue.clear()
        self._why, self._planner = work.infeasible, problem.planner
        if "have_bytes" in work.infeasible and not work.infeasible.get("wishes"):
            self._queue.extend(n for n in known_planners() if n != problem.planner)
            self._next()

    def _next(self) -> None:
        if not self._queue:
            return
        self._asked = self._queue.popleft()
        fields = {**self.models.fields(), "planner": self._asked, "options": {}, "wishes": []}
        request = Request("sweep", self.models.request(problem_with(fields)), {"budgets": [PROBE]})
        self._ask.ask(request, background=True, limit_s=LIMIT_S)

    def _take(self, answer: Answer) -> None:
        work = self.models.work
        if work.infeasible is not self._why:  # a plan came back without a word: the tour, a swap
            self._queue.clear()
        elif answer.name == "unfit" and answer["need_bytes"] <= self._why["have_bytes"]:
            names = (self._asked, *[JOINED] * (self._asked == FUSION and self._planner != JOINED))
            fitting = [{"planner": name, "need_bytes": answer["need_bytes"]} for name in names]
            work.elsewhere = [*work.elsewhere, *fitting]
