"""Files of the plan on screen that take long: asked of a worker, taken when there. No Panel."""

from __future__ import annotations

from typing import Any

import planners as sp
from app.jobs import ENDS
from app.one_job import OneJob
from app.pareto import beside

OF_POINTS = 2000
"""Letters beyond which a part of a sweep's point is no number of it, but a plan's text."""


class Sharing(OneJob):
    """One request at a time."""

    def start(self, file: str, theme: str = "auto") -> None:
        """Have one of the plan's files written, as it is looked at now."""
        session, work = self.session, self.session.work
        if not work.shown or self._job:
            return
        try:
            packed = work.shown.packed_text
        except sp.BadInput as error:
            work.notice = str(error)
            return
        look = {k: v for k, v in session.look.param.values().items() if k != "name"}
        of = {**work.shown_for}
        points = [p for p in work.points if not of or beside(p["problem"], of)]
        seen = {"theme": theme, "fields": of, "points": plain_points(points)}
        seen |= {"fronts": work.fronts, "why": work.why}
        fields = {"packed": packed, "file": file, "look": look, "seen": seen}
        self._job = session.pool.submit("export", **fields)
        work.param.update(exporting="waiting for a worker", notice="")

    def cancel(self) -> None:
        """Stop it; nothing is saved."""
        if self._job:
            self._job.cancel()

    def poll(self) -> None:
        """Take a file that is ready, or one line on why there is none."""
        work = self.session.work
        for message in self._job.drain() if self._job else ():
            kind = message["type"]
            if kind == "exported":
                work.exported = {name: message[name] for name in ("name", "gzip")}
            elif kind == "progress":
                work.exporting = f"{message['stage']}, {message.get('share', 0.0):.0%}"
            elif kind in ("error", "died"):
                work.notice = message["text"]
            if kind in ENDS:
                self._job = None
                work.exporting = ""


def plain_points(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of a sweep without the plans that come with them."""
    return [{k: v for k, v in point.items() if not _long(v)} for point in points]


def _long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > OF_POINTS
