"""What one visitor's page does: asks for plans and sweeps, takes their results. No Panel here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from param.parameterized import discard_events

import planners as sp
from app.breaks import NO_BREAKS, OTHER_OPERATORS, Breaks
from app.coding import Coding
from app.first import first_shown, stored_first
from app.history import best_so_far, remembered
from app.jobs import Job, Message, Pool
from app.live import LiveGroups
from app.options import STREAMING, USUAL, always_counts, counts, cuts, fields_of, options
from app.pool import next_run
from app.shown import Shown
from app.sizes import NAMED_BUDGETS, format_exact, plain_budget, plain_shape
from app.state import (
    GRANULARITIES,
    WIDTHS,
    Look,
    Problem,
    Work,
    group_selection,
    moved,
    operator_selection,
    run_selection,
)
from app.stream_waits import next_wait
from app.streaming import roomy_bytes
from app.streams import Streams
from app.sweeping import GRAPH_FIELDS, front_budgets, points_beside, sweep_budgets
from app.url import UPLOADED, problem_of

TICK_S = 0.5
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
        self.breaks, self.live, self.coding = Breaks(self), LiveGroups(self), Coding(self)
        self.streams = Streams(self)
        self._plan: Job | None = None
        self._sweep: Job | None = None
        self._facts: Job | None = None
        self._asked_for: dict[str, Any] = {}
        self._uploaded: dict[str, str] = {}
        self._budgets: dict[str, dict[str, Any]] = {}
        self._took = self._graph_came = False
        self._linked: dict[str, Any] = {}

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        asked = self.live.busy or self.coding.busy or self.streams.busy
        return asked or any((self._plan, self._sweep, self._facts))

    def open(
        self, problem: Mapping[str, Any], look: Mapping[str, Any], wrong: list[str] | None = None
    ) -> None:
        """Show the stored first plan; plan what a link asks for where that is another problem."""
        stored = stored_first()
        first = self.request()
        self.work.shown_for = self.fields()
        self._show(first_shown())
        self.work.budgets = self._budgets[self._budget_key()] = stored["budgets"]
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
        fields["parameters"] = counts(values)
        if text := self._uploaded.get(self.problem.model):
            fields["graph"] = text
        budget = plain_budget(self.problem.budget)
        return {**fields, "budget": budget, "options": options(self.problem)}

    def fields(self) -> dict[str, Any]:
        """The problem's fields that a plan answers."""
        fields = self.problem.values_by_name()
        del fields["time_limit"]
        return fields

    @property
    def stale(self) -> bool:
        """Whether what is on screen answers another problem than the one that is chosen."""
        return bool(self.work.shown_for) and self.work.shown_for != self.fields()

    def fields_but_budget_differ(self) -> bool:
        """Whether what is on screen answers a problem that differs in more than the budget."""
        answered = {**self.work.shown_for, "budget": self.problem.budget}
        return answered != self.fields()

    @property
    def stale_front(self) -> bool:
        """Whether the front on screen is of other rings than those that are chosen."""
        return self.fields_but_budget_differ()

    def back(self) -> None:
        """Choose again what is on screen."""
        if self._plan:
            self._plan.cancel()
        self.problem.param.update(**self.work.shown_for)
        self.live.forget()
        self.work.param.update(infeasible={}, notice="")

    def change(self, **fields: Any) -> None:
        """Change the problem and plan it, unless it is what it was.

        Break nodes chosen by hand are of one graph: another model has none.
        """
        if any(getattr(self.problem, name) != value for name, value in fields.items()):
            self._make_room(fields)
            if OTHER_OPERATORS & fields.keys():
                fields.setdefault("break_nodes", None)
            self.problem.param.update(**fields)
            self.plan()
        elif not self.work.planning:
            self.live.forget()

    def _make_room(self, fields: dict[str, Any]) -> None:
        """A planner of rings takes no budget by name: its first plan has room for all of them.

        What memory buys there is time: traffic is the same with any rings.
        """
        shown, chosen = self.work.shown, fields.get("planner")
        if chosen == STREAMING:
            self.look.metric = "latency"
        named = self.problem.budget in NAMED_BUDGETS
        if chosen == STREAMING and named and shown and "budget" not in fields:
            fields["budget"] = format_exact(roomy_bytes(shown.graph))

    def plan(self) -> None:
        """Plan the problem as it stands; a plan in the making is given up for it."""
        try:
            plain_shape(self.problem.input_shape)
        except sp.SpillwayError as error:
            self.work.notice = str(error)
            return
        if cuts(self.problem) and self.problem.break_nodes == []:
            self.cancel()
            self.work.notice = NO_BREAKS
            return
        self._asked_for = self.fields()
        request = self.request()
        self._begin("plan", problem=request)
        if isinstance(request["budget"], int):
            self.live.preview(request["budget"], by_hand=False)

    def _begin(self, kind: str, **fields: Any) -> None:
        for job in (self._plan, self._facts):
            if job:
                job.cancel()
        self._facts = None
        self._took = False
        self._plan = self.pool.submit(kind, **fields)
        waiting = {"stage": "waiting for a worker", "at_s": 0.0}
        self.work.param.update(
            planning=True, notice="", infeasible={}, progress=waiting, history=[]
        )
        self.work.history_for = self._asked_for

    def cancel(self) -> None:
        """Stop planning; the best plan so far is kept, and else the one on screen."""
        if self._plan:
            self._plan.cancel()
            self.work.progress = {**self.work.progress, "stage": "stopping"}

    def upload(self, content: bytes) -> None:
        """Have a plan or graph that someone brought checked by a worker, and only then shown."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self.work.notice = "The file is neither a plan nor a graph: it is not UTF-8 text."
            return
        self._asked_for = {}
        self._begin("check", text=text)

    def sweep(self) -> None:
        """Plan the problem under a dozen budgets between MR and what the default order needs."""
        self.cancel_sweep()
        problem, work = self.request(), self.work
        budgets = front_budgets(work.shown, problem["planner"]) or sweep_budgets(
            work.budgets, self.live.least_bytes
        )
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
        if always_counts(asked["planner"]):
            del fields["parameters"]
        chosen = {**USUAL, **fields_of(asked["planner"], asked["options"])}
        if chosen["break_nodes"] == "auto":
            chosen["break_nodes"] = None
        self.problem.param.update(**fields, **chosen, budget=format_exact(point["budget_bytes"]))
        if "plan" not in point:
            self.plan()
            return
        self._asked_for = self.fields()
        self._begin("check", text=point["plan"])

    def pin(self) -> None:
        """Keep the plan on screen to compare others with."""
        self.work.param.update(pinned=self.work.shown, pinned_for=self.work.shown_for)
        self.look.panel = "compare"

    def unpin(self) -> None:
        """Compare no more."""
        self.work.param.update(pinned=None, pinned_for={})

    def swap(self) -> None:
        """Show the pinned plan and pin the one that was shown, with the problems they answer."""
        work = self.work
        if work.pinned is None:
            return
        shown, fields, step = work.pinned, work.pinned_for, self.look.step
        with discard_events(work):  # views follow `shown`, once both are exchanged
            work.param.update(pinned=work.shown, pinned_for=work.shown_for, shown_for=fields)
        self.problem.param.update(**fields)
        self._show(shown)
        self.step_by(step - self.look.step)
        work.param.trigger("shown_for")

    def show_operator(self, name: str) -> None:
        """Select an operator, with its blocks opened, and bring the cursor there."""
        shown, look = self.work.shown, self.look
        if name not in shown.graph.index:
            return
        look.expanded = sorted(shown.tree.reveal(look.expanded, shown.graph.index[name]))
        look.selection = operator_selection(name)
        if (step := shown.first_step(name)) is not None:
            look.step = step

    def next_group(self) -> None:
        """Select the fused group or run at the cursor, or the one after it where that is.

        Of streamed parameters: the next layer whose kernel waits.
        """
        shown, look = self.work.shown, self.look
        if shown and shown.stream:
            if (layer := next_wait(shown, look.step)) is not None:
                operator = operator_selection(shown.stream.layers[layer].operator)
                look.param.update(selection=operator, step=layer)
            return
        if shown and shown.pool:
            run = next_run(shown.pool, look.step, look.selection)
            look.param.update(selection=run_selection(run.run.operators), step=run.start_step)
            return
        here = shown.group_at(look.step) if shown else None
        if here is None:
            return
        number = shown.groups.index(here) + (look.selection == group_selection(here.name))
        group = shown.groups[number % len(shown.groups)]
        look.param.update(selection=group_selection(group.name), step=group.start_step)

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
        if plan and self._plan is plan:
            self._tick(plan.seconds)
        for message in self._facts.drain() if self._facts else ():
            self._take_fact(message)
        if sweep:
            self._take_sweep(sweep.drain())
        self.live.poll()
        self.coding.poll()
        self.streams.poll()

    def close(self) -> None:
        """The visitor has gone: nothing of theirs goes on running."""
        for job in (self._plan, self._sweep, self._facts):
            if job:
                job.cancel()
        self._plan = self._sweep = self._facts = None
        self.live.close()
        self.coding.close()
        self.streams.close()

    def _tick(self, seconds: float) -> None:
        """Let the seconds run on while a solver is silent."""
        if seconds - self.work.progress.get("at_s", 0.0) >= TICK_S:
            self.work.progress = {**self.work.progress, "at_s": seconds}

    def _take(self, message: Message) -> None:
        kind, work = message["type"], self.work
        if kind == "progress" and work.progress.get("stage") != "stopping":
            moment = best_so_far(work.progress, message)
            work.history = remembered(work.history, moment)
            work.progress = moment
        elif kind == "plan":
            self._take_plan(message["shown"])
        elif kind == "text":
            self._take_text(message["packed"])
        elif kind == "graph":
            self._take_graph(message)
        elif kind == "budgets":
            self._take_budgets(message)
        elif kind == "infeasible":
            work.infeasible = message
        elif kind in ("error", "died"):
            work.notice = message["text"]
        if kind in ENDS:
            self._ended(kind)

    def _take_budgets(self, message: Message) -> None:
        self.work.budgets = {name: message[name] for name in BUDGET_FIELDS}
        self._budgets[self._budget_key()] = self.work.budgets
        self.live.reach()

    def _take_fact(self, message: Message) -> None:
        """What is worked out beside a plan that was kept when its planning was cancelled."""
        if message["type"] == "budgets":
            self._take_budgets(message)
        elif message["type"] in ENDS:
            self._facts = None

    def _ended(self, kind: str) -> None:
        if kind == "cancelled":
            self.work.notice = self._cancelled_line()
            if self._took and self._plan and not self.work.budgets:
                self._facts = self.pool.submit("budgets", problem=self._plan.request["problem"])
        self._plan = None
        self.live.forget()
        self.work.param.update(planning=False, progress={})
        if self._graph_came:
            self._graph_came = False
            self.plan()

    def _take_graph(self, message: Message) -> None:
        """An uploaded graph that could be read becomes a model that can be chosen."""
        label = message["name"] + UPLOADED
        self._uploaded[label] = message["text"]
        width = message["bytes_per_element"]
        fields: dict[str, Any] = {"model": label, "input_shape": "", "break_nodes": None}
        fields["bytes_per_element"] = width if width in WIDTHS else 1
        if message["granularity"] in GRANULARITIES:
            fields["granularity"] = message["granularity"]
        self.problem.param.update(**fields)
        self._graph_came = True

    def _cancelled_line(self) -> str:
        if self._took:
            return "Cancelled: the best plan found so far is on screen."
        return "Cancelled before a plan was found: the plan on screen is the one from before."

    def _take_plan(self, shown: Shown) -> None:
        self._took = True
        if not self._asked_for:
            self._adopt(shown)
        self.work.shown_for = self._asked_for or self.fields()
        self._show(shown)

    def _take_text(self, packed: str) -> None:
        """The text of the plan that came before; a long one takes seconds to write."""
        if self._took and self.work.shown and not self.work.shown.packed:
            self.work.shown.late.append(packed)
            self.work.written = True

    def _adopt(self, shown: Shown) -> None:
        """Make the problem that of a plan that was uploaded, where the catalogue has its model."""
        found = problem_of(shown.plan)
        if "model" not in found:
            label = shown.graph.name + UPLOADED
            self._uploaded[label] = json.dumps(shown.graph.to_json())
            found = {**found, "model": label, "input_shape": ""}
        self.problem.param.update(**{**USUAL, **found})

    def _show(self, shown: Shown) -> None:
        """Put a checked plan on screen; cursor, selection and blocks stay where they still mean."""
        before, look = self.work.shown, self.look
        same_graph = before is not None and before.graph.digest == shown.graph.digest
        with discard_events(look):  # nothing may look at the new plan with the old one's blocks
            step = look.step if same_graph else shown.opening_step
            look.step = moved(self._linked.get("step", step), 0, shown.steps)
            if not same_graph:
                look.selection = self._linked.get("selection", "")
                look.expanded = sorted(shown.opened)
        self._linked = {}
        if not same_graph:
            self.work.points = []
        known = self._budgets.get(self._budget_key(), {})
        written = bool(shown.packed or shown.late)
        self.work.param.update(budgets=known, shown=shown, written=written, infeasible={})
        look.param.trigger("step")
        self.live.explain(shown)
        self.live.reach()
        self.streams.explain(shown)

    def _budget_key(self) -> str:
        answered = self.work.shown_for
        counted = counts(answered) if answered else False
        return json.dumps([*(answered.get(name) for name in GRAPH_FIELDS), counted])

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
