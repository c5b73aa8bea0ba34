"""Fused groups while the budget moves: the partition at once, the program when it stays.

No Panel here. One question is asked at a time; where the slider has moved on meanwhile, only its
last place counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.fused_jobs import home_of
from app.jobs import ENDS, Job, Message
from app.options import FUSION
from app.shown import Shown
from app.sweeping import front_budgets
from app.wished import asked

if TYPE_CHECKING:
    from app.session import Session

AGAIN = 12
ABOVE_PEAK = 1.1


class LiveGroups:
    """Asks a session's worker about fused groups: why they are so, and what they would be."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._why: Job | None = None
        self._reach: Job | None = None
        self._preview: Job | None = None
        self._wanted: int | None = None
        self.dragging = False
        self._again = 0
        self._home = ""

    @property
    def offered(self) -> bool:
        """Whether the chosen planner can say at once what another budget gives.

        The search that answers at once knows of no wishes: it would tell of other groups.
        """
        problem = self.session.problem
        return problem.planner == FUSION and not asked(problem)

    @property
    def least_bytes(self) -> int | None:
        """From which budget on the chosen planner has plans, where that is known."""
        if self.offered:
            return self.session.work.reach.get("least_bytes")
        known = front_budgets(self.session.work.shown, self.session.problem.planner)
        return known[0] if known else None

    @property
    def waiting(self) -> bool:
        """Whether somebody at the slider waits for an answer."""
        return self._preview is not None

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return any((self._why, self._reach, self._preview))

    def explain(self, shown: Shown) -> None:
        """Ask why the groups of a new plan are as they are, and then be ready for the slider."""
        work = self.session.work
        if self._why:
            self._why.cancel()
        self._why = None
        work.why = {}
        self.forget()
        if not (shown.groups and self.offered and not self.session.stale):
            return
        problem = self.session.request()
        graph = shown.graph
        self._why = self.session.pool.submit(
            "why",
            home=home_of(problem),
            problem=problem,
            budget_bytes=shown.plan.budget_bytes,
            names=[group.name for group in shown.groups],
            groups=[[graph.index[name] for name in group.operators] for group in shown.groups],
        )
        work.asking = True

    def reach(self) -> None:
        """Be ready for all budgets of the slider, once these are known."""
        work, problem = self.session.work, self.session.request()
        home = home_of(problem)
        if not (self.offered and work.budgets and work.shown and work.shown.groups):
            return
        if home == self._home or self.session.stale:
            return
        if self._reach:
            self._reach.cancel()
        self._home = home
        top = max(round(work.budgets["default_peak"] * ABOVE_PEAK), work.shown.plan.budget_bytes)
        work.reach = {}
        self._reach = self.session.pool.submit(
            "reach", home=home, problem=problem, budget_bytes=top
        )
        work.asking = True

    def preview(self, budget_bytes: int, *, by_hand: bool = True) -> None:
        """Show what the partition at a budget would be; only the last of several is asked for.

        `by_hand`: somebody has the slider in hand. Else a plan for it is being made.
        """
        if not self.offered or self.session.fields_but_budget_differ():
            return
        self._wanted, self.dragging, self._again = budget_bytes, by_hand, AGAIN
        if self._preview is None:
            self._ask()

    def release(self) -> None:
        """The slider stands still: what was answered stays until there is a plan, no more comes."""
        self._wanted, self.dragging = None, False

    def forget(self) -> None:
        """Show the groups of the plan on screen again; an answer under way comes too late."""
        self.release()
        self.session.work.preview = {}

    def _ask(self) -> None:
        problem = self.session.request()
        self._preview = self.session.pool.submit(
            "preview", home=home_of(problem), problem=problem, budget_bytes=self._wanted
        )
        self._wanted = None
        self.session.work.asking = True

    def poll(self) -> None:
        """Take what the worker has said."""
        work, why = self.session.work, {}
        for name in ("_why", "_reach", "_preview"):
            job: Job | None = getattr(self, name)
            for message in job.drain() if job else ():
                if message["type"] in ENDS:
                    setattr(self, name, None)
                elif message["type"] == "why":
                    why[message["group"]] = message["facts"]
                else:
                    self._take(message)
        if why:
            work.why = {**work.why, **why}
        if self._preview is None and self._wanted is not None:
            self._ask()
        work.asking = self.busy

    def _take(self, message: Message) -> None:
        work = self.session.work
        match message["type"]:
            case "reach":
                work.reach = {name: message[name] for name in ("least_bytes", "reach_bytes")}
            case "preview" if self.dragging or work.planning:
                work.preview = {k: v for k, v in message.items() if k not in ("type", "job")}
                self._ask_again(work.preview)
            case "error":
                work.notice = message["text"]

    def _ask_again(self, preview: dict[str, Any]) -> None:
        """Where the slider stays, a partition that is not proven is worth another look."""
        if preview.get("status") == "feasible" and self._wanted is None and self._again:
            self._again -= 1
            self._wanted = preview["budget_bytes"]

    def close(self) -> None:
        """Nothing goes on running."""
        for job in (self._why, self._reach, self._preview):
            if job:
                job.cancel()
        self._why = self._reach = self._preview = None


def group_of(preview: dict[str, Any], operators: int) -> list[int | None] | None:
    """The group of each operator in a preview; None where there is none."""
    if "groups" not in preview:
        return None
    found: list[int | None] = [None] * operators
    for k, group in enumerate(preview["groups"]):
        for position in group:
            found[position] = k
    return found
