"""The data of a page: what its script shows, plays and listens to, as plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bokeh.models import ColumnDataSource

from app.display.banks import several
from app.display.displayed_plan import DisplayedPlan
from app.display.file_names import file_stem
from app.kinds.registry import kind_of
from app.kinds.timeline_bars import MOST as MOST_BARS
from app.kinds.visible_rows import ZOOM
from app.model.glossary import plain
from app.model.state import Look
from app.outputs.standalone.figures import Figures
from app.outputs.standalone.selection_texts import detail_numbers, selections
from app.outputs.standalone.theme_colours import recolouring
from app.views.cursor.client import film_of
from app.views.cursor.plan_tables import plan_tables
from app.views.cursor.step_pages import RowBook, step_rows, steps_around
from app.widgets.frames import Film

MOST_DETAILS = 5000
OPEN_ALL, SELECT = "tap to open all blocks", "tap to select"
NEARER, ELSEWHERE = "zoom in to see each", "the explorer shows each"
BackgroundPlans = Callable[[float], None]


def contents(
    shown: DisplayedPlan,
    look: Look,
    figures: Figures,
    why: Mapping[str, Any],
    most_steps: int,
    ahead: BackgroundPlans,
) -> tuple[dict[str, Any], list[str]]:
    """The data, and one line for each thing that is left out. The figures are filled already."""
    book, steps = RowBook(), steps_around(shown.steps, look.step, most_steps)
    scenes, scene_film = _scenes(shown, look, figures)
    by_step = step_rows(shown, steps, (look.memory, look.unit), book, lambda s: ahead(0.6 * s))
    by_step["title"] = [plain(title) for title in by_step["title"]]
    details = detail_numbers(shown, why, book, MOST_DETAILS)
    left_out = _bundled(shown, look, figures)
    films = {"scene": scene_film, "region": _regions(shown, look, figures)}
    films["step"] = film_of(shown, steps, figures.axis, figures.map.pool, figures.ring)
    if len(steps) < shown.steps:
        steps_text = f"steps {steps.start + 1:,} – {steps.stop:,} of {shown.steps:,}"
        left_out.append(f"Sentences and tables cover {steps_text}.")
    every = sum(1 for _ in selections(shown))
    if len(details) < every:
        left_out.append(f"Details cover {len(details):,} of {every:,} selections.")
    data = {
        "file": file_stem(shown),
        "steps": shown.steps,
        "step": look.step,
        "first": steps.start,
        "selection": look.selection,
        "peaks": shown.peaks,
        **plan_tables(shown),
        "scenes": scenes,
        "region": region_number(shown, look),
        "films": {name: film.to_json() for name, film in films.items() if film},
        **by_step,
        "details": details,
        "book": book.rows,
        "models": {name: model.id for name, model in figures.handles(shown).items()},
        "colours": recolouring(figures),
    }
    return data, left_out


def _scenes(shown: DisplayedPlan, look: Look, figures: Figures) -> tuple[int, Film]:
    """How many ways there are to draw the graph, and these: as it is viewed, and with all blocks
    opened, where that differs."""
    dag = figures.dag
    drawn = [dag.nodes, dag.curves, dag.frames, dag.regions, dag.links, dag.tabs, dag.where]
    small = dag.overview
    drawn += [small.x_range, small.y_range, small.figure]
    film = Film([*drawn, dag.x_range, dag.y_range, dag.figure])
    every = sorted(shown.tree.everything())
    ways = [look.expanded, every] if set(look.expanded) != set(every) else [every]
    for expanded in ways:
        dag.show(shown, expanded, look.colour, refit=True)
        blocks: list[bool] = dag.nodes.data["is_block"]
        opens = OPEN_ALL if expanded != every else SELECT
        dag.nodes.data["hint"] = [opens if block else SELECT for block in blocks]
        small.figure.visible = small.wanted
        film.shoot()
    dag.show(shown, look.expanded, look.colour, refit=True)
    small.figure.visible = small.wanted
    return len(ways), film


def _regions(shown: DisplayedPlan, look: Look, figures: Figures) -> Film | None:
    """The address map of each memory to choose from."""
    regions = kind_of(shown).regions(shown)
    if len(regions) < 2:
        return None
    memory = figures.map
    drawn = [memory.source, memory.words, memory.marks, memory.limit, memory.y_range, memory.note]
    occupancy = figures.occupancy
    drawn += memory.far.models
    if several(shown):
        drawn += [
            occupancy.source,
            occupancy.limit,
            occupancy.y_range,
            occupancy.peak,
            *occupancy.far.models,
        ]
    film = Film([*drawn, memory.bands.line, *memory.bands.names])
    for region in regions:
        figures.show_memory(shown, region.key)
        film.shoot()
    figures.show_memory(shown, look.memory)
    return film


def region_number(shown: DisplayedPlan, look: Look) -> int:
    """Which of the memories the address map shows."""
    kind = kind_of(shown)
    region = kind.region(shown, look.memory)
    return kind.regions(shown).index(region) if region else 0


def _bundled(shown: DisplayedPlan, look: Look, figures: Figures) -> list[str]:
    """What is drawn in bundles, because its many pieces are not in the file."""
    left_out = []
    note = figures.map.note
    if note.text:
        note.text = note.text.removesuffix(ZOOM)
        pieces = sum(len(residency.spans) for residency in shown.report.residencies)
        left_out.append(f"Address map: {note.text}, of {pieces:,} in all.")
    bars = figures.timeline.bars
    trace = shown.serial_trace if look.serial else shown.trace
    if bars is not None and bars.count(0.0, trace.makespan_s * 1.01) > MOST_BARS:
        for source in (figures.timeline.source, figures.timeline.stalls):
            _reword(source, "cause", NEARER, ELSEWHERE)
        left_out.append(f"Timeline: intervals are bundled, of {len(trace.intervals):,}.")
    return left_out


def _reword(source: ColumnDataSource, column: str, old: str, new: str) -> None:
    data: dict[str, Any] = source.data
    data[column] = [new if text == old else text for text in data[column]]
