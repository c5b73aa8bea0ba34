"""Sweeps over planners and budgets: what they plan, what comes back, what a tap loads.

No Panel here. A session has at most `AT_ONCE` of its points with the workers at a time, and starts
none while its own plan is being made: a sweep fills the chart in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.kinds.registry import front_of
from app.model.machines import ON_MACHINE
from app.model.options import fields_sent, series
from app.model.packing import unpacked
from app.model.pareto import GRAPH_FIELDS as GRAPH_FIELDS
from app.model.pareto import same_network
from app.model.sizes import NAMED_BUDGETS, format_exact
from app.session.models import Models
from app.session.requests import Ask, SessionPart
from app.session.sweep_lines import CHOSEN, PROBE, SweepLine, lines_of
from app.session.sweep_lines import sweep_budgets as sweep_budgets
from planners.core.units import format_bytes

AT_ONCE = 2
WAITS = "waiting for the first plan of this network"


@dataclass(frozen=True, slots=True)
class SweepActs:
    """Effects of a tap on a point: a plan's text checked for the fields that it answers, the
    problem planned, a point's plan pinned."""

    check: Callable[[str, dict[str, Any]], object]
    plan: Callable[[], object]
    pin: Callable[[int], object]


class Sweeps(SessionPart):
    """The sweep that a session has running, and its points on screen."""

    def __init__(self, models: Models, jobs: Asks, acts: SweepActs) -> None:
        self.models, self._jobs, self._acts = models, jobs, acts
        self.asks: list[Ask] = []  # one for each point that is with the workers
        self._lines: list[SweepLine] = []
        self._asked: tuple[Sequence[str], bool] | None = None
        self._turn = self._done = 0
        self._spent_s = 0.0

    @property
    def busy(self) -> bool:
        """Whether a sweep runs, or waits for the network that is chosen."""
        return bool(self.asks or self._lines or self._asked)

    @property
    def budget_bytes(self) -> int:
        """The budget that is chosen, also where nothing fits it."""
        return self.models.budget_bytes

    @property
    def strays(self) -> bool:
        """Whether the network that is being planned is another than that on screen."""
        shown = self.models.work.shown_for
        return any(not same_network(line.problem, shown) for line in self._lines)

    def start(self, names: Sequence[str] = (CHOSEN,), *, wide: bool = True) -> None:
        """Plan with each of these planners (of `SWEPT`) at the chosen budget, with the typed number
        of bytes more, and, if `wide`, at budgets from its least to where nothing more is gained.

        While another network than the chosen one is on screen, it waits for the chosen one's plan:
        its budgets are not known before.
        """
        self.cancel()
        models, work, look = self.models, self.models.work, self.models.look
        if work.shown is None:
            return
        if work.planning and not models.same_network:
            self._asked = names, wide
            work.param.update(sweeping=True, sweep_progress=WAITS, sweep={})
            return
        now = self.budget_bytes
        lines = lines_of(
            models.problem, models.request(), names, [now, now + look.more_bytes], wide
        )
        work.points = points_beside(work.points, [line.problem for line in lines])
        for line in lines:
            mine = [p for p in work.points if series(p["problem"]) == line.name]
            for point in mine:
                line.take_front({"front": [], **point})
        self._lines, self._turn, self._done, self._spent_s = lines, 0, 0, 0.0
        facts: dict[str, Any] = {"names": [line.name for line in lines], "needs": {}, "notes": {}}
        facts |= {"budget": now, "more": look.more_bytes}
        work.param.update(sweeping=True, sweep_progress="waiting", sweep=facts)
        self._send()
        self._tell()

    def cancel(self) -> None:
        """Stop the sweep; the points that are there stay."""
        if self.busy:
            self.close()
            self.models.work.param.update(sweeping=False, sweep_progress="cancelled")

    def forget(self) -> None:
        """Another network is on screen: clear its chart, but keep a sweep that waits for it."""
        waiting, work = self._asked, self.models.work
        self.close()
        self._asked = waiting
        stage = WAITS if waiting else ""
        work.param.update(points=[], sweep={}, sweeping=bool(waiting), sweep_progress=stage)

    def close(self) -> None:
        """The visitor has gone."""
        super().close()
        self.asks, self._lines, self._asked = [], [], None

    def poll(self) -> None:
        """Take the points that have come, and ask for the next."""
        if self._asked and not self.models.work.planning:
            names, wide = self._asked
            self._asked = None
            self.start(names, wide=wide)
        if not (self.asks or self._lines):
            return
        super().poll()
        self.asks = [ask for ask in self.asks if ask.busy]
        self._send()
        self._tell()

    def _send(self) -> None:
        """Submit points, one line after the other; first those that the table of gains needs."""
        while len(self.asks) < AT_ONCE and not self.models.work.planning:
            following = self._next()
            if following is None:
                return
            line, budget = following
            request = Request("sweep", line.problem, {"budgets": [budget]})
            point = Ask(
                self._jobs,
                partial(self._take, line, budget),
                wrong=partial(self._failed, line),
                ended=partial(self._ended, line),
            )
            point.ask(request, background=True)
            line.running += 1
            self.asks.append(point)

    def _ended(self, line: SweepLine, last: Answer) -> None:
        line.running -= 1
        self._done += 1
        self._spent_s += last.at_s

    def _next(self) -> tuple[SweepLine, int] | None:
        count = len(self._lines)
        order = [self._lines[(self._turn + i) % count] for i in range(count)]
        for line in sorted(order, key=lambda line: not line.first):
            if (budget := line.next()) is not None:
                self._turn = (self._lines.index(line) + 1) % count
                return line, budget
        return None

    def _take(self, line: SweepLine, budget: int, answer: Answer) -> None:
        work = self.models.work
        match answer.name:
            case "point":
                point = {**answer.data, "problem": line.problem}
                work.points = [*work.points, *line.take_front(point)]
            case "unfit":
                line.planned.add(budget)
                need = answer["need_bytes"]
                self._note("needs", line, need)
                if budget == PROBE:
                    line.take_least(need, self._highest(), self._named())
            case "progress":
                at = "its least" if budget == PROBE else format_bytes(budget)
                work.sweep_progress = f"{line.name}, {at}: {answer['stage']}"

    def _failed(self, line: SweepLine, why: str) -> None:
        line.failed = True
        self._note("notes", line, why)

    def _note(self, kind: str, line: SweepLine, what: Any) -> None:
        sweep = self.models.work.sweep
        self.models.work.sweep = {**sweep, kind: {**sweep[kind], line.name: what}}

    def _highest(self) -> int:
        """The budget above which more memory gives nothing: all that the default order holds at
        once."""
        work = self.models.work
        sizes = [work.budgets.get("default_peak", 0), work.sweep["budget"] + work.sweep["more"]]
        fronts = [size for line in self._lines for size in line.front[-1:]]
        return int(max(*sizes, *fronts) if fronts else max(sizes))

    def _named(self) -> list[int]:
        budgets = self.models.work.budgets
        return [budgets[name] for name in NAMED_BUDGETS if name in budgets]

    def _tell(self) -> None:
        """Report progress and, at the end, completion."""
        left = sum(line.left for line in self._lines) + len(self.asks)
        work = self.models.work
        if left == 0:
            self._lines = []
            work.param.update(sweeping=False, sweep_progress="")
            return
        each = self._spent_s / self._done if self._done else None
        seconds = round(each * left / AT_ONCE) if each is not None else None
        facts = {"done": self._done, "total": self._done + left, "left_s": seconds}
        if any(work.sweep.get(name) != value for name, value in facts.items()):
            work.sweep = {**work.sweep, **facts}

    def tap(self, index: int) -> None:
        """A point was chosen: show its plan, or pin it to compare with."""
        if self.models.look.taps_pin:
            self._acts.pin(index)
            self.models.look.comparing = True
        else:
            self.load(index)

    def load(self, index: int) -> None:
        """Show the plan of a point of the sweep; where only its numbers are stored, plan it."""
        models, point = self.models, self.models.work.points[index]
        models.problem.param.update(**fields_of_point(point))
        if "plan" in point:
            self._acts.check(unpacked(point["plan"]), models.fields())
        else:
            self._acts.plan()

    def add(self, points: list[dict[str, Any]]) -> None:
        """Put more points on screen."""
        self.models.work.points = [*self.models.work.points, *points]


