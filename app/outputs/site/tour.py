"""The guided tour over stored plans: the explorer's stops, with addresses of what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.model.machines import machine_of
from app.model.options import options
from app.model.state import problem_with
from app.outputs.site.cells import SiteCell
from app.outputs.site.site_plan import SitePlan
from app.outputs.standalone.contents import region_number
from app.session.models import Models, answered
from app.session.tour import fields_of
from app.session.tour_stops import PLANS, STOPS, Stop
from planners.core.units import format_bytes
from planners.study.budgets import resolve_budgets

NETWORK = "tour"
BUDGETS = ("MR", "MH", "MP")
OUTLINED = {
    "graph-box": ".plot.dag",
    "address-map": ".plot.map",
    "budget-typed": ".cards",
    "occupancy": ".plot.occupancy",
    "lanes": ".plot.timeline",
    "pool": ".plot.ring",
    "pareto-box": "#fronts",
    "corner-box": "#totals",
}
"""What the explorer's classes of outlined parts are on pages of a site."""
FRONT, COMPARED, LAST = STOPS[-3:]
SHARED = (
    "Every page here has an address that brings it back as you left it, step and selection"
    " included: copy it. Save the plan as JSON takes a plan along, for spillway or a notebook. The"
    " arrow keys step, ? has the others. All of it is one folder of files: no server, no network."
)


def tour_cells(time_limit: float) -> list[SiteCell]:
    """The plans that the stops show, and some more for the front."""
    cells = [_cell(name, fields_of(name), time_limit) for name in PLANS]
    first = fields_of(next(iter(PLANS)))
    more = [{**first, "budget": budget} for budget in BUDGETS[1:-1]]
    return [*cells, *(_cell(fields["budget"].lower(), fields, time_limit) for fields in more)]


def _cell(name: str, fields: Mapping[str, Any], time_limit: float) -> SiteCell:
    problem = problem_with(fields)
    shape = tuple(map(int, fields["input_shape"].split("x")))
    graph = sp.load(fields["model"], input_shape=[shape], granularity=fields["granularity"])
    weights = fields["weights"]
    label = str(fields["budget"])
    (budget,) = resolve_budgets(graph, [label])
    settings = {"weights": weights, **options(problem)}
    return SiteCell(
        f"tour-{name}", NETWORK, graph, fields["planner"], label, budget,
        machine_of({**fields}), time_limit, settings,
    )  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a stop is: a page, and the words of its address."""

    page: str
    words: Mapping[str, str]


def tour_data(made: Sequence[SitePlan], shown: Mapping[str, DisplayedPlan]) -> list[dict[str, Any]]:
    """The stops whose plans are there: title, text, page, address and what is outlined."""
    points = [item.facts["point"] for item in made if item.cell.machine == made[0].cell.machine]
    budgets = {
        name: _budgets(graph)
        for name, graph in {s.graph.digest: s.graph for s in shown.values()}.items()
    }
    there = [stop for stop in STOPS if stop.plan in shown]
    return [_stop(stop, shown, points, budgets[shown[stop.plan].graph.digest]) for stop in there]


def _budgets(graph: sp.Graph) -> dict[str, int]:
    named = sp.budgets(graph)
    return {name: getattr(named, name) for name in BUDGETS}


def _stop(
    stop: Stop, shown: Mapping[str, DisplayedPlan], points: list[Any], budgets: Mapping[str, int]
) -> dict[str, Any]:
    models, here = Models(), shown[stop.plan]
    fields = fields_of(stop.plan)
    models.problem.param.update(**fields)
    models.work.param.update(
        shown=here, shown_for=answered(fields), budgets=dict(budgets), points=points
    )
    stop.prepare(models, shown)
    text = {COMPARED: lambda: _compared(shown), LAST: lambda: SHARED}.get(stop)
    place = _place(stop, models, here)
    return {
        "title": stop.title,
        "text": text() if text else stop.tell(models),
        "page": place.page,
        "words": dict(place.words),
        "outlined": next((OUTLINED[name] for name in stop.targets if name in OUTLINED), ""),
    }


def _place(stop: Stop, models: Models, here: DisplayedPlan) -> Place:
    look = models.look
    if stop is FRONT:
        return Place(f"networks/{NETWORK}.html", {})
    if stop is COMPARED:
        return Place("compare.html", {"here": "tour-roomy", "there": "tour-spills"})
    words = {"step": str(look.step), "selection": look.selection or "none"}
    if look.memory:
        words["memory"] = str(region_number(here, look))
    return Place(f"plans/tour-{stop.plan}.html", words)


def _compared(shown: Mapping[str, DisplayedPlan]) -> str:
    roomy, spills = shown["roomy"], shown.get("spills", shown["roomy"])
    sizes = [format_bytes(plan.plan.budget_bytes) for plan in (roomy, spills)]
    moved = [format_bytes(plan.report.noncompulsory_bytes) for plan in (roomy, spills)]
    return (
        f"Two plans on the same axes: one has {sizes[0]}, the other {sizes[1]}. Spill traffic:"
        f" {moved[0]} and {moved[1]}. The differences are listed, those that move most bytes first;"
        " one cursor goes through both."
    )
