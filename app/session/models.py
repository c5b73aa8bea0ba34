"""The view-models of one page, and what follows from them together. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.links.url import UPLOADED
from app.model.options import options
from app.model.pareto import GRAPH_FIELDS, beside, indexed, same_network
from app.model.state import Look, ProblemFields, Work
from planners.study.budgets import plain_budget

OPERATORS_OF = ("model", "granularity")
"""The fields of a problem that determine its operators."""


OWN_FIELDS = ("bytes_per_element", "granularity")
"""What files say for themselves."""
USUAL = {name: ProblemFields.param[name].default for name in OWN_FIELDS}


@dataclass(frozen=True, slots=True)
class Brought:
    """Models that a visitor uploaded, by the name under which each is chosen.

    `texts` are graphs as JSON; `tokens` say under which name a file is kept, `names` what its
    visitor calls it, and `own` the fields that came with it: under no name those that were chosen
    before for the catalogue's.
    """

    texts: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    own: dict[str, dict[str, Any]] = field(default_factory=dict)

    def set_aside(self, label: str, fields: Mapping[str, Any], problem: ProblemFields) -> None:
        """Keep the fields that come with a model, and those of the catalogue's that it replaces."""
        if not problem.model.endswith(UPLOADED):
            self.own[""] = {name: getattr(problem, name) for name in OWN_FIELDS}
        self.own[label] = {name: fields[name] for name in OWN_FIELDS if name in fields}

    def own_fields(self, model: str, former: str) -> Mapping[str, Any]:
        """The fields that come with a model which is chosen after another one."""
        if model in self.own:
            return self.own[model]
        return self.own.get("", USUAL) if former.endswith(UPLOADED) else {}

    def fields(self, model: str, token: str) -> dict[str, Any]:
        """What a worker needs to have an uploaded model; empty for others."""
        if text := self.texts.get(model):
            return {"graph": text}
        return {"upload": token} if token and model.endswith(UPLOADED) else {}


@dataclass(frozen=True, slots=True)
class Models:
    """What is to be planned, how it is viewed, what is displayed, what was uploaded."""

    problem: ProblemFields = field(default_factory=ProblemFields)
    look: Look = field(default_factory=Look)
    work: Work = field(default_factory=Work)
    brought: Brought = field(default_factory=Brought)

    @property
    def shown(self) -> DisplayedPlan | None:
        """The checked plan on screen."""
        shown: DisplayedPlan | None = self.work.shown
        return shown

    def request(self, of: ProblemFields | None = None) -> dict[str, Any]:
        """The problem, or another one, as plain data for a worker."""
        problem = of or self.problem
        values = problem.values_by_name()
        names = (*GRAPH_FIELDS, "machine", "planner", "time_limit")
        changed = values["machine_fields"]
        fields = {name: values[name] for name in names}
        fields |= {"machine_fields": changed} if changed else {}
        fields |= self.brought.fields(problem.model, problem.upload)
        budget = plain_budget(problem.budget)
        return {**fields, "budget": budget, "options": options(problem)}

    def fields(self) -> dict[str, Any]:
        """The problem's fields that a plan answers."""
        return answered(self.problem.values_by_name())

    @property
    def stale(self) -> bool:
        """Whether the plan on screen answers another problem than the chosen one."""
        return bool(self.work.shown_for) and self.work.shown_for != self.fields()

    @property
    def same_network(self) -> bool:
        """Whether the network on screen is the one that is chosen."""
        on_screen = self.work.shown_for
        return not on_screen or same_network(on_screen, self.fields())

    @property
    def same_operators(self) -> bool:
        """Whether the operators on screen are those of the model that is chosen."""
        on_screen, chosen = self.work.shown_for, self.fields()
        return all(on_screen.get(name) == chosen[name] for name in OPERATORS_OF)

    @property
    def charted(self) -> dict[str, Any]:
        """The fields of the problem that charts are about: the chosen ones where the plan on screen
        is of another network or machine and they have points; else those of that plan."""
        chosen, work = self.fields(), self.work
        if not beside(chosen, work.shown_for) and indexed(work.points, chosen):
            return chosen
        return dict(work.shown_for)

    @property
    def differs_beyond_budget(self) -> bool:
        """Whether the problem of the plan on screen differs in more than the budget."""
        return {**self.work.shown_for, "budget": self.problem.budget} != self.fields()

    @property
    def budget_bytes(self) -> int:
        """The budget that is chosen, also where nothing fits it; until it is known, the plan's."""
        chosen = plain_budget(self.problem.budget)
        if isinstance(chosen, str):
            chosen = self.work.budgets.get(chosen, 0)
        return int(chosen or (self.shown.plan.budget_bytes if self.shown else 0))

    @property
    def handle_bytes(self) -> int:
        """Where the handle of the budget's slider is: where it is dragged to, or at the budget."""
        return int(self.work.under or self.budget_bytes)


def answered(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a problem that a plan answers."""
    return {name: value for name, value in problem.items() if name != "time_limit"}
