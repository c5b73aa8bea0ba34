"""The plan that is being made for a page: requested, taken, cancelled. No Panel here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import roomy_bytes
from app.jobs.pool import Asks, PoolJob
from app.jobs.protocol import Answer, Request
from app.kinds.registry import kind_of_planner
from app.model.history import Moment, best_so_far, remembered
from app.model.options import no_breaks, without_breaks
from app.model.pareto import GRAPH_FIELDS
from app.model.sizes import NAMED_BUDGETS, format_exact, plain_shape
from app.session.breaks import NO_BREAKS
from app.session.models import OPERATORS_OF, Models
from app.session.requests import Ask, SessionPart, Together

TICK_S = 0.5
TELL_S = 0.2
"""The clock and the curve of a search are drawn again no more often."""
IMPORT_S = 120.0  # a model of ten thousand operators takes half a minute
STOPPING = "stopping"
CANCELLED = "Cancelled: the best plan found so far is on screen."
CANCELLED_EARLY = "Cancelled before a plan was found: the previous plan is still on screen."
BUDGET_FIELDS = (
    "MR",
    "MH",
    "MP",
    "MP_proven",
    "MP_bound",
    "default_peak",
    "binding_operator",
)
Budgets = dict[str, Any]


class KnownBudgets:
    """Named budgets by the graph that they are of."""

    def __init__(self) -> None:
        self._known: dict[str, Budgets] = {}

    def budgets_of(self, fields: Mapping[str, Any]) -> Budgets:
        """The budgets of a problem's graph, if known."""
        return self._known.get(self._key(fields), {})

    def keep(self, fields: Mapping[str, Any], budgets: Budgets) -> None:
        """Remember the budgets of a problem's graph."""
        self._known[self._key(fields)] = budgets

    def _key(self, fields: Mapping[str, Any]) -> str:
        return json.dumps([fields.get(name) for name in GRAPH_FIELDS])


@dataclass(frozen=True, slots=True)
class PlanActs:
    """What happens with a plan in the making.

    `show` puts it on screen; `adopt` makes the problem that of a plan from a file, `take_graph`
    that of a graph from one; `note` gets the fields before and after a change. `begun` is called
    once a size is being planned, `sized` once named budgets are known, `over` once nothing is
    planned. What changes within `together` is to be seen at once.
    """

    show: Callable[[DisplayedPlan], object]
    adopt: Callable[[DisplayedPlan], object]
    take_graph: Callable[[Mapping[str, Any]], object]
    note: Callable[[Mapping[str, Any], Mapping[str, Any]], object]
    begun: Callable[[], object]
    sized: Callable[[], object]
    over: Callable[[], object]
    together: Together = nullcontext


