"""A guided tour: stops over one small network, planned by four planners. No Panel here.

Its plans are made by jobs of its own, one after the other, while the first stops are read. The
visitor's own problem, plan and view come back when it ends, wherever it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import param
from param.parameterized import discard_events

from app.jobs import ENDS, Job, Message
from app.shown import Shown
from app.state import Problem
from app.tour_stops import NETWORK, PLANS, STOPS, Stop

if TYPE_CHECKING:
    from app.session import Session

KEPT = ("shown", "shown_for", "pinned", "pinned_for", "points", "sweep", "infeasible", "notice")
LATE = "This plan is not there yet: it comes by itself, or go on with Next."


@dataclass(frozen=True)
class Before:
    """What was on the page before the tour began."""

    problem: Mapping[str, Any]
    look: Mapping[str, Any]
    work: Mapping[str, Any]
    planning: bool

    @classmethod
    def of(cls, session: Session) -> Before:
        look, work = session.look.param.values(), session.work
        del look["name"]
        kept = {name: getattr(work, name) for name in KEPT}
        return cls(session.problem.values_by_name(), look, kept, work.planning)


class Tour(param.Parameterized):
    """Where the tour is; `callout` is what is to be seen of it, and empty while there is none."""

    callout = param.Dict(default={}, doc="number, of, title, text, targets, waiting; or empty.")

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._at = -1
        self._before: Before | None = None
        self._queue: deque[str] = deque()
        self._job: Job | None = None
        self._making = ""
        self._found: dict[str, Shown] = {}
        self._failed: dict[str, str] = {}
        self._budgets: dict[str, Message] = {}
        session.work.param.watch(lambda *_: self._refresh(), "points")

    @property
    def running(self) -> bool:
        return self._at >= 0

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return self._job is not None

    def start(self) -> None:
        """Keep what is on the page and go to the first stop; nothing where it runs already."""
        if self.running or self.session.work.shown is None:
            return
        self._before = Before.of(self.session)
        self.session.abandon()
        self.session.sweeps.cancel()
        self.session.look.param.update(teaching=False, playing=False, selection="")
        self._queue = deque(name for name in PLANS if name not in self._found)
        self._go(0)

    def next(self) -> None:
        """Go on; after the last stop the tour ends."""
        if self.running and self._at + 1 < len(STOPS):
            self._go(self._at + 1)
        else:
            self.end()

    def back(self) -> None:
        """Go to the stop before."""
        if self._at > 0:
            self._go(self._at - 1)

    def end(self) -> None:
        """Put back what was on the page before."""
        if not self.running or self._before is None:
            return
        before, self._before, self._at = self._before, None, -1
        self.callout = {}
        self.close()
        self.session.sweeps.cancel()
        self._put(before.work["shown"], before.work["shown_for"], before.problem)
        self.session.look.param.update(**before.look)
        rest = {name: before.work[name] for name in KEPT if not name.startswith("shown")}
        self.session.work.param.update(**rest)
        if before.planning:
            self.session.plan()

    def poll(self) -> None:
        """Take what the worker has said."""
        for message in self._job.drain() if self._job else ():
            self._take(message)
        self.session.work.touring = self.busy

    def close(self) -> None:
        """Nothing goes on running."""
        if self._job:
            self._job.cancel()
        self._job = None
        self._queue.clear()
        self.session.work.touring = False

    def _go(self, number: int) -> None:
        self._at = number
        stop, work = STOPS[number], self.session.work
        if work.pinned is not None:
            self.session.pins.unpin()
        self.session.look.param.update(selection="", panel="details", serial=False)
        if stop.plan in self._found:
            self._arrive(stop)
        elif stop.plan in self._failed:
            self._say(stop, f"There is no such plan: {self._failed[stop.plan]} Go on with Next.")
        else:
            if stop.plan in self._queue:
                self._queue.remove(stop.plan)
            if stop.plan != self._making:
                self._queue.appendleft(stop.plan)
            self._say(stop, LATE, waiting=True)
        self._make_next()

    def _arrive(self, stop: Stop) -> None:
        """Show the stop's plan, bring the view to what it tells of, and tell it."""
        shown, problem = self._found[stop.plan], fields_of(stop.plan)
        if self.session.work.shown is not shown:
            self._put(shown, answered(problem), problem)
            if budgets := self._budgets.get(stop.plan):
                self.session.take_budgets(budgets)
        stop.prepare(self.session, self._found)
        self._say(stop, stop.tell(self.session))

    def _put(self, shown: Shown, shown_for: Mapping[str, Any], problem: Mapping[str, Any]) -> None:
        """Show a plan that was checked before, with the problem that it answers."""
        session = self.session
        session.abandon()
        with discard_events(session.work):
            session.work.param.update(shown_for=dict(shown_for), infeasible={}, notice="")
        session.problem.param.update(**problem)
        session.show(shown)
        session.work.param.trigger("shown_for", "notice")

    def _say(self, stop: Stop, text: str, *, waiting: bool = False) -> None:
        self.callout = {
            "number": self._at + 1,
            "of": len(STOPS),
            "title": stop.title,
            "text": text,
            "targets": [] if waiting else list(stop.targets),
            "waiting": waiting,
        }

    def _refresh(self) -> None:
        """Points of a sweep come while its stop is read."""
        if self.running and not self.callout.get("waiting") and STOPS[self._at].live:
            self._say(STOPS[self._at], STOPS[self._at].tell(self.session))

    def _make_next(self) -> None:
        if self._job is None and self._queue:
            self._making = self._queue.popleft()
            request = self.session.request(Problem(**fields_of(self._making)))
            later = not self.running or STOPS[self._at].plan != self._making
            self._job = self.session.pool.submit("plan", background=later, problem=request)
        self.session.work.touring = self.busy

    def _take(self, message: Message) -> None:
        kind, name = message["type"], self._making
        if kind == "plan":
            self._found[name] = message["shown"]
            if self.running and STOPS[self._at].plan == name:
                self._arrive(STOPS[self._at])
        elif kind == "text" and name in self._found and not self._found[name].packed:
            self._found[name].late.append(message["packed"])
        elif kind == "budgets":
            self._budgets[name] = message
            if self.running and self.session.work.shown is self._found.get(name):
                self.session.take_budgets(message)
                self._again()
        elif kind in ("error", "died", "infeasible"):
            self._failed[name] = message.get("text") or "the budget is too small for it."
        if kind in ENDS:
            self._ended(name)

    def _again(self) -> None:
        if not self.callout.get("waiting"):
            self._say(STOPS[self._at], STOPS[self._at].tell(self.session))

    def _ended(self, name: str) -> None:
        self._job, self._making = None, ""
        if name not in self._found:
            self._failed.setdefault(name, "its planning ended early.")
            if self.running and STOPS[self._at].plan == name:
                self._go(self._at)
        self._make_next()


def fields_of(plan: str) -> dict[str, Any]:
    """All fields of the problem of one of the tour's plans: the usual ones but for a few."""
    return {**Problem().values_by_name(), **NETWORK, **PLANS[plan]}


def answered(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a plan answers."""
    return {name: value for name, value in problem.items() if name != "time_limit"}
