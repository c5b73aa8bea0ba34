"""Plans that are kept beside the one on screen, to compare them. No Panel here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from param.parameterized import discard_events

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.links.url import problem_of
from app.model.options import WISHES, that_count, usual, word
from app.model.packing import unpacked
from app.model.state import ProblemFields, moved, problem_with
from app.session.models import Models, answered
from app.session.requests import Ask, SessionPart, setter
from app.session.sweeping import fields_of_point
from planners.core.units import format_bytes

MOST = 6
NAMES = 40


@dataclass(frozen=True, slots=True)
class PinnedPlan:
    """A plan on the shelf: what it is called, and the fields of the problem that it answers."""

    name: str
    shown: DisplayedPlan = field(repr=False, compare=False)
    fields: Mapping[str, Any] = field(repr=False, compare=False)


class Pins(SessionPart):
    """What a session compares with: a shelf of plans, one of them chosen.

    `show` puts a plan on screen.
    """

    def __init__(self, models: Models, jobs: Asks, show: Callable[[DisplayedPlan], object]) -> None:
        self.models, self._show = models, show
        runs = setter(models.work, "pinning")
        self._plan = Ask(jobs, self._take, runs=runs, wrong=lambda text: self._failed(text))
        self.asks = (self._plan,)
        self._fields: dict[str, Any] = {}
        self._name = ""

    def pin(self) -> None:
        """Keep the plan on screen to compare others with."""
        work = self.models.work
        if work.shown is None:
            return
        self.keep(work.shown, work.shown_for)
        self.models.look.panel = "compare"

    def compare(self) -> None:
        """Open what differs from a plan set aside, which is the one on screen where none is; or
        close it."""
        look = self.models.look
        if look.comparing:
            look.comparing = False
            return
        if self.models.work.pinned is None:
            self.pin()
        look.param.update(comparing=True, split=True)

    def keep(self, shown: DisplayedPlan, fields: Mapping[str, Any], name: str = "") -> None:
        """Put a plan on the shelf, dropping the oldest if it is full, and compare with it."""
        work = self.models.work
        shelf = [kept for kept in work.shelf if kept.shown is not shown]
        name = unlike(name or name_of(shown, fields), [kept.name for kept in shelf])
        work.shelf = [*shelf, PinnedPlan(name, shown, dict(fields))][-MOST:]
        work.param.update(pinned=shown, pinned_for=dict(fields))

    def choose(self, name: str) -> None:
        """Compare with another plan of the shelf."""
        for kept in self.models.work.shelf:
            if kept.name == name:
                self.models.work.param.update(pinned=kept.shown, pinned_for=dict(kept.fields))

    def rename(self, name: str) -> None:
        """Call the chosen plan something else."""
        work, name = self.models.work, " ".join(name.split())[:NAMES]
        others = [kept.name for kept in work.shelf if kept.shown is not work.pinned]
        if name:
            work.shelf = [
                replace(kept, name=unlike(name, others)) if kept.shown is work.pinned else kept
                for kept in work.shelf
            ]

    @property
    def chosen(self) -> str:
        """The name of the plan that is compared with."""
        work = self.models.work
        return next((kept.name for kept in work.shelf if kept.shown is work.pinned), "")

    def unpin(self) -> None:
        """Take the chosen plan off the shelf; another of the shelf can be chosen."""
        work = self.models.work
        work.shelf = [kept for kept in work.shelf if kept.shown is not work.pinned]
        work.param.update(pinned=None, pinned_for={})

    def swap(self) -> None:
        """Show the pinned plan and pin the one that was shown, with the problems they answer."""
        look, work = self.models.look, self.models.work
        if work.pinned is None:
            return
        shown, fields, step = work.pinned, work.pinned_for, look.step
        other = PinnedPlan(name_of(work.shown, work.shown_for), work.shown, work.shown_for)
        names = [kept.name for kept in work.shelf if kept.shown is not shown]
        other = replace(other, name=unlike(other.name, names))
        is_on_shelf = any(kept.shown is work.shown for kept in work.shelf)
        shelf = [other if kept.shown is shown and not is_on_shelf else kept for kept in work.shelf]
        with discard_events(work):  # views follow `shown`, once both are exchanged
            work.param.update(pinned=work.shown, pinned_for=work.shown_for, shown_for=fields)
        self.models.problem.param.update(**fields)
        self._show(shown)
        look.step = moved(step, 0, shown.steps)
        work.shelf = shelf
        work.param.trigger("shown_for")

    def take_file(self, content: bytes, name: str) -> None:
        """Compare with a plan of a file, once a worker has checked it."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self.models.work.notice = "The file is not a plan: it is not UTF-8 text."
            return
        self._ask(Request("check", more={"text": text}), {}, name)

    def take_point(self, index: int) -> None:
        """Compare with the plan of a point of the chart."""
        point = self.models.work.points[index]
        fields = {**self.models.fields(), **fields_of_point(point)}
        if "plan" in point:
            self._ask(Request("check", more={"text": unpacked(point["plan"])}), fields)
        else:
            problem = {**point["problem"], "budget": point["budget_bytes"]}
            self._ask(Request("plan", problem), fields)

    def _ask(self, request: Request, fields: dict[str, Any], name: str = "") -> None:
        self._fields, self._name = fields, name
        self._plan.ask(request)

    def _take(self, answer: Answer) -> None:
        work = self.models.work
        match answer.name:
            case "plan":
                shown: DisplayedPlan = answer["shown"]
                self.keep(shown, self._fields or fields_of_plan(shown), self._name)
            case "text" if work.pinned is not None and not work.pinned.packed:
                work.pinned.late.append(answer["packed"])
            case "graph":
                work.notice = "To compare, choose a file with a plan: this one has a graph."
            case "infeasible":
                self._failed(answer.get("text", "it has no plan in the budget"))

    def _failed(self, why: str) -> None:
        self.models.work.notice = f"Nothing to compare with: {why}"


def fields_of_plan(shown: DisplayedPlan) -> dict[str, Any]:
    """The fields of the problem that a plan from a file answers."""
    fields = problem_of(shown.plan)
    fields.setdefault("model", shown.graph.name)
    problem = problem_with({k: v for k, v in fields.items() if k in ProblemFields.param})
    return answered(problem.values_by_name())


def name_of(shown: DisplayedPlan, fields: Mapping[str, Any]) -> str:
    """The name of a plan: planner, options that are not the default, budget."""
    chosen = that_count(fields) if fields else {}
    option_names = [name for name in chosen if "." in name or name == WISHES]
    words = [word(name, chosen[name]) for name in option_names if chosen[name] != usual(name)]
    size = format_bytes(shown.plan.budget_bytes)
    return f"{' '.join([shown.plan.planner, *words])[:NAMES]}, {size}"


def unlike(name: str, others: list[str]) -> str:
    """A name that none of the others has."""
    candidate, number = name, 2
    while candidate in others:
        candidate, number = f"{name} ({number})", number + 1
    return candidate
