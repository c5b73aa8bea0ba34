"""A guided tour: stops over one small network, planned by four planners. No Panel here.

Its plans are made by jobs of its own, one after the other, while the first stops are read. The
visitor's own problem, plan and view come back when it ends, wherever it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import param
from param.parameterized import discard_events

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.presenter import layout_of
from app.model.state import problem_with
from app.session.models import Models, answered
from app.session.requests import Ask, SessionPart, setter
from app.session.tour_stops import NETWORK, PLANS, STOPS, Stop, points_here

KEPT = ("shown", "shown_for", "pinned", "pinned_for", "points", "sweep", "infeasible", "notice")
LATE = "This plan is still being computed. It will appear by itself, or go on with Next."


@dataclass(frozen=True)
class Before:
    """What was on the page before the tour began."""

    problem: Mapping[str, Any]
    look: Mapping[str, Any]
    work: Mapping[str, Any]
    planning: bool

    @classmethod
    def now(cls, models: Models) -> Before:
        look, work = models.look.param.values(), models.work
        del look["name"]
        kept = {name: getattr(work, name) for name in KEPT}
        return cls(models.problem.values_by_name(), look, kept, work.planning)


@dataclass(frozen=True, slots=True)
class TourActs:
    """The tour's effects on the page."""

    abandon: Callable[[], object]
    plan: Callable[[], object]
    show: Callable[[DisplayedPlan], object]
    take_budgets: Callable[[Mapping[str, Any]], object]
    sweep: Callable[[], object]
    cancel_sweep: Callable[[], object]
    unpin: Callable[[], object]


class Tour(SessionPart, param.Parameterized):
    """Where the tour is; `callout` is the callout on screen, empty while there is none."""

    callout = param.Dict(default={}, doc="number, of, title, text, targets, waiting; or empty.")

    def __init__(self, models: Models, jobs: Asks, acts: TourActs) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.models, self._acts = models, acts
        runs = setter(models.work, "touring")
        self._plan = Ask(jobs, self._take, runs=runs, wrong=self._failed_with, ended=self._ended)
        self.asks = (self._plan,)
        self._at = -1
        self._before: Before | None = None
        self._queue: deque[str] = deque()
        self._making = ""
        self._found: dict[str, DisplayedPlan] = {}
        self._failed: dict[str, str] = {}
        self._budgets: dict[str, Mapping[str, Any]] = {}
        models.work.param.watch(lambda *_: self._refresh(), "points")

    @property
    def running(self) -> bool:
        return self._at >= 0

    def start(self) -> None:
        """Keep what is on the page and go to the first stop; nothing where it runs already."""
        if self.running or self.models.work.shown is None:
            return
        self._before = Before.now(self.models)
        self._acts.abandon()
        self._acts.cancel_sweep()
        self.models.look.param.update(playing=False, selection="")
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
        self._acts.cancel_sweep()
        self._put(before.work["shown"], before.work["shown_for"], before.problem)
        self.models.look.param.update(**before.look)
        rest = {name: before.work[name] for name in KEPT if not name.startswith("shown")}
        self.models.work.param.update(**rest)
        if before.planning:
            self._acts.plan()

    def close(self) -> None:
        """Stop everything that runs."""
        super().close()
        self._making = ""
        self._queue.clear()

    def _go(self, number: int) -> None:
        self._at = number
        stop, work = STOPS[number], self.models.work
        if work.pinned is not None:
            self._acts.unpin()
        look = self.models.look
        look.param.update(selection="", panel="details", serial=False)
        if look.presenting:
            look.presenting = layout_of(stop.targets)
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
        """Show the stop's plan, bring the view to its subject, and show its text."""
        shown, problem = self._found[stop.plan], fields_of(stop.plan)
        if self.models.work.shown is not shown:
            self._put(shown, answered(problem), problem)
            if budgets := self._budgets.get(stop.plan):
                self._acts.take_budgets(budgets)
        stop.prepare(self.models, self._found)
        if stop.live and not points_here(self.models):
            self._acts.sweep()
        self._say(stop, stop.tell(self.models))

    def _put(
        self, shown: DisplayedPlan, shown_for: Mapping[str, Any], problem: Mapping[str, Any]
    ) -> None:
        """Show a plan that was checked before, with the problem that it answers."""
        models = self.models
        self._acts.abandon()
        with discard_events(models.work):
            models.work.param.update(shown_for=dict(shown_for), infeasible={}, notice="")
        models.problem.param.update(**problem)
        self._acts.show(shown)
        models.work.param.trigger("shown_for", "notice")

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
        """Points of a sweep arrive while the stop is read."""
        if self.running and not self.callout.get("waiting") and STOPS[self._at].live:
            self._say(STOPS[self._at], STOPS[self._at].tell(self.models))

    def _make_next(self) -> None:
        if not self.busy and self._queue:
            self._making = self._queue.popleft()
            request = self.models.request(problem_with(fields_of(self._making)))
            later = not self.running or STOPS[self._at].plan != self._making
            self._plan.ask(Request("plan", request), background=later)

    def _take(self, answer: Answer) -> None:
        name = self._making
        if answer.name == "plan":
            self._found[name] = answer["shown"]
            if self.running and STOPS[self._at].plan == name:
                self._arrive(STOPS[self._at])
        elif answer.name == "text" and name in self._found and not self._found[name].packed:
            self._found[name].late.append(answer["packed"])
        elif answer.name == "budgets":
            self._budgets[name] = answer.data
            if self.running and self.models.work.shown is self._found.get(name):
                self._acts.take_budgets(answer.data)
                self._again()
        elif answer.kind == "infeasible":
            self._failed_with(answer.get("text", ""))

    def _failed_with(self, why: str) -> None:
        self._failed[self._making] = why or "the budget is too small for it."

    def _again(self) -> None:
        if not self.callout.get("waiting"):
            self._say(STOPS[self._at], STOPS[self._at].tell(self.models))

    def _ended(self, _last: Answer) -> None:
        name, self._making = self._making, ""
        if name not in self._found:
            self._failed.setdefault(name, "its planning ended early.")
            if self.running and STOPS[self._at].plan == name:
                self._go(self._at)
        self._make_next()


def fields_of(plan: str) -> dict[str, Any]:
    """All fields of the problem of one of the tour's plans: defaults except for a few."""
    return {**problem_with({}).values_by_name(), **NETWORK, **PLANS[plan]}
