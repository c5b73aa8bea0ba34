"""What one visitor's page does: asks for plans and sweeps, takes their results. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from param.parameterized import discard_events

import planners as sp
from app.first import first_shown, stored_first
from app.jobs import Job, Message, Pool
from app.shown import Shown, show
from app.sizes import NAMED_BUDGETS, format_exact, plain_budget
from app.state import Look, Problem, Work, moved
from app.url import options, problem_of

SWEEP_POINTS = 12
GRAPH_FIELDS = ("model", "granularity", "bytes_per_element", "parameters")
BUDGET_FIELDS = (
    "MR",
    "MH",
    "MP",
    "MP_proven",
    "MP_bound",
    "default_peak",
    "binding_operator",
)
ENDS = ("done", "cancelled", "died")


class Session:
    """The view-models of a page and the jobs that it has running.

    Every change goes through a method here; `poll` takes what the workers have said. A plan stays
    on screen until another one has passed `check`.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.problem, self.look, self.work = Problem(), Look(), Work()
        self._plan: Job | None = None
        self._sweep: Job | None = None
        self._asked: dict[str, Any] = {}
        self._took = False
        self._linked: dict[str, Any] = {}

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return self._plan is not None or self._sweep is not None

    def open(
        self, problem: Mapping[str, Any], look: Mapping[str, Any], wrong: list[str] | None = None
    ) -> None:
        """Show the stored first plan; plan what a link asks for where that is another problem."""
        stored = stored_first()
        first = self.request()
        self._show(first_shown())
        self.work.budgets = stored["budgets"]
        self.problem.param.update(**problem)
        if self.request() == first:
            self._take_points(stored["points"])
        else:
            self._linked = dict(look)  # a step and a selection are of the plan that is to come
            self.plan()
        self.look.param.update(**look)
        self.work.notice = " ".join(wrong or [])

    def request(self) -> dict[str, Any]:
        """The problem as plain data, for a worker."""
        values = self.problem.values_by_name()
        names = (*GRAPH_FIELDS, "machine", "planner", "time_limit")
        fields = {name: values[name] for name in names}
        budget = plain_budget(self.problem.budget)
        return {**fields, "budget": budget, "options": options(self.problem)}

    def change(self, **fields: Any) -> None:
        """Change the problem and plan it, unless it is what it was."""
        if any(getattr(self.problem, name) != value for name, value in fields.items()):
            self.problem.param.update(**fields)
            self.plan()

    def plan(self) -> None:
        """Plan the problem as it stands; a plan in the making is given up for it."""
        if self._plan:
            self._plan.cancel()
        self._asked, self._took = self.request(), False
        self._plan = self.pool.submit("plan", problem=self._asked)
        waiting = {"stage": "waiting for a worker"}
        self.work.param.update(planning=True, notice="", infeasible={}, progress=waiting)

    def cancel(self) -> None:
        """Stop planning; the best plan so far is kept, and else the one on screen."""
        if self._plan:
            self._plan.cancel()
            self.work.progress = {**self.work.progress, "stage": "stopping"}

    def upload(self, content: bytes) -> None:
        """Have a plan that someone brought checked by a worker; only a right one is shown."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self.work.notice = "The file is not a plan: it is not UTF-8 text."
            return
        if self._plan:
            self._plan.cancel()
        self._asked, self._took = {}, False
        self._plan = self.pool.submit("check", text=text)
        waiting = {"stage": "waiting for a worker"}
        self.work.param.update(planning=True, notice="", infeasible={}, progress=waiting)

    def sweep(self) -> None:
        """Plan the problem under a dozen budgets between MR and what the default order needs."""
        self.cancel_sweep()
        problem, work = self.request(), self.work
        budgets = sweep_budgets(work.budgets)
        kept = points_beside(work.points, problem)
        self._sweep = self.pool.submit("sweep", problem=problem, budgets=budgets)
        total = len(kept) + len(budgets)
        work.param.update(points=kept, sweeping=True, sweep_total=total, sweep_progress="waiting")

    def cancel_sweep(self) -> None:
        """Stop the sweep; the points that are there stay."""
        if self._sweep:
            self._sweep.cancel()
            self._sweep = None
            self.work.param.update(sweeping=False, sweep_progress="cancelled")

    def load_point(self, index: int) -> None:
        """Show the plan of a point of the sweep; where only its numbers are stored, plan it."""
        point = self.work.points[index]
        asked = point["problem"]
        fields = {name: asked[name] for name in (*GRAPH_FIELDS, "machine", "planner")}
        self.problem.param.update(
            **fields, **asked["options"], budget=format_exact(point["budget_bytes"])
        )
        self._asked = self.request()
        if "plan" not in point:
            self.plan()
            return
        if self._plan:
            self._plan.cancel()
        self._take_plan(point["plan"])

    def step_by(self, by: int) -> None:
        """Move the cursor."""
        if self.work.shown:
            self.look.step = moved(self.look.step, by, self.work.shown.steps)

    def step_to_peak(self, direction: int) -> None:
        """Move the cursor to the next or previous local maximum of occupancy."""
        if not self.work.shown:
            return
        peaks, at = self.work.shown.peaks, self.look.step
        ahead = [p for p in peaks if (p > at if direction > 0 else p < at)]
        if ahead:
            self.look.step = ahead[0] if direction > 0 else ahead[-1]

    def poll(self) -> None:
        """Take all that the workers have said since the last call."""
        plan, sweep = self._plan, self._sweep
        for message in plan.drain() if plan else ():
            self._take(message)
        if sweep:
            self._take_sweep(sweep.drain())

    def close(self) -> None:
        """The visitor has gone: nothing of theirs goes on running."""
        for job in (self._plan, self._sweep):
            if job:
                job.cancel()
        self._plan = self._sweep = None

    def _take(self, message: Message) -> None:
        kind, work = message["type"], self.work
        if kind == "progress" and work.progress.get("stage") != "stopping":
            work.progress = message
        elif kind == "plan":
            self._take_plan(message["plan"])
        elif kind == "budgets":
            work.budgets = {name: message[name] for name in BUDGET_FIELDS}
        elif kind == "infeasible":
            work.infeasible = message
        elif kind in ("error", "died"):
            work.notice = message["text"]
        if kind in ENDS:
            if kind == "cancelled":
                work.notice = self._cancelled_line()
            self._plan = None
            work.param.update(planning=False, progress={})

    def _cancelled_line(self) -> str:
        if self._took:
            return "Cancelled: the best plan found so far is on screen."
        return "Cancelled before a plan was found: the plan on screen is the one from before."

    def _take_plan(self, text: str) -> None:
        try:
            shown = show(text)
        except sp.SpillwayError as error:
            self.work.notice = f"The plan failed its check and is not shown. {error}"
            return
        self._took = True
        if not self._asked:
            self._adopt(shown)
        self._show(shown)

    def _adopt(self, shown: Shown) -> None:
        """Make the problem that of a plan that was uploaded, where the catalogue has its model."""
        found = problem_of(shown.plan)
        self.problem.param.update(**found)
        if "model" not in found:
            self.work.notice = (
                "This plan's model is not in the catalogue: what is chosen beside it is another."
            )

    def _show(self, shown: Shown) -> None:
        """Put a checked plan on screen; cursor, selection and blocks stay where they still mean."""
        before, look = self.work.shown, self.look
        same_graph = before is not None and before.graph.digest == shown.graph.digest
        with discard_events(look):  # nothing may look at the new plan with the old one's blocks
            step = look.step if same_graph else shown.opening_step
            look.step = moved(self._linked.get("step", step), 0, shown.steps)
            if not same_graph:
                look.selection = self._linked.get("selection", "")
                look.expanded = sorted(shown.tree.comfortable())
        self._linked = {}
        if not same_graph:
            self.work.param.update(budgets={}, points=[])
        self.work.param.update(shown=shown, infeasible={})
        look.param.trigger("step")

    def _take_sweep(self, messages: list[Message]) -> None:
        assert self._sweep is not None
        points = [m for m in messages if m["type"] == "point"]
        asked = self._sweep.request["problem"]
        if points:
            self._take_points([{**m, "problem": asked} for m in points])
        for message in messages:
            if message["type"] == "progress":
                self.work.sweep_progress = message["stage"]
            elif message["type"] in ("error", "died"):
                self.work.sweep_progress = message["text"]
            if message["type"] in ENDS:
                self._sweep = None
                self.work.sweeping = False

    def _take_points(self, points: list[dict[str, Any]]) -> None:
        self.work.points = [*self.work.points, *points]


def sweep_budgets(budgets: Mapping[str, Any], points: int = SWEEP_POINTS) -> list[int]:
    """Budgets from MR to what the default order needs at its peak, evenly in ratio."""
    low, high = budgets["MR"], max(budgets["default_peak"], budgets["MR"])
    ratio = (high / low) ** (1 / (points - 1))
    even = [round(low * ratio**i) for i in range(points)]
    return sorted({*even, *(budgets[name] for name in NAMED_BUDGETS), high})


def points_beside(points: list[dict[str, Any]], problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Points that may share a chart with a new sweep: same graph and machine, other planner."""
    same = (*GRAPH_FIELDS, "machine")
    return [
        p
        for p in points
        if all(p["problem"][k] == problem[k] for k in same)
        and series(p["problem"]) != series(problem)
    ]


def series(problem: Mapping[str, Any]) -> str:
    """What a line of the chart is called: the planner and its options."""
    return " ".join([problem["planner"], *map(str, problem["options"].values())])
