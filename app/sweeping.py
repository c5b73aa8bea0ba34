"""Sweeps over budgets: what they plan for, what comes back, what a tap loads. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.jobs import ENDS, Job, Message
from app.options import USUAL, always_counts, fields_of, series
from app.sizes import NAMED_BUDGETS, format_exact

if TYPE_CHECKING:
    from app.session import Session

SWEEP_POINTS = 12
DEEPEST = 64
GRAPH_FIELDS = ("model", "input_shape", "granularity", "bytes_per_element", "parameters")


class Sweeps:
    """The sweep that a session has running, and its points on screen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._job: Job | None = None

    @property
    def busy(self) -> bool:
        """Whether a sweep runs."""
        return self._job is not None

    def start(self) -> None:
        """Plan the problem under a dozen budgets between MR and what the default order needs."""
        self.cancel()
        session, work = self.session, self.session.work
        problem = session.request()
        budgets = front_budgets(work.shown, problem["planner"]) or sweep_budgets(
            work.budgets, session.live.least_bytes
        )
        kept = points_beside(work.points, problem)
        self._job = session.pool.submit("sweep", problem=problem, budgets=budgets)
        total = len(kept) + len(budgets)
        work.param.update(points=kept, sweeping=True, sweep_total=total, sweep_progress="waiting")

    def cancel(self) -> None:
        """Stop the sweep; the points that are there stay."""
        if self._job:
            self._job.cancel()
            self._job = None
            self.session.work.param.update(sweeping=False, sweep_progress="cancelled")

    def close(self) -> None:
        """The visitor has gone."""
        if self._job:
            self._job.cancel()
            self._job = None

    def poll(self) -> None:
        """Take the points that have come."""
        if self._job:
            self._take(self._job, self._job.drain())

    def load(self, index: int) -> None:
        """Show the plan of a point of the sweep; where only its numbers are stored, plan it."""
        session, point = self.session, self.session.work.points[index]
        asked = point["problem"]
        fields = {name: asked[name] for name in (*GRAPH_FIELDS, "machine", "planner")}
        if always_counts(asked["planner"]):
            del fields["parameters"]
        chosen = {**USUAL, **fields_of(asked["planner"], asked["options"])}
        if chosen["break_nodes"] == "auto":
            chosen["break_nodes"] = None
        budget = format_exact(point["budget_bytes"])
        session.problem.param.update(**fields, **chosen, budget=budget)
        if "plan" in point:
            session.check(point["plan"], session.fields())
        else:
            session.plan()

    def add(self, points: list[dict[str, Any]]) -> None:
        """Put more points on screen."""
        self.session.work.points = [*self.session.work.points, *points]

    def _take(self, job: Job, messages: list[Message]) -> None:
        points = [m for m in messages if m["type"] == "point"]
        if points:
            self.add([{**m, "problem": job.request["problem"]} for m in points])
        for message in messages:
            if message["type"] == "progress":
                self.session.work.sweep_progress = message["stage"]
            elif message["type"] in ("error", "died"):
                self.session.work.sweep_progress = message["text"]
            if message["type"] in ENDS:
                self._job = None
                self.session.work.sweeping = False


def sweep_budgets(
    budgets: Mapping[str, Any], least: int | None = None, points: int = SWEEP_POINTS
) -> list[int]:
    """Budgets from MR to what the default order needs at its peak, evenly in ratio.

    Where plans begin at `least`, far below MR, so does the sweep, down to a part of the highest.
    """
    low, high = budgets["MR"], max(budgets["default_peak"], budgets["MR"])
    if least is not None:
        low = min(low, max(least, high // DEEPEST))
    ratio = (high / low) ** (1 / (points - 1))
    even = [round(low * ratio**i) for i in range(points)]
    return sorted({*even, *(budgets[name] for name in NAMED_BUDGETS), high})


def front_budgets(shown: Any, planner: str) -> list[int]:
    """Budgets at which a plan's front has a point, rising; none where it has no such front."""
    if shown is None or shown.plan.planner != planner:
        return []
    if shown.stream is not None:
        return sorted({memory for memory, _ in shown.stream.front})
    return sorted({point["ram_bytes"] for point in shown.plan.details.get("front", ())})


def points_beside(points: list[dict[str, Any]], problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Points that may share a chart with a new sweep: same graph and machine, other planner."""
    same = (*GRAPH_FIELDS, "machine")
    return [
        p
        for p in points
        if all(p["problem"].get(k) == problem.get(k) for k in same)
        and series(p["problem"]) != series(problem)
    ]
