"""Fused groups while the budget moves: the partition at once, the program once it rests.

No Panel here. One question is asked at a time; where the slider has moved on meanwhile, only its
last place counts.
"""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.jobs.worker_affinity import affinity_of
from app.kinds.registry import kind_of_planner
from app.model.wishes import asked
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter
from app.session.sweeping import front_budgets
from planners.study.budgets import plain_budget

AGAIN = 12
ABOVE_PEAK = 1.1


class LiveGroups(SessionPart):
    """Asks a session's worker about fused groups: why they are so, and what they would be."""

    def __init__(self, models: Models, jobs: Asks) -> None:
        self.models = models
        wrong = setter(models.work, "notice")
        self._why = Ask(jobs, self._take_why, runs=self._runs, wrong=wrong)
        self._reach = Ask(jobs, self._take_reach, runs=self._runs, wrong=wrong)
        self._preview = Ask(jobs, self._take_preview, runs=self._runs, wrong=self._failed)
        self.asks = (self._why, self._reach, self._preview)
        self._new_why: dict[str, Any] = {}
        self._again = 0
        self._home = ""

    def _runs(self, _on: bool) -> None:
        self.models.work.asking = self.busy

    @property
    def offered(self) -> bool:
        """Whether the chosen planner can say at once what another budget gives.

        The search that answers at once ignores wishes, so its groups would not be the planner's.
        """
        problem = self.models.problem
        return kind_of_planner(problem.planner).answers_at_once and not asked(problem)

    @property
    def least_bytes(self) -> int | None:
        """The least budget for which the chosen planner has plans, where that is known."""
        if self.offered:
            return self.models.work.reach.get("least_bytes")
        sizes = front_budgets(self.models.work.shown, self.models.problem.planner)
        return sizes[0] if sizes else None

    @property
    def waiting(self) -> bool:
        """Whether somebody at the slider waits for an answer."""
        return self._preview.busy

    def explain(self, shown: DisplayedPlan) -> None:
        """Ask why the groups of a new plan are as they are, and then prepare for the slider."""
        work = self.models.work
        self._why.drop()
        self._new_why, work.why = {}, {}
        self.forget()
        if not (shown.groups and self.offered and not self.models.stale):
            return
        problem = self.models.request()
        index = shown.graph.index
        groups = {
            "budget_bytes": shown.plan.budget_bytes,
            "names": [group.name for group in shown.groups],
            "groups": [[index[name] for name in group.operators] for group in shown.groups],
        }
        self._why.ask(Request("why", problem, groups, affinity_of(problem)))

    def reach(self) -> None:
        """Prepare for all budgets of the slider, once these are known."""
        work, problem = self.models.work, self.models.request()
        home = affinity_of(problem)
        if not (self.offered and work.budgets and work.shown and work.shown.groups):
            return
        if home == self._home or self.models.stale:
            return
        self._home = home
        top = max(round(work.budgets["default_peak"] * ABOVE_PEAK), work.shown.plan.budget_bytes)
        work.reach = {}
        self._reach.ask(Request("reach", problem, {"budget_bytes": top}, home))

    @property
    def wanted(self) -> int:
        """The budget whose groups are shown before there is a plan: the one under the slider, or a
        size that is being planned; 0: none."""
        models = self.models
        if not self.offered or models.differs_beyond_budget:
            return 0
        if models.work.under:
            return int(models.work.under)
        planned = plain_budget(models.problem.budget) if models.work.planning else 0
        return planned if isinstance(planned, int) else 0

    def follow(self) -> None:
        """Another budget is wanted: show what the partition would be there."""
        self._again = AGAIN
        if not self._preview.busy:
            self._ask()

    def forget(self) -> None:
        """Show the groups of the plan on screen again; an answer under way is ignored."""
        self.models.work.preview = {}

    def _ask(self) -> None:
        if budget := self.wanted:
            problem = self.models.request()
            more = {"budget_bytes": budget}
            self._preview.ask(Request("preview", problem, more, affinity_of(problem)))

    def poll(self) -> None:
        """Take the worker's answers; where the slider has moved on, ask for its last place."""
        waited = self.waiting
        super().poll()
        if self._new_why:
            self.models.work.why = {**self.models.work.why, **self._new_why}
            self._new_why = {}
        if waited and not self.waiting and self._asks_again():
            self._ask()

    def _asks_again(self) -> bool:
        """Whether to ask again: the last answer is for another budget than the wanted one, or is
        for it but not proven, which is worth a few more attempts."""
        preview, self._again = self.models.work.preview, self._again - 1
        answered = self.wanted == preview.get("budget_bytes")
        return self._again >= 0 and (not answered or preview.get("status") == "feasible")

    def _take_why(self, answer: Answer) -> None:
        if answer.name == "why":
            self._new_why[answer["group"]] = answer["facts"]

    def _take_reach(self, answer: Answer) -> None:
        if answer.name == "reach":
            names = ("least_bytes", "reach_bytes")
            self.models.work.reach = {name: answer[name] for name in names}

    def _take_preview(self, answer: Answer) -> None:
        work = self.models.work
        if answer.name != "preview":
            return
        # The plan may be there already, while its job has not ended.
        there = work.shown is not None and work.shown.plan.budget_bytes == answer["budget_bytes"]
        if work.under or (work.planning and not there):
            work.preview = dict(answer.data)

    def _failed(self, why: str) -> None:
        self._again = 0
        self.models.work.notice = why


def group_of(preview: dict[str, Any], operators: int) -> list[int | None] | None:
    """The group of each operator in a preview; None where there is none."""
    if "groups" not in preview:
        return None
    groups: list[int | None] = [None] * operators
    for k, group in enumerate(preview["groups"]):
        for position in group:
            groups[position] = k
    return groups