def fields_of_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the problem that a point answers."""
    problem = point["problem"]
    fields = {name: problem[name] for name in (*GRAPH_FIELDS, "machine", "planner")}
    fields["machine_fields"] = problem.get("machine_fields", "")
    fields |= fields_sent(problem["planner"], problem["options"])
    return {**fields, "budget": format_exact(point["budget_bytes"])}


def front_budgets(shown: Any, planner: str) -> list[int]:
    """Budgets at which a plan's front has a point, rising; empty where it has no such front."""
    if shown is None or shown.plan.planner != planner:
        return []
    return front_of(shown.plan)


def points_beside(
    points: Sequence[dict[str, Any]], problems: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Points that may share a chart with a new sweep, being of its graph and machine.

    Points of the sweep's own planners stay where they were planned in the same way.
    """
    same = (*GRAPH_FIELDS, *ON_MACHINE)
    swept = {series(problem): problem for problem in problems}
    kept = []
    for point in points:
        problem_of_point = point["problem"]
        swept_sizes = swept.get(series(problem_of_point))
        like = swept_sizes or next(iter(swept.values()), problem_of_point)
        if all(problem_of_point.get(name) == like.get(name) for name in same) and (
            swept_sizes is None
            or swept_sizes["time_limit"] <= problem_of_point["time_limit"]
            or point["status"] == "optimal"
        ):
            kept.append(point)
    return kept
