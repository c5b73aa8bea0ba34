"""Files of the plan on screen that take long: requested from a worker, taken when ready. No
Panel."""

from __future__ import annotations

from typing import Any

import planners as sp
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.pareto import beside
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter

OF_POINTS = 2000
"""Longest text in a point of a sweep that is not taken for a plan's text."""
WAITS = "waiting for a worker"


class Sharing(SessionPart):
    """One request at a time."""

    def __init__(self, models: Models, jobs: Asks) -> None:
        self.models = models
        self._file = Ask(jobs, self._take, runs=self._runs, wrong=setter(models.work, "notice"))
        self.asks = (self._file,)

    def start(self, file: str, theme: str = "auto") -> None:
        """Have one of the plan's files written, as the plan is viewed now."""
        work = self.models.work
        if not work.shown or self.busy:
            return
        try:
            packed = work.shown.packed_text
        except sp.BadInput as error:
            work.notice = str(error)
            return
        look = {k: v for k, v in self.models.look.param.values().items() if k != "name"}
        of = {**work.shown_for}
        points = [p for p in work.points if not of or beside(p["problem"], of)]
        seen = {"theme": theme, "fields": of, "points": plain_points(points)}
        seen |= {"fronts": work.fronts, "why": work.why}
        fields = {"packed": packed, "file": file, "look": look, "seen": seen}
        self._file.ask(Request("export", more=fields))
        work.notice = ""

    def cancel(self) -> None:
        """Stop it; nothing is saved."""
        self._file.cancel()

    def _runs(self, on: bool) -> None:
        self.models.work.exporting = WAITS if on else ""

    def _take(self, answer: Answer) -> None:
        work = self.models.work
        if answer.name == "exported":
            work.exported = {name: answer[name] for name in ("name", "gzip")}
        elif answer.kind == "progress":
            work.exporting = f"{answer['stage']}, {answer.get('share', 0.0):.0%}"


def plain_points(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of a sweep without their plans."""
    return [{k: v for k, v in point.items() if not _long(v)} for point in points]


def _long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > OF_POINTS
