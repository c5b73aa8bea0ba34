"""A whole site: plans made or known, pages written, and what is no longer asked for removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planners as sp
from app.outputs.site.background_plans import BackgroundPlans
from app.outputs.site.cells import SiteAsked, SiteCell, cells_of
from app.outputs.site.folder import SiteFolder
from app.outputs.site.fronts import network_page
from app.outputs.site.pairs import pairs_data
from app.outputs.site.site_plan import FAILED, INFEASIBLE, PLANNED, Maker, SitePlan, page_of
from app.outputs.site.tasks import task_data
from app.outputs.site.texts import SITE_DATA, data_script, shared_files, site_page
from app.outputs.site.tour import NETWORK as TOUR
from app.outputs.site.tour import tour_cells, tour_data
from planners.assignments import assignments
from planners.core.progress import Progress

Say = Callable[[str], object]


@dataclass(frozen=True)
class Written:
    """What came of a site: counts of its plans, bytes of its files, whether it was stopped."""

    counts: dict[str, int]
    new: int
    files: int
    size_bytes: int
    stopped: bool
    failures: Sequence[str]


def write_site(
    folder: str | Path,
    request: SiteAsked,
    say: Say = lambda _text: None,
    stopped: Callable[[], bool] = lambda: False,
    executor: Executor | None = None,
) -> Written:
    """Write a site into a folder, new or empty or of an earlier run, which it goes on from.

    `say` hears what is done; once `stopped` answers yes the site has the plans made until then, and
    another run makes the others. With an `executor` plans are made there, ahead of the pages.
    Raises `BadInput` where the folder has anything else in it.
    """
    say("networks")
    cells = cells_of(request)
    with SiteFolder(Path(folder)) as target:
        ahead = BackgroundPlans(executor)
        try:
            return _write(target, request, cells, ahead, say, stopped)
        finally:
            ahead.close()


def _write(
    target: SiteFolder,
    request: SiteAsked,
    cells: Sequence[SiteCell],
    ahead: BackgroundPlans,
    say: Say,
    stopped: Callable[[], bool],
) -> Written:
    extra = tour_cells(request.time_limit) if request.tour else []
    tasks = assignments() if request.tasks else ()
    maker = Maker(target, tasks, ahead)
    ahead.ask(cell for cell in (*cells, *extra) if not maker.has(cell))
    site = _Site(target, maker, say, stopped, len(cells) + len(extra))
    for name, text in shared_files().items():
        target.write(name, text)
    plans = site.networks(cells, lambda some: _pages(target, request, some, []))
    toured = site.networks(extra)
    stops = site.tour(toured) if toured and not site.halted else []
    _pages(target, request, [*plans, *toured], stops)
    if not site.halted:
        target.close({item.cell.id for item in [*plans, *toured]} | site.noted)
    return _written(target, [*plans, *toured], site.halted)


class _Site:
    def __init__(
        self, folder: SiteFolder, maker: Maker, say: Say, stopped: Callable[[], bool], total: int
    ) -> None:
        self.folder, self.maker, self.say, self.stopped = folder, maker, say, stopped
        self.total, self.number, self.halted = total, 0, False
        self.noted: set[str] = set()

    def networks(
        self,
        cells: Sequence[SiteCell],
        so_far: Callable[[Sequence[SitePlan]], object] = lambda _made: None,
    ) -> list[SitePlan]:
        """The plans of all networks, and the pages of each; `so_far` hears of them in between."""
        plans: list[SitePlan] = []
        for network in dict.fromkeys(cell.network for cell in cells):
            of_network = [
                item for cell in cells if cell.network == network for item in self._one(cell)
            ]
            if of_network:
                self._around(network, of_network)
            self.maker.forget()
            plans += of_network
            so_far(plans)
        return plans

    def _one(self, cell: SiteCell) -> list[SitePlan]:
        if self.halted or self.stopped():
            self.halted = True
            return []
        self.number += 1
        where = f"{self.number} of {self.total}, {cell.graph.name} {cell.planner} {cell.budget}"
        self.say(where)

        def heard(moment: Progress) -> bool:
            self.say(f"{where}: {moment.stage}")
            return not self.stopped()

        try:
            return [self.maker.make(cell, heard)]
        except sp.Cancelled:
            self.halted = True
            return []

    def _around(self, network: str, made: Sequence[SitePlan]) -> None:
        """The page of a network and its comparisons, where they are not there already."""
        page, pairs = f"networks/{network}.html", f"data/pairs-{network}.js"
        key, note = [item.cell.key for item in made], f"{network}/"
        self.noted.add(note)
        is_current = self.folder.known.get(note, {}).get("key") == key
        if is_current and self.folder.has(page) and self.folder.has(pairs):
            self.folder.keep(page)
            self.folder.keep(pairs)
            return
        self.say(f"comparing plans of {made[0].cell.graph.name}")
        planned = [item.cell for item in made if item.facts["status"] == PLANNED]
        shown = [(cell.id, self.maker.shown(cell)) for cell in planned]
        self.folder.write(pairs, data_script("spillwayPairs", pairs_data(shown)))
        first = shown[0][1] if shown else None
        self.folder.write(page, network_page(network, made, first))
        if not any(item.facts["status"] == FAILED for item in made):
            self.folder.note(note, {"key": key})

    def tour(self, made: Sequence[SitePlan]) -> list[dict[str, Any]]:
        """The stops of the tour."""
        self.say("the tour")
        planned = [item for item in made if item.facts["status"] == PLANNED]
        shown = {
            item.cell.id.removeprefix("tour-"): self.maker.shown(item.cell) for item in planned
        }
        self.maker.forget()
        return tour_data(planned, shown)


def _pages(
    target: SiteFolder, request: SiteAsked, made: Sequence[SitePlan], stops: list[dict[str, Any]]
) -> None:
    """What is about all plans: the list of them, the index, comparisons, assignments."""
    target.write(SITE_DATA, data_script("spillwaySite", site_data(request, made, stops)))
    overview = ("assets/site.js", "assets/overview.js")
    target.write("index.html", site_page("index", request.title, overview))
    compare = ("assets/site.js", "assets/compare.js")
    target.write("compare.html", site_page("compare", "Two plans compared", compare))
    tasks = ("assets/site.js", "assets/tasks.js")
    target.write("place.html", site_page("place", "Placed by hand", tasks))
    if request.tasks:
        data = data_script("spillwayTasks", [task_data(task) for task in assignments()])
        target.write("data/tasks.js", data)
        with_data = ("data/tasks.js", *tasks)
        target.write("tasks.html", site_page("tasks", "Assignments", with_data))


def site_data(
    request: SiteAsked, made: Sequence[SitePlan], stops: list[dict[str, Any]]
) -> dict[str, Any]:
    """What every page knows of the site: networks, plans by name, the tour."""
    networks: dict[str, dict[str, Any]] = {}
    for item in made:
        cell, graph = item.cell, item.cell.graph
        shapes = ["×".join(map(str, shape)) for shape in graph.source.get("input_shape", ())]
        facts = [f"{len(graph.operators):,} operators", f"{graph.macs / 1e6:,.4g} M MACs"]
        network = networks.setdefault(
            cell.network,
            {"name": graph.name, "about": ", ".join([*facts, *shapes]), "cells": []},
        )
        network["cells"].append(cell.id)
    return {
        "title": request.title,
        "machine": request.machine.title,
        "networks": networks,
        "tour": stops,
        "tourNetwork": TOUR,
        "tasks": request.tasks,
        "cells": {item.cell.id: _told(item) for item in made},
    }


def _told(item: SitePlan) -> dict[str, Any]:
    cell = item.cell
    facts = {name: value for name, value in item.facts.items() if name not in ("point", "verdicts")}
    row: dict[str, Any] = {"network": cell.network, "planner": cell.planner}
    row |= {"budget": cell.budget, "machine": cell.machine.title, "bytes": cell.budget_bytes}
    page = {"page": page_of(cell)} if item.facts["status"] == PLANNED else {}
    verdicts = item.facts.get("verdicts")
    return {**row, **facts, **page, **({"verdicts": verdicts} if verdicts else {})}


def _written(target: SiteFolder, made: Sequence[SitePlan], halted: bool) -> Written:
    statuses = [item.facts["status"] for item in made]
    sizes = target.sizes
    return Written(
        counts={status: statuses.count(status) for status in (PLANNED, INFEASIBLE, FAILED)},
        new=sum(item.is_new for item in made),
        files=len(sizes),
        size_bytes=sum(sizes.values()),
        stopped=halted,
        failures=[
            f"{item.cell.graph.name} {item.cell.planner} {item.cell.budget}: {item.facts['text']}"
            for item in made
            if item.facts["status"] == FAILED
        ],
    )
