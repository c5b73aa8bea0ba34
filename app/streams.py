"""A page's questions about streamed parameters, and plans that follow the budget's slider live.

No Panel here. Planning takes milliseconds: while the slider moves, a plan is made of its last
place as soon as the one before is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.jobs import ENDS, Job, Message
from app.machines import ON_MACHINE
from app.options import STREAMING
from app.shown import Shown
from app.sizes import format_exact
from app.sweeping import GRAPH_FIELDS

if TYPE_CHECKING:
    from app.session import Session

RESOLUTIONS = (224, 288, 352, 416, 480, 544, 608)
BEYOND = 1.1
SWEPT = ("pre", "seq", "async", "2s", "2s-md", "exact")
AMONG = ("pre", "seq", "sync", "async", "async-md", "2s", "2s-md", "exact")


class Streams:
    """Asks a session's worker for fronts and for delays by resolution."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._fronts: Job | None = None
        self._swept: Job | None = None
        self._for = self._swept_for = ""
        self._wanted: int | None = None
        self.dragging = False
        self.pipelines: tuple[str, ...] = SWEPT

    @property
    def offered(self) -> bool:
        """Whether the chosen planner streams parameters."""
        return self.session.problem.planner == STREAMING

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return bool(self._fronts or self._swept)

    @property
    def ends(self) -> tuple[int, int] | None:
        """The least budget with a plan, and the least with the least delay, where known."""
        shown = self.session.work.shown
        if not self.offered or shown is None or shown.stream is None or self.session.stale_front:
            return None
        front = shown.stream.front
        return (front[0][0], front[-1][0]) if front else None

    @property
    def most_bytes(self) -> int | None:
        """From which budget on more memory is of no use to what is on screen, where known."""
        shown = self.session.work.shown
        if not self.offered or shown is None or shown.stream is None:
            return None
        known = [self.session.work.fronts.get(name, []) for name in ("2s exact", "async exact")]
        sizes = [memory for points in (shown.stream.front, *known) for memory, _ in points]
        return round(max(sizes) * BEYOND) if sizes else None

    def explain(self, shown: Shown) -> None:
        """Ask for the fronts of a new plan's problem, unless they are known."""
        work = self.session.work
        if shown.stream is None or not self.offered or self.session.stale:
            return
        problem = self.session.request()
        wanted = key_of(problem)
        if wanted != self._for:
            self._stop_fronts()
            self._for = wanted
            work.fronts = {}
            self._fronts = self.session.pool.submit("fronts", problem=problem)
            work.streaming = True
        if key_of(problem, of_sweep=True) != self._swept_for:
            self.cancel_sweep()
            self._swept_for = ""
            work.param.update(resolutions=[], resolved="")

    def slide(self, budget_bytes: int) -> None:
        """Plan with the budget under the slider, now or once the plan before is there."""
        if not self.offered or self.session.fields_but_budget_differ():
            return
        self._wanted, self.dragging = budget_bytes, True
        self.session.work.under = budget_bytes
        self.follow()

    def release(self) -> None:
        """The slider stands still: what is planned last is for where it stands."""
        self._wanted, self.dragging = None, False
        self.session.work.under = 0

    def follow(self) -> None:
        """Where no plan is being made, plan for where the slider is."""
        if self._wanted is None or self.session.work.planning:
            return
        budget, self._wanted = self._wanted, None
        self.session.change(budget=format_exact(budget))

    def sweep(self, resolutions: tuple[int, ...] = RESOLUTIONS) -> None:
        """Plan the chosen pipelines at several resolutions; points come as they are found."""
        work, shown = self.session.work, self.session.work.shown
        self.cancel_sweep()
        if shown is None or not self.pipelines:
            return
        problem = self.session.request()
        shape = list(shown.graph.tensors[shown.graph.inputs[0]].shape)
        self._swept_for = key_of(problem, of_sweep=True)
        self._swept = self.session.pool.submit(
            "resolutions",
            background=True,
            problem=problem,
            shape=shape,
            resolutions=list(resolutions),
            pipelines=list(self.pipelines),
        )
        self._total = len(resolutions) * len(self.pipelines)
        work.param.update(resolutions=[], resolving=True, resolved="waiting", streaming=True)

    def cancel_sweep(self) -> None:
        """Stop the sweep; points that are there stay."""
        if self._swept:
            self._swept.cancel()
            self._swept = None
            self.session.work.param.update(resolving=False, resolved="cancelled")

    def poll(self) -> None:
        """Take what the worker has said."""
        work = self.session.work
        fronts: dict[str, Any] = {}
        for message in self._fronts.drain() if self._fronts else ():
            if message["type"] == "front":
                fronts[message["name"]] = message["points"]
            elif message["type"] in ("error", "died"):
                work.notice = message["text"]
            if message["type"] in ENDS:
                self._fronts = None
        if fronts:
            work.fronts = {**work.fronts, **fronts}
        self._take_sweep(self._swept.drain() if self._swept else [])
        self.follow()
        work.streaming = self.busy

    def _take_sweep(self, messages: list[Message]) -> None:
        work = self.session.work
        points = [m for m in messages if m["type"] == "resolution"]
        if points:
            work.resolutions = [*work.resolutions, *points]
        for message in messages:
            if message["type"] == "progress":
                done = f"{len(work.resolutions)} of {self._total}"
                work.resolved = f"{done} · {message['stage']}"
            elif message["type"] in ("error", "died"):
                work.resolved = message["text"]
            if message["type"] in ENDS:
                self._swept = None
                work.resolving = False
                if message["type"] == "done" and work.resolutions:
                    work.resolved = f"{len(work.resolutions)} plans"

    def _stop_fronts(self) -> None:
        if self._fronts:
            self._fronts.cancel()
            self._fronts = None

    def close(self) -> None:
        """Nothing goes on running."""
        self._stop_fronts()
        if self._swept:
            self._swept.cancel()
            self._swept = None


def key_of(problem: Mapping[str, Any], *, of_sweep: bool = False) -> str:
    """Equal for problems that share fronts; of a sweep of resolutions, whatever the input."""
    names = [name for name in GRAPH_FIELDS if not (of_sweep and name == "input_shape")]
    chosen = problem["options"]
    more = [chosen.get("times", ""), None if of_sweep else chosen.get("step")]
    return json.dumps([*(problem.get(name) for name in (*names, *ON_MACHINE)), *more])
