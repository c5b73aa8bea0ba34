"""Plans that are kept beside the one on screen, to compare them. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from param.parameterized import discard_events

from app.jobs import ENDS, Job
from app.options import USUAL, that_count, word
from app.packing import unpacked
from app.shown import Shown
from app.state import Problem
from app.url import problem_of
from planners.units import format_bytes

if TYPE_CHECKING:
    from app.session import Session

MOST = 6
NAMES = 40


@dataclass(frozen=True, slots=True)
class Kept:
    """A plan on the shelf: what it is called, and the fields of the problem that it answers."""

    name: str
    shown: Shown = field(repr=False, compare=False)
    fields: Mapping[str, Any] = field(repr=False, compare=False)


class Pins:
    """What a session compares with: a shelf of plans, one of them chosen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._job: Job | None = None
        self._fields: dict[str, Any] = {}
        self._name = ""

    @property
    def busy(self) -> bool:
        """Whether a plan to compare with is being read or made."""
        return self._job is not None

    def pin(self) -> None:
        """Keep the plan on screen to compare others with."""
        work = self.session.work
        if work.shown is None:
            return
        self.keep(work.shown, work.shown_for)
        self.session.look.panel = "compare"

    def keep(self, shown: Shown, fields: Mapping[str, Any], name: str = "") -> None:
        """Put a plan on the shelf, the oldest makes room, and compare with it."""
        work = self.session.work
        shelf = [kept for kept in work.shelf if kept.shown is not shown]
        name = unlike(name or name_of(shown, fields), [kept.name for kept in shelf])
        work.shelf = [*shelf, Kept(name, shown, dict(fields))][-MOST:]
        work.param.update(pinned=shown, pinned_for=dict(fields))

    def choose(self, name: str) -> None:
        """Compare with another plan of the shelf."""
        for kept in self.session.work.shelf:
            if kept.name == name:
                self.session.work.param.update(pinned=kept.shown, pinned_for=dict(kept.fields))

    def rename(self, name: str) -> None:
        """Call the chosen plan something else."""
        work, name = self.session.work, " ".join(name.split())[:NAMES]
        others = [kept.name for kept in work.shelf if kept.shown is not work.pinned]
        if name:
            work.shelf = [
                replace(kept, name=unlike(name, others)) if kept.shown is work.pinned else kept
                for kept in work.shelf
            ]

    @property
    def chosen(self) -> str:
        """The name of the plan that is compared with."""
        work = self.session.work
        return next((kept.name for kept in work.shelf if kept.shown is work.pinned), "")

    def unpin(self) -> None:
        """Take the chosen plan off the shelf; what is left there can be chosen."""
        work = self.session.work
        work.shelf = [kept for kept in work.shelf if kept.shown is not work.pinned]
        work.param.update(pinned=None, pinned_for={})

    def swap(self) -> None:
        """Show the pinned plan and pin the one that was shown, with the problems they answer."""
        session, work = self.session, self.session.work
        if work.pinned is None:
            return
        shown, fields, step = work.pinned, work.pinned_for, session.look.step
        other = Kept(name_of(work.shown, work.shown_for), work.shown, work.shown_for)
        names = [kept.name for kept in work.shelf if kept.shown is not shown]
        other = replace(other, name=unlike(other.name, names))
        known = any(kept.shown is work.shown for kept in work.shelf)
        shelf = [other if kept.shown is shown and not known else kept for kept in work.shelf]
        with discard_events(work):  # views follow `shown`, once both are exchanged
            work.param.update(pinned=work.shown, pinned_for=work.shown_for, shown_for=fields)
        session.problem.param.update(**fields)
        session.show(shown)
        session.cursor.step_by(step - session.look.step)
        work.shelf = shelf
        work.param.trigger("shown_for")

    def take_file(self, content: bytes, name: str) -> None:
        """Compare with a plan of a file, once a worker has checked it."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self.session.work.notice = "The file is no plan: it is not UTF-8 text."
            return
        self._ask("check", {}, name, text=text)

    def take_point(self, index: int) -> None:
        """Compare with the plan of a point of the chart."""
        from app.sweeping import fields_of_point

        point = self.session.work.points[index]
        fields = {**self.session.fields(), **fields_of_point(point)}
        if "plan" in point:
            self._ask("check", fields, "", text=unpacked(point["plan"]))
        else:
            problem = {**point["problem"], "budget": point["budget_bytes"]}
            self._ask("plan", fields, "", problem=problem)

    def _ask(self, kind: str, fields: dict[str, Any], name: str, **request: Any) -> None:
        self.close()
        self._fields, self._name = fields, name
        self._job = self.session.pool.submit(kind, **request)
        self.session.work.pinning = True

    def close(self) -> None:
        """Nothing goes on running."""
        if self._job:
            self._job.cancel()
        self._job = None

    def poll(self) -> None:
        """Take the plan that was read."""
        work = self.session.work
        for message in self._job.drain() if self._job else ():
            match message["type"]:
                case "plan":
                    shown = message["shown"]
                    fields = self._fields or {**fields_of_plan(shown)}
                    self.keep(shown, fields, self._name)
                case "text" if work.pinned is not None and not work.pinned.packed:
                    work.pinned.late.append(message["packed"])
                case "graph":
                    work.notice = "To compare, choose a file with a plan: this one has a graph."
                case "infeasible" | "error" | "died":
                    why = message.get("text", "it has no plan")
                    work.notice = f"Nothing to compare with: {why}"
            if message["type"] in ENDS:
                self._job = None
                work.pinning = False


def fields_of_plan(shown: Shown) -> dict[str, Any]:
    """The fields of the problem that a plan from a file answers."""
    known = {**USUAL, **problem_of(shown.plan)}
    known.setdefault("model", shown.graph.name)
    fields = Problem(**{k: v for k, v in known.items() if k in Problem.param}).values_by_name()
    del fields["time_limit"]
    return fields


def name_of(shown: Shown, fields: Mapping[str, Any]) -> str:
    """What a plan is called: planner, what else is not the usual, budget."""
    chosen = that_count(fields) if fields else {}
    words = [word(n, chosen[n]) for n in USUAL if n in chosen and chosen[n] != USUAL[n]]
    size = format_bytes(shown.plan.budget_bytes)
    return f"{' '.join([shown.plan.planner, *words])[:NAMES]}, {size}"


def unlike(name: str, others: list[str]) -> str:
    """A name that none of the others has."""
    found, number = name, 2
    while found in others:
        found, number = f"{name} ({number})", number + 1
    return found
