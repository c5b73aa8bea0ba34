"""What if: a panel of widgets over a session, whose plan can be used in code.

Planning is the explorer's: in worker processes, with progress and cancel, so that the kernel stays
free. A thread takes the workers' answers; `lock` protects the session from simultaneous actions of
a person.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import WorkerPool, shared_pool
from app.model.machines import called
from app.model.options import options
from app.model.state import ProblemFields
from app.outputs.notebook.fields import Fields
from app.outputs.notebook.problem_fields import checked
from app.outputs.notebook.replay_cache import plan_of
from app.outputs.notebook.results import ResultWidgets
from app.session.session import Session

POLL_S = 0.1
KEPT = 50


class WhatIf:
    """A panel: fields of the problem at the left, the plan and its costs at the right."""

    def __init__(
        self, what: sp.Graph | sp.Plan | str, pool: WorkerPool | None = None, **options: Any
    ) -> None:
        self.session = Session(pool or shared_pool())
        self.lock = threading.RLock()
        self.shown: list[tuple[dict[str, Any], DisplayedPlan]] = []
        self._plans: dict[int, sp.Plan] = {}
        self._moved = threading.Event()
        self._closed = False
        self.fields = Fields(self.session, self._act)
        self.results = ResultWidgets(self.session, self._act)
        self.session.work.param.watch(lambda *_: self._keep(), "shown")
        self._begin(what, checked(what, options))
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _begin(self, what: sp.Graph | sp.Plan | str, options: dict[str, Any]) -> None:
        session = self.session
        with self.lock:
            if isinstance(what, sp.Plan):
                session.check(json.dumps(what.to_json()))
                return
            if isinstance(what, sp.Graph):
                given: dict[str, Any] = {"name": what.name, "text": json.dumps(what.to_json())}
                given |= {"bytes_per_element": what.bytes_per_element}
                session.uploads.take_graph({**given, "granularity": what.granularity})
            else:
                session.problem.model = what
            session.problem.param.update(**options)
            session.plan()

    @property
    def plan(self) -> sp.Plan:
        """The plan on screen; while there is none yet, waits for it.

        Raises `BudgetTooSmall` or `BadInput` where planning fails.
        """
        if not self.shown:
            return self.wait()
        with self.lock:
            shown = self.shown[-1][1]
        self._until(lambda: bool(shown.packed or shown.late) or not self.session.busy)
        if id(shown) not in self._plans:
            self._plans[id(shown)] = plan_of(shown)
        return self._plans[id(shown)]

    def wait(self, timeout_s: float | None = None) -> sp.Plan:
        """Wait until nothing is being planned, and return the plan.

        Raises `BudgetTooSmall` where the last budget was too small, `NoPlanFound` where none was
        found and none is not proven, `WishesConflict` where no plan
        respects the wishes, `BadInput` for other failures, and `TimeoutError`.
        """
        if not self._until(lambda: not self.session.work.planning, timeout_s):
            raise TimeoutError(f"still planning after {timeout_s} s")
        why, notice = self.session.work.infeasible, self.session.work.notice
        if why:
            raise too_small(why)
        if not self.shown:
            raise sp.BadInput(notice or "nothing was planned")
        return self.plan

    def set(self, **fields: Any) -> WhatIf:
        """Change fields as if by hand, and plan; `wait` waits for the plan. Raises `BadInput`."""
        fields = checked(self.session.problem.model, fields, self.session.problem)
        self._act(lambda: self.session.change(**fields))
        return self

    def cancel(self) -> None:
        """Stop planning; the best plan so far is kept."""
        self._act(self.session.cancel)

    def close(self) -> None:
        """Stop all that runs for this panel."""
        self._closed = True
        self._act(self.session.close)

    @property
    def tried(self) -> pd.DataFrame:
        """A row for each plan that was on screen, oldest first."""
        return pd.DataFrame([row(problem, shown) for problem, shown in self.shown])

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)

    @property
    def widget(self) -> Any:
        """The panel as an ipywidget, to be combined with others."""
        import ipywidgets

        layout = ipywidgets.Layout(flex_flow="row wrap", align_items="flex-start", width="100%")
        return ipywidgets.HBox([self.fields.box, self.results.box], layout=layout)

    def _act(self, do: Callable[[], object]) -> None:
        """Perform a person's action; its errors appear where the plan's errors do."""
        with self.lock:
            try:
                do()
            except sp.SpillwayError as error:
                self.session.work.notice = str(error)
        self._moved.set()

    def _listen(self) -> None:
        """Take the workers' answers until none is to come."""
        while not self._closed:
            with self.lock:
                self.session.poll()
                busy = self.session.busy
            if not busy:
                self._moved.wait()
            self._moved.clear()
            if busy:
                threading.Event().wait(POLL_S)

    def _until(self, true: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait for a condition; the listener runs meanwhile."""
        waited = 0.0
        while True:
            with self.lock:
                if true():
                    return True
            if timeout_s is not None and waited >= timeout_s:
                return False
            threading.Event().wait(POLL_S / 2)
            waited += POLL_S / 2

    def _keep(self) -> None:
        work = self.session.work
        if work.shown is not None:
            self.shown = [*self.shown[-KEPT:], (dict(work.shown_for), work.shown)]


def too_small(why: Mapping[str, Any]) -> sp.BudgetTooSmall | sp.NoPlanFound:
    """The error that a worker has reported."""
    names = tuple(name for name, _ in why["tensors"])
    facts = (why["need_bytes"], why["have_bytes"], why["operator"], names)
    if not why["proven"]:
        return sp.NoPlanFound(why["text"], *facts)
    if not why.get("wishes"):
        return sp.BudgetTooSmall(*facts, why["remedy"])
    conflict = sp.WishesConflict(tuple(why["wishes"]), *facts)
    conflict.args = (why["text"],)  # with the reason, as the planner gave it
    return conflict


def row(problem: Mapping[str, Any], shown: DisplayedPlan) -> dict[str, Any]:
    """A plan as a row of a table."""
    fields = {name: value for name, value in problem.items() if name in ProblemFields.param}
    chosen = options(ProblemFields(**fields)) if fields else {}
    usual = options(ProblemFields(planner=shown.plan.planner))
    return {
        "model": shown.graph.name,
        "planner": shown.plan.planner,
        "machine": called(shown.plan.machine),
        "budget_bytes": shown.plan.budget_bytes,
        "options": {k: v for k, v in chosen.items() if usual.get(k) != v},
        "status": shown.plan.claims.status,
        "traffic_bytes": shown.report.traffic_bytes,
        "noncompulsory_bytes": shown.report.noncompulsory_bytes,
        "peak_bytes": shown.report.peak_bytes,
        "latency_s": shown.trace.makespan_s,
        "energy_j": shown.trace.energy_j,
    }