class Planning(SessionPart):
    """One plan at a time, and what is still worked out for one whose planning was cancelled."""

    def __init__(self, models: Models, jobs: Asks, acts: PlanActs) -> None:
        self.models, self._acts = models, acts
        self._plan = Ask(jobs, self._take, wrong=self._failed, ended=self._ended)
        self._facts = Ask(jobs, self._take_fact)
        self.asks = (self._plan, self._facts)
        self.known = KnownBudgets()
        self._asked_for: dict[str, Any] = {}
        self._problem: Mapping[str, Any] = {}
        self._took = self._graph_came = False
        self._recalled: Mapping[str, Any] = {}
        self._untold: list[Moment] = []
        self._told_s = 0.0

    @property
    def job(self) -> PoolJob | None:
        """The plan in the making."""
        return self._plan.job

    def change(self, **fields: Any) -> None:
        """Change the problem and plan it, unless it is what it was.

        Break nodes chosen by hand and wishes are of one graph: another model has none. Numbers
        changed of a preset are of that machine: another one has its own.
        """
        problem = self.models.problem
        if any(getattr(problem, name) != value for name, value in fields.items()):
            self._make_room(fields)
            if "model" in fields:
                brought = self.models.brought
                fields.setdefault("upload", brought.tokens.get(fields["model"], ""))
                fields = {**brought.own_fields(fields["model"], problem.model), **fields}
            if fields.keys() & set(OPERATORS_OF):
                rest = without_breaks(problem.options)
                fields = {"options": rest, "wishes": [], **fields}
            if fields.get("machine", problem.machine) != problem.machine:
                fields = {"machine_fields": "", **fields}
            problem.param.update(**fields)
            self.models.work.refused = []
            self.plan()
        elif not self.models.work.planning:
            self._acts.over()

    def _make_room(self, fields: dict[str, Any]) -> None:
        """A planner of rings takes no budget by name: its first plan has room for everything.

        More memory buys time there: the traffic is the same with any rings.
        """
        models, streams = self.models, kind_of_planner(fields.get("planner", "")).streams
        if streams:
            models.look.metric = "latency"
        named = models.problem.budget in NAMED_BUDGETS
        if streams and named and models.shown and "budget" not in fields:
            fields["budget"] = format_exact(roomy_bytes(models.shown.graph))

    def plan(self, *, fresh: bool = False) -> None:
        """Plan the problem as it stands, abandoning any plan in the making.

        `fresh`: plan even what is known from before.
        """
        models = self.models
        try:
            plain_shape(models.problem.input_shape)
        except sp.SpillwayError as error:
            models.work.notice = str(error)
            return
        if no_breaks(models.problem):
            self.cancel()
            models.work.notice = NO_BREAKS
            return
        self._begin(Request("plan", models.request()), models.fields(), fresh=fresh)
        self._acts.begun()

    def check(self, text: str, asked_for: dict[str, Any] | None = None) -> None:
        """Have a worker check a plan or graph, and show it if it is right.

        `asked_for` are the fields that it answers; without them the problem becomes the plan's.
        """
        self._begin(Request("check", more={"text": text}), asked_for or {})

    def bring(self, problem: Mapping[str, Any], file: str, *, judged: bool = False) -> None:
        """Have a worker read an uploaded file that its visitor calls `file`; `judged`: what its
        runtime plans, not the model."""
        more = {"file": file, "judged": judged}
        self._begin(Request("import", dict(problem), more), {}, limit_s=IMPORT_S)

    def _begin(self, request: Request, asked_for: dict[str, Any], **how: Any) -> None:
        self._facts.drop()
        self._took, self._recalled = False, {}
        self._untold, self._told_s = [], 0.0
        self._asked_for, self._problem = asked_for, request.problem
        with self._acts.together():
            job = self._plan.ask(request, **how)
            begun = {"notice": "", "infeasible": {}, "history": [], "history_for": asked_for}
            if job.state == "ended":  # this server has its answers
                self.models.work.param.update(**begun)
                self._plan.poll()
                return
            waiting = {"stage": waiting_line(job.ahead), "at_s": 0.0}
            self.models.work.param.update(planning=True, progress=waiting, **begun)

    def cancel(self) -> None:
        """Stop planning; keep the best plan so far, or else the one on screen."""
        if self._plan.busy:
            self._plan.cancel()
            work = self.models.work
            work.progress = {**work.progress, "stage": STOPPING}

    def abandon(self) -> None:
        """Abandon planning; its results are not shown."""
        self.close()
        self._acts.over()
        self.models.work.param.update(planning=False, progress={})

    def back(self) -> None:
        """Restore the problem of the plan on screen."""
        models = self.models
        self._plan.cancel()
        models.problem.param.update(**models.work.shown_for)
        self._acts.over()
        budgets = self.known.budgets_of(models.work.shown_for)
        models.work.param.update(budgets=budgets, infeasible={}, notice="", refused=[])

    def poll(self) -> None:
        """Take the workers' answers; the clock runs on while a solver is silent."""
        job = self._plan.job
        self._plan.poll()
        if job and self._plan.job is job:
            if self._untold and time.monotonic() - self._told_s >= TELL_S:
                self._tell()
            self._tick(job)
        self._facts.poll()

    def _tick(self, job: PoolJob) -> None:
        """Update the clock, and the number of jobs before this one in the queue."""
        work = self.models.work
        if job.seconds - work.progress.get("at_s", 0.0) >= TICK_S:
            waits = {"stage": waiting_line(job.ahead)} if job.state == "queued" else {}
            work.progress = {**work.progress, **waits, "at_s": job.seconds}

    def _take(self, answer: Answer) -> None:
        work = self.models.work
        if answer.name == "progress":
            self._untold.append({**answer.data, "at_s": answer.at_s})
            return
        self._tell()
        match answer.name:
            case "plan":
                self._take_plan(answer["shown"])
            case "recalled":
                self._recalled = answer.data
            case "audit":
                work.param.update(audit=dict(answer.data), applied="")
            case "text":
                self._take_text(answer["packed"])
            case "graph" | "shapeless":  # the latter is planned once it has a shape
                self._acts.take_graph(answer.data)
                self._graph_came = answer.name == "graph"
                if not self._graph_came:
                    work.notice = answer["line"]
            case "budgets":
                self.take_budgets(answer.data, {} if self._took else self._asked_for)
            case "infeasible":
                work.infeasible = dict(answer.data)
                if answer.get("wishes"):
                    self.models.look.panel = "what if"

    def _tell(self) -> None:
        """Show what is new in the search since the last time."""
        work, new = self.models.work, self._untold
        self._untold, self._told_s = [], time.monotonic()
        if not new or work.progress.get("stage") == STOPPING:
            return
        progress, history = work.progress, work.history
        for moment in new:
            progress = best_so_far(progress, moment)
            history = remembered(history, progress)
        work.param.update(history=history, progress=progress)

    def _failed(self, why: str) -> None:
        self.models.work.notice = why

    def take_budgets(self, budgets: Mapping[str, Any], of: Mapping[str, Any] | None = None) -> None:
        """Named budgets as a worker has found them: of the graph on screen, or of the problem with
        the fields `of`, where nothing fits that one."""
        work = self.models.work
        named = {name: budgets[name] for name in BUDGET_FIELDS}
        self.known.keep(of or work.shown_for, named)
        work.budgets = named
        self._acts.sized()

    def _take_fact(self, answer: Answer) -> None:
        """Take what is worked out beside a plan that was kept when its planning was cancelled."""
        if answer.name == "budgets":
            self.take_budgets(answer.data)

    def _take_plan(self, shown: DisplayedPlan) -> None:
        self._took, work = True, self.models.work
        if not self._asked_for:
            self._acts.adopt(shown)
        answers = self._asked_for or self.models.fields()
        self._acts.note(work.shown_for, answers)
        work.param.update(shown_for=answers, recalled=dict(self._recalled))
        self._acts.show(shown)

    def _take_text(self, packed: str) -> None:
        """Take the text of the plan that came before; a long one takes seconds to write."""
        shown = self.models.shown
        if self._took and shown and not shown.packed:
            shown.late[:] = [packed]
            self.models.work.written = True

    def _ended(self, last: Answer) -> None:
        work = self.models.work
        self._tell()
        if last.kind == "cancelled":
            work.notice = CANCELLED if self._took else CANCELLED_EARLY
            if self._took and self._problem and not work.budgets:
                self._facts.ask(Request("budgets", self._problem))
        self._acts.over()
        work.param.update(planning=False, progress={})
        if self._graph_came:
            self._graph_came = False
            self.plan()


def waiting_line(ahead: int) -> str:
    """What a job that has not begun is waiting for."""
    if not ahead:
        return "waiting for a worker"
    return f"waiting: {ahead} job{'s' * (ahead > 1)} before this one"
