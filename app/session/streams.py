"""A page's questions about streamed parameters, and plans that follow the budget's slider live.

No Panel here. Planning takes milliseconds: while the slider moves, its last place is planned as
soon as the plan before is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.kinds.registry import kind_of_planner
from app.model.machines import ON_MACHINE
from app.model.pareto import GRAPH_FIELDS
from app.model.sizes import format_exact
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter

RESOLUTIONS = (224, 288, 352, 416, 480, 544, 608)
BEYOND = 1.1
SWEPT = ("pre", "seq", "async", "2s", "2s-md", "exact")
AMONG = ("pre", "seq", "sync", "async", "async-md", "2s", "2s-md", "exact")


class Streams(SessionPart):
    """Asks a session's worker for fronts and for delays by resolution."""

    def __init__(self, models: Models, jobs: Asks, change: Callable[..., object]) -> None:
        self.models, self._change = models, change
        wrong = setter(models.work, "notice")
        self._fronts = Ask(jobs, self._take_front, runs=self._runs, wrong=wrong)
        self._swept = Ask(
            jobs,
            self._take_point,
            runs=self._sweeps,
            wrong=setter(models.work, "resolved"),
            ended=self._sweep_ended,
        )
        self.asks = (self._fronts, self._swept)
        self._new_fronts: dict[str, Any] = {}
        self._for = self._swept_for = ""
        self._total = 0
        self.pipelines: tuple[str, ...] = SWEPT

    def _runs(self, _on: bool) -> None:
        self.models.work.streaming = self.busy

    def _sweeps(self, on: bool) -> None:
        self.models.work.param.update(resolving=on, streaming=self.busy)

    @property
    def offered(self) -> bool:
        """Whether the chosen planner streams parameters."""
        return kind_of_planner(self.models.problem.planner).streams

    @property
    def ends(self) -> tuple[int, int] | None:
        """The least budget with a plan, and the least with the least delay, where known."""
        shown = self.models.work.shown
        if shown is None or shown.stream is None or not self.offered:
            return None
        if self.models.differs_beyond_budget:
            return None
        front = shown.stream.details.front
        return (front[0][0], front[-1][0]) if front else None

    @property
    def most_bytes(self) -> int | None:
        """The budget beyond which more memory does not help the plan on screen, where known."""
        shown = self.models.work.shown
        if not self.offered or shown is None or shown.stream is None:
            return None
        fronts = [self.models.work.fronts.get(name, []) for name in ("2s exact", "async exact")]
        sizes = [memory for points in (shown.stream.details.front, *fronts) for memory, _ in points]
        return round(max(sizes) * BEYOND) if sizes else None

    def explain(self, shown: DisplayedPlan) -> None:
        """Ask for the fronts of a new plan's problem, unless they are known."""
        work = self.models.work
        if shown.stream is None or not self.offered or self.models.stale:
            return
        problem = self.models.request()
        wanted = key_of(problem)
        if wanted != self._for:
            self._for = wanted
            work.fronts = {}
            self._fronts.ask(Request("fronts", problem))
        if key_of(problem, of_sweep=True) != self._swept_for:
            self.cancel_sweep()
            self._swept_for = ""
            work.param.update(resolutions=[], resolved="")

    @property
    def dragging(self) -> bool:
        """Whether plans follow the handle of the budget while it is dragged."""
        under = bool(self.models.work.under)
        return under and self.offered and not self.models.differs_beyond_budget

    @property
    def under(self) -> int:
        """The budget under the handle that plans follow; 0: none."""
        return int(self.models.work.under) if self.dragging else 0

    def follow(self) -> None:
        """Where no plan is being made, plan for the place of the slider."""
        models = self.models
        if not self.dragging or models.work.planning:
            return
        if models.work.under != models.budget_bytes:
            self._change(budget=format_exact(models.work.under))

    def sweep(self, resolutions: tuple[int, ...] = RESOLUTIONS) -> None:
        """Plan the chosen pipelines at several resolutions; points arrive one by one."""
        work, shown = self.models.work, self.models.work.shown
        self.cancel_sweep()
        if shown is None or not self.pipelines:
            return
        problem = self.models.request()
        shape = list(shown.graph.tensors[shown.graph.inputs[0]].shape)
        self._swept_for = key_of(problem, of_sweep=True)
        self._total = len(resolutions) * len(self.pipelines)
        work.param.update(resolutions=[], resolved="waiting")
        sweep = {"shape": shape, "resolutions": list(resolutions)}
        sweep |= {"pipelines": list(self.pipelines)}
        self._swept.ask(Request("resolutions", problem, sweep), background=True)

    def cancel_sweep(self) -> None:
        """Stop the sweep; points that are there stay."""
        if self._swept.busy:
            self._swept.drop()
            self.models.work.resolved = "cancelled"

    def poll(self) -> None:
        """Take what the worker has said."""
        super().poll()
        if self._new_fronts:
            self.models.work.fronts = {**self.models.work.fronts, **self._new_fronts}
            self._new_fronts = {}
        self.follow()

    def _take_front(self, answer: Answer) -> None:
        if answer.name == "front":
            self._new_fronts[answer["name"]] = answer["points"]

    def _take_point(self, answer: Answer) -> None:
        work = self.models.work
        if answer.name == "resolution":
            work.resolutions = [*work.resolutions, answer.data]
        elif answer.kind == "progress":
            done = f"{len(work.resolutions)} of {self._total}"
            work.resolved = f"{done} · {answer['stage']}"

    def _sweep_ended(self, last: Answer) -> None:
        work = self.models.work
        if last.kind == "done" and work.resolutions:
            work.resolved = f"{len(work.resolutions)} plans"


def key_of(problem: Mapping[str, Any], *, of_sweep: bool = False) -> str:
    """Equal for problems that share fronts; for a sweep of resolutions, whatever the input."""
    names = [name for name in GRAPH_FIELDS if not (of_sweep and name == "input_shape")]
    chosen = problem["options"]
    more = [chosen.get("times", ""), None if of_sweep else chosen.get("step")]
    return json.dumps([*(problem.get(name) for name in (*names, *ON_MACHINE)), *more])
