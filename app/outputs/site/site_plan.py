"""A plan of a site: made, or known from an earlier run, and what all pages say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.handlers.sweep import measured
from app.links.url import problem_of
from app.model.units import joules_text, seconds_text
from app.outputs.site.background_plans import BackgroundPlans
from app.outputs.site.cells import SiteCell
from app.outputs.site.folder import SiteFolder
from app.outputs.site.reasons import reasons
from app.outputs.site.residencies import stays_data
from app.outputs.site.texts import data_script, plan_frame
from app.outputs.standalone import page_html, seen_of
from app.views.panels.cards import badge, scope
from planners.assignments import Exercise, judge
from planners.core.units import format_bytes
from planners.simulator.bugs import bugs_explained
from planners.study.sweep import variant

PLANNED, INFEASIBLE, FAILED = "planned", "infeasible", "failed"


@dataclass(frozen=True)
class SitePlan:
    """A cell and what came of it; `shown` where it was made or read just now."""

    cell: SiteCell
    facts: Mapping[str, Any]
    is_new: bool = False


class Maker:
    """Makes what a folder does not have yet; plans that were read stay at hand for a network."""

    def __init__(
        self, folder: SiteFolder, tasks: tuple[Exercise, ...], ahead: BackgroundPlans
    ) -> None:
        self.folder, self.tasks, self.ahead = folder, tasks, ahead
        self._shown: dict[str, DisplayedPlan] = {}

    def make(self, cell: SiteCell, progress: Callable[[Any], object] | None = None) -> SitePlan:
        """The plan with its page, or why there is none. Raises `Cancelled`, `BadInput` as
        `SiteFolder.write`."""
        if self.has(cell):
            facts = self.folder.known[cell.id]["facts"]
            for file in self._files(cell):
                self.folder.keep(file)
            return SitePlan(cell, facts)
        facts = self._made(cell, progress)
        if facts["status"] != FAILED:
            self.folder.note(cell.id, {"key": cell.key, "facts": facts})
        return SitePlan(cell, facts, True)

    def has(self, cell: SiteCell) -> bool:
        """Whether the folder has what an earlier run made of a cell."""
        noted = self.folder.known.get(cell.id, {})
        return noted.get("key") == cell.key and all(map(self.folder.has, self._files(cell)))

    def _files(self, cell: SiteCell) -> list[str]:
        """The files of a plan that is known; none where nothing fits."""
        facts = self.folder.known.get(cell.id, {}).get("facts", {})
        if facts.get("status") == INFEASIBLE:
            return []
        return [page_of(cell), *([stays_of(cell)] if facts.get("stays") else [])]

    def _made(self, cell: SiteCell, progress: Callable[[Any], object] | None) -> dict[str, Any]:
        try:
            plan = self.ahead.plan(cell, progress)
        except sp.BudgetTooSmall as error:
            return too_small(error)
        except sp.Cancelled:
            raise
        except sp.SpillwayError as error:
            return {"status": FAILED, "text": str(error)}
        with bugs_explained(plan):
            seen = seen_of(plan)
        self._shown[cell.id] = seen.shown
        residencies = stays_data(seen.shown)
        page = replace(seen, around=plan_frame(cell.id), **reasons(seen.shown))
        self.folder.write(page_of(cell), page_html(page))
        if residencies:
            data = {"stays": residencies, "budget": plan.budget_bytes, "steps": seen.shown.steps}
            self.folder.write(stays_of(cell), data_script("spillwayStays", data))
        return {
            **facts_of(cell, seen.shown),
            "stays": bool(residencies),
            "verdicts": self._verdicts(plan),
        }

    def _verdicts(self, plan: sp.Plan) -> dict[str, Any]:
        """What the judge says of it, by assignment that is answered with plans of its network."""
        graphs = {task.name: task.graph() for task in self.tasks if task.answer == "plan"}
        return {
            name: judge(name, plan).to_json()
            for name, graph in graphs.items()
            if replace(graph, source={}).digest == replace(plan.graph, source={}).digest
        }

    def shown(self, cell: SiteCell) -> DisplayedPlan:
        """A plan that was made, read from its page where that was in an earlier run."""
        if cell.id not in self._shown:
            plan = sp.Plan.load(self.folder.path / page_of(cell))
            self._shown[cell.id] = seen_of(plan).shown
        return self._shown[cell.id]

    def forget(self) -> None:
        """The plans of a network are done."""
        self._shown.clear()


def page_of(cell: SiteCell) -> str:
    """The file of a plan's page."""
    return f"plans/{cell.id}.html"


def stays_of(cell: SiteCell) -> str:
    """The file of a plan's rectangles, to be placed by hand."""
    return f"data/stays-{cell.id}.js"


def too_small(error: sp.BudgetTooSmall) -> dict[str, Any]:
    """Why there is no plan: what is needed, what there is, and what binds."""
    return {
        "status": INFEASIBLE,
        "need_bytes": error.need_bytes,
        "need": format_bytes(error.need_bytes),
        "have": format_bytes(error.have_bytes),
        "short": format_bytes(error.need_bytes - error.have_bytes),
        "binds": error.operator,
        "tensors": list(error.tensors),
        "text": str(error),
    }


def facts_of(cell: SiteCell, shown: DisplayedPlan) -> dict[str, Any]:
    """What tables and charts say of a plan; `point` is as a sweep has it."""
    plan, trace = shown.plan, shown.trace
    sign, words, _ = badge(shown)
    point = measured(plan, shown.report, trace)
    planner_options = variant(cell.planner)[1]
    problem = {**problem_of(plan), "options": planner_options, "planner": plan.planner}
    return {
        "status": PLANNED,
        "sign": sign,
        "proof": f"{words} {scope(shown)}".strip(),
        "latency": seconds_text(trace.makespan_s),
        "traffic": format_bytes(point["traffic_bytes"]),
        "peak": format_bytes(point["peak_bytes"]),
        "energy": joules_text(trace.energy_j),
        "point": {**point, "budget_bytes": plan.budget_bytes, "problem": problem},
    }
