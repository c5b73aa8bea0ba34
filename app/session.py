"""What one visitor's page does: asks for plans and sweeps, takes their results. No Panel here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from param.parameterized import discard_events

import planners as sp
from app.breaks import NO_BREAKS, OTHER_OPERATORS, Breaks
from app.coding import Coding
from app.cursor import Cursor
from app.first import first_shown, stored_first
from app.history import best_so_far, remembered
from app.jobs import ENDS, Job, Message, Pool, Share, waiting_line
from app.live import LiveGroups
from app.moving import Moving
from app.options import STREAMING, counts, cuts, options
from app.pareto import beside, indexed, same_network
from app.pinning import Pins
from app.repinning import Repins
from app.sharing import Sharing
from app.shown import Shown
from app.sizes import NAMED_BUDGETS, format_exact, plain_shape
from app.state import Look, Problem, Work, moved
from app.streaming import roomy_bytes
from app.streams import Streams
from app.sweeping import GRAPH_FIELDS, Sweeps
from app.teaching import Teaching
from app.tour import Tour
from app.uploads import Uploads
from app.what_if import WhatIf
from planners.study.budgets import plain_budget

TICK_S = 0.5
IMPORT_S = 120.0  # a model of ten thousand operators takes half a minute
BUDGET_FIELDS = (
    "MR",
    "MH",
    "MP",
    "MP_proven",
    "MP_bound",
    "default_peak",
    "binding_operator",
)


_keys = count(1)


class Session:
    """The view-models of a page and the jobs that it has running.

    Every change goes through a method here; `poll` takes what the workers have said. A plan stays
    on screen until another one has passed `check`.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = Share(pool, next(_keys))
        self.problem, self.look, self.work = Problem(), Look(), Work()
        self.cursor, self.pins, self.breaks = Cursor(self), Pins(self), Breaks(self)
        self.uploads, self.sweeps = Uploads(self), Sweeps(self)
        self.teaching = Teaching(self)
        self.live, self.coding, self.streams = LiveGroups(self), Coding(self), Streams(self)
        self.repins, self.sharing = Repins(self), Sharing(self)
        self.what_if, self.moving = WhatIf(self), Moving(self)
        self.tour = Tour(self)
        others = (self.repins, self.sharing, self.what_if, self.moving, self.tour)
        self._parts = (self.pins, self.sweeps, self.live, self.coding, self.streams, *others)
        self._plan: Job | None = None
        self._facts: Job | None = None
        self._asked_for: dict[str, Any] = {}
        self._budgets: dict[str, dict[str, Any]] = {}
        self._took = self._graph_came = False
        self._recalled: Message = {}
        self._linked: dict[str, Any] = {}

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return any((self._plan, self._facts, *(part.busy for part in self._parts)))

    def open(
        self, problem: Mapping[str, Any], look: Mapping[str, Any], wrong: list[str] | None = None
    ) -> None:
        """Show the stored first plan; plan what a link asks for where that is another problem."""
        stored = stored_first()
        first = self.request()
        self.work.shown_for = self.fields()
        self.show(first_shown())
        self.work.budgets = self._budgets[self._budget_key()] = stored["budgets"]
        self.problem.param.update(**problem)
        if self.request() == first:
            self.sweeps.add(stored["points"])
        else:
            self._linked = dict(look)  # a step and a selection are of the plan that is to come
            self.plan()
        self.look.param.update(**look)
        self.work.notice = " ".join(wrong or [])

    def request(self, of: Problem | None = None) -> dict[str, Any]:
        """The problem, or another one, as plain data for a worker."""
        problem = of or self.problem
        values = problem.values_by_name()
        names = (*GRAPH_FIELDS, "machine", "planner", "time_limit")
        changed = values["machine_fields"]
        fields = {name: values[name] for name in names}
        fields["parameters"] = counts(values)
        fields |= {"machine_fields": changed} if changed else {}
        fields |= self.uploads.fields(problem.model, problem.upload)
        budget = plain_budget(problem.budget)
        return {**fields, "budget": budget, "options": options(problem)}

    def fields(self) -> dict[str, Any]:
        """The problem's fields that a plan answers."""
        fields = self.problem.values_by_name()
        del fields["time_limit"]
        return fields

    @property
    def stale(self) -> bool:
        """Whether what is on screen answers another problem than the one that is chosen."""
        return bool(self.work.shown_for) and self.work.shown_for != self.fields()

    @property
    def same_network(self) -> bool:
        """Whether the network on screen is the one that is chosen."""
        answered = self.work.shown_for
        return not answered or same_network(answered, self.fields())

    @property
    def charted(self) -> dict[str, Any]:
        """The fields of the problem that charts are about: of the plan on screen, or the chosen
        ones where nothing fits and another network is still on screen, once there are points."""
        chosen, work = self.fields(), self.work
        if not beside(chosen, work.shown_for) and indexed(work.points, chosen):
            return chosen
        return dict(work.shown_for)

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
        if self.sweeps.strays:
            self.sweeps.forget()
        known = self._budgets.get(self._budget_key(), {})
        self.work.param.update(budgets=known, infeasible={}, notice="")

    def change(self, **fields: Any) -> None:
        """Change the problem and plan it, unless it is what it was.

        Break nodes chosen by hand and wishes are of one graph: another model has none. Numbers
        changed of a preset are of that machine: another one has its own.
        """
        if any(getattr(self.problem, name) != value for name, value in fields.items()):
            self._make_room(fields)
            if "model" in fields:
                fields.setdefault("upload", self.uploads.tokens.get(fields["model"], ""))
            if OTHER_OPERATORS & fields.keys():
                fields = {"break_nodes": None, "wishes": [], **fields}
            if fields.get("machine", self.problem.machine) != self.problem.machine:
                fields = {"machine_fields": "", **fields}
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

    def plan(self, *, fresh: bool = False) -> None:
        """Plan the problem as it stands; a plan in the making is given up for it.

        `fresh`: plan even what is known from before.
        """
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
        self._begin("plan", problem=request, fresh=fresh)
        if isinstance(request["budget"], int):
            self.live.preview(request["budget"], by_hand=False)

    def _begin(self, kind: str, **fields: Any) -> None:
        for job in (self._plan, self._facts):
            if job:
                job.cancel()
        self._facts = None
        self._took, self._recalled = False, {}
        self._plan = self.pool.submit(kind, **fields)
        waiting = {"stage": waiting_line(self._plan.ahead), "at_s": 0.0}
        self.work.param.update(
            planning=True, notice="", infeasible={}, progress=waiting, history=[]
        )
        self.work.history_for = self._asked_for

    def check(self, text: str, asked_for: dict[str, Any] | None = None) -> None:
        """Have a worker check a plan or graph, and show it if it is right.

        `asked_for` are the fields that it answers; without them the problem becomes the plan's.
        """
        self._asked_for = asked_for or {}
        self._begin("check", text=text)

    def bring(self, problem: Mapping[str, Any]) -> None:
        """Have a worker read an uploaded file."""
        self._asked_for = {}
        self._begin("import", problem=dict(problem), limit_s=IMPORT_S)

    def cancel(self) -> None:
        """Stop planning; the best plan so far is kept, and else the one on screen."""
        if self._plan:
            self._plan.cancel()
            self.work.progress = {**self.work.progress, "stage": "stopping"}

    def abandon(self) -> None:
        """Give up planning; nothing that comes of it is shown."""
        for job in (self._plan, self._facts):
            if job:
                job.cancel()
        self._plan = self._facts = None
        self.live.forget()
        self.work.param.update(planning=False, progress={})

    def poll(self) -> None:
        """Take all that the workers have said since the last call."""
        plan = self._plan
        for message in plan.drain() if plan else ():
            self._take(message)
        if plan and self._plan is plan:
            self._tick(plan)
        for message in self._facts.drain() if self._facts else ():
            self._take_fact(message)
        for part in self._parts:
            part.poll()

    def close(self) -> None:
        """The visitor has gone: nothing of theirs goes on running."""
        for job in (self._plan, self._facts):
            if job:
                job.cancel()
        self._plan = self._facts = None
        for part in self._parts:
            part.close()

    def _tick(self, job: Job) -> None:
        """Let the seconds run on while a solver is silent; say who is before us in the queue."""
        progress = self.work.progress
        if job.seconds - progress.get("at_s", 0.0) >= TICK_S:
            waits = {"stage": waiting_line(job.ahead)} if job.state == "queued" else {}
            self.work.progress = {**progress, **waits, "at_s": job.seconds}

    def _take(self, message: Message) -> None:
        kind, work = message["type"], self.work
        if kind == "progress" and work.progress.get("stage") != "stopping":
            moment = best_so_far(work.progress, message)
            work.history = remembered(work.history, moment)
            work.progress = moment
        elif kind == "plan":
            self._take_plan(message["shown"])
        elif kind == "recalled":
            self._recalled = message
        elif kind == "text":
            self._take_text(message["packed"])
        elif kind == "graph":
            self.uploads.take_graph(message)
            self._graph_came = True
        elif kind == "shapeless":  # a model that can be chosen, and planned once it has a shape
            self.uploads.take_graph(message)
            work.notice = message["line"]
        elif kind == "budgets":
            self.take_budgets(message, {} if self._took else self._asked_for)
        elif kind == "infeasible":
            work.infeasible = message
            if message.get("wishes"):
                self.look.panel = "what if"
        elif kind in ("error", "died"):
            work.notice = message["text"]
        if kind in ENDS:
            self._ended(kind)

    def take_budgets(self, message: Message, of: Mapping[str, Any] | None = None) -> None:
        """Named budgets as a worker has found them: of the graph on screen, or of the problem with
        the fields `of`, where nothing fits that one."""
        self.work.budgets = {name: message[name] for name in BUDGET_FIELDS}
        self._budgets[self._budget_key(of)] = self.work.budgets
        self.live.reach()

    def _take_fact(self, message: Message) -> None:
        """What is worked out beside a plan that was kept when its planning was cancelled."""
        if message["type"] == "budgets":
            self.take_budgets(message)
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

    def _cancelled_line(self) -> str:
        if self._took:
            return "Cancelled: the best plan found so far is on screen."
        return "Cancelled before a plan was found: the plan on screen is the one from before."

    def _take_plan(self, shown: Shown) -> None:
        self._took = True
        if not self._asked_for:
            self.uploads.adopt(shown)
        self.what_if.note(self.work.shown_for, self._asked_for or self.fields())
        self.work.param.update(shown_for=self._asked_for or self.fields(), recalled=self._recalled)
        self.show(shown)

    def _take_text(self, packed: str) -> None:
        """The text of the plan that came before; a long one takes seconds to write."""
        if self._took and self.work.shown and not self.work.shown.packed:
            self.work.shown.late.append(packed)
            self.work.written = True

    def show(self, shown: Shown) -> None:
        """Put a checked plan on screen; cursor, selection and blocks stay where they still mean."""
        before, look = self.work.shown, self.look
        same_graph = before is not None and before.graph.digest == shown.graph.digest
        with discard_events(look):  # nothing may look at the new plan with the old one's blocks
            step = look.step if same_graph else shown.opening_step
            look.step = moved(self._linked.get("step", step), 0, shown.steps)
            if not same_graph:
                look.selection = self._linked.get("selection", "")
                opened = self._linked.get("expanded", sorted(shown.opened))
                look.expanded = [name for name in opened if name in shown.tree.names]
        self._linked = {}
        charted = same_graph or indexed(self.work.points, self.work.shown_for)
        if self.sweeps.strays or not charted:
            self.sweeps.forget()
        known = self._budgets.get(self._budget_key(), {})
        written = bool(shown.packed or shown.late)
        self.work.param.update(budgets=known, shown=shown, written=written, infeasible={})
        look.param.trigger("step")
        self.live.explain(shown)
        self.live.reach()
        self.streams.explain(shown)
        self.what_if.explain(shown)
        self.moving.explain(shown)

    def _budget_key(self, of: Mapping[str, Any] | None = None) -> str:
        answered = of or self.work.shown_for
        counted = counts(answered) if answered else False
        return json.dumps([*(answered.get(name) for name in GRAPH_FIELDS), counted])
