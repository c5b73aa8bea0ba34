"""The browser's outlines are what the plan says, for plans of each planner and all selections."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from bokeh.models import ColumnDataSource, Range1d
from playwright.sync_api import Page

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.explorer import Explorer
from app.kinds.registry import kind_of
from app.model.paths import ASSETS
from app.model.state import (
    TENSOR,
    selected_group,
    selected_operators,
    selected_tensors,
    tensor_selection,
)
from app.outputs.standalone import seen_of
from app.outputs.standalone.selection_texts import selections
from app.session.session import Session
from app.views.cursor.handles import handles, pool_handles
from app.views.cursor.plan_tables import plan_tables
from app.widgets.frames import state
from app.widgets.palette import LIGHT
from tests.app.silent_pool import SilentPool

PLANS: dict[str, dict[str, Any]] = {
    "cosma": {"model": "squeezenet1_1", "budget": "MR"},
    "fusion": {"model": "squeezenet1_1", "budget": 80 * 1024},
    "overlap": {"model": "mcunet_vww1", "budget": "64KB", "machine": "stm32f411", "side": 32},
    "streaming": {"model": "squeezenet1_1", "budget": "1MiB"},
}


@cache
def explorer_of(planner: str) -> Explorer:
    """An explorer with a small plan of a planner on screen."""
    asked = {**PLANS[planner]}
    side = asked.pop("side", 64)
    graph = sp.load(asked.pop("model"), input_shape=[[1, 3, side, side]])
    plan = sp.plan(graph, planner=planner, time_limit=10, **asked)
    session = Session(SilentPool())  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    session.show(seen_of(plan).shown)
    return explorer


def view_of(explorer: Explorer) -> dict[str, Any]:
    """The sources and ranges that the script outlines, as plain data."""
    models = handles(explorer.dag, explorer.map, explorer.occupancy, explorer.timeline)
    if explorer.session.work.shown.pool is not None:
        models |= pool_handles(explorer.pool.ring, explorer.pool.bars)
    kinds = (ColumnDataSource, Range1d)
    return {name: state(model) for name, model in models.items() if isinstance(model, kinds)}


@pytest.fixture(scope="module")
def script(browser: Any) -> Any:
    """A page with the script that selects, and nothing else."""
    page = browser.new_page()
    page.add_script_tag(path=ASSETS / "select.js")
    yield page
    page.close()


def outlined(script: Page, explorer: Explorer, key: str, spoken: list[str]) -> dict[str, Any]:
    """What the script outlines: columns by source; and which tensors' and operators' rows it
    marks."""
    shown = explorer.session.work.shown
    found: dict[str, Any] = script.evaluate(
        """([view, tables, key, spoken]) => {
          const plan = planOf(tables), marks = plan.marksOf(key, spoken);
          outline(view, plan, marks);
          const chosen = Object.entries(view).filter(([name]) => name.startsWith('chosen_'));
          const rows = (start, names) => names.map((name) => start + name)
            .filter((row) => plan.isOn(row, key, marks));
          return { ...Object.fromEntries(chosen.map(([name, source]) => [name, source.data])),
            rows: [...rows('tensor:', plan.graph.tensors),
              ...rows('operator:', plan.graph.operators)] };
        }""",
        [view_of(explorer), plan_tables(shown), key, spoken],
    )
    return found


def rows_of(columns: dict[str, list[Any]], *names: str) -> list[tuple[Any, ...]]:
    return sorted(zip(*(columns[name] for name in names or columns), strict=True))


def picked(source: ColumnDataSource, hits: list[int], *names: str) -> list[tuple[Any, ...]]:
    data: Any = source.data
    return sorted(tuple(data[name][i] for name in names) for i in hits)


@pytest.mark.parametrize("planner", PLANS)
def test_the_browser_outlines_what_the_plan_says(script: Page, planner: str) -> None:
    explorer = explorer_of(planner)
    every = list(selections(explorer.session.work.shown))
    kinds = {key.split(":")[0] for key in every}
    assert {"tensor", "operator"} <= kinds
    assert {"fusion": "group", "overlap": "run"}.get(planner, "tensor") in kinds
    few = [key for key in every if not key.startswith(TENSOR)][::3]
    tensors = [key for key in every if key.startswith(TENSOR)][::7]
    for key in [*few, *tensors, "", "tensor:none", "operator:none", "group:g99", "run:none"]:
        agrees(script, explorer, key)


def agrees(script: Page, explorer: Explorer, key: str) -> None:
    """What the script outlines is what the selection means, by the server's words for it."""
    shown: DisplayedPlan = explorer.session.work.shown
    graph, found = shown.graph, outlined(script, explorer, key, [])
    group = selected_group(shown, key)
    operators = set(group.operators if group else selected_operators(graph, key))
    tensors, drawn = set(selected_tensors(graph, key)), kind_of(shown).drawn(shown, key)
    nodes = shown.tree.nodes(explorer.session.look.expanded)
    places = {graph.index[name] for name in operators}
    hits = [i for i, node in enumerate(nodes) if places.intersection(node.members)]
    scene, place = explorer.dag.drawn, ("x", "y", "w", "h")
    assert scene is not None
    assert rows_of(found["chosen_nodes"], *place) == picked(explorer.dag.nodes, hits, *place), key
    along = [i for i, names in enumerate(scene.curve_tensors) if names & tensors]
    assert len(found["chosen_curves"]["x0"]) == len(along), key
    sides = ("left", "right", "bottom", "top")
    names: Any = explorer.map.source.data["tensor"]
    hits = [i for i, name in enumerate(names) if name in drawn]
    assert rows_of(found["chosen_rects"], *sides) == picked(explorer.map.source, hits, *sides), key
    covers(explorer, found["chosen_lanes"], operators, tensors)
    groups = sorted({shown.group_of[name] for name in operators if name in shown.group_of})
    groups = [] if key.startswith(TENSOR) else groups
    for band, name in ((explorer.map.groups, "map"), (explorer.timeline.groups, "lane")):
        chosen = found[f"chosen_{name}_groups"]
        assert rows_of(chosen, "left", "right") == picked(band.source, groups, "left", "right"), key
    if shown.pool is not None:
        runs = sorted({run.number for name in operators if (run := shown.pool.run_of(name))})
        tops = [shown.pool.extent_bytes(shown.pool.runs[k]) for k in runs]
        assert found["chosen_bars"]["left"] == [k + 0.08 for k in runs], key
        assert found["chosen_bars"]["top"] == tops, key
    marked = {tensor_selection(name) for name in tensors} | {f"operator:{n}" for n in operators}
    assert set(found["rows"]) == marked, key


def covers(
    explorer: Explorer, outlines: dict[str, Any], operators: set[str], tensors: set[str]
) -> None:
    """Each selected bar lies in one outline, and an outline begins and ends with selected bars."""
    data: Any = explorer.timeline.source.data
    bars = [
        (lane, left, right)
        for kind, label, lane, left, right in zip(
            *(data[name] for name in ("kind", "label", "lane", "left", "right")), strict=True
        )
        if label in (operators if kind == "operator" else tensors)
    ]
    around = rows_of(outlines, "lane", "left", "right")
    for lane, left, right in bars:
        assert sum(at == lane and a <= left and right <= b for at, a, b in around) == 1
    for lane, left, right in around:
        assert (lane, left) in {bar[:2] for bar in bars}
        assert (lane, right) in {(bar[0], bar[2]) for bar in bars}
    assert bool(bars) == bool(around)


def test_tensors_that_sentences_name_are_outlined_until_something_is_selected(script: Page) -> None:
    explorer = explorer_of("cosma")
    graph = explorer.session.work.shown.graph
    scene = explorer.dag.drawn
    assert scene is not None
    spoken = sorted(scene.curve_tensors[0] | {graph.outputs[0]})
    found = outlined(script, explorer, "", [*spoken, "no such tensor"])
    names = explorer.map.source.data["tensor"]
    assert len(found["chosen_rects"]["left"]) == sum(name in spoken for name in names)
    assert len(found["chosen_rects"]["left"]) > 1
    assert found["chosen_curves"]["x0"]
    assert found["chosen_nodes"]["x"] == []
    other = f"operator:{graph.operators[-1].name}"
    assert outlined(script, explorer, other, spoken) == outlined(script, explorer, other, [])


@pytest.mark.parametrize("planner", PLANS)
def test_the_key_for_parts_goes_through_all_of_them(script: Page, planner: str) -> None:
    shown = explorer_of(planner).session.work.shown
    found = script.evaluate(
        """([tables, steps]) => {
          const plan = planOf(tables), there = [];
          for (let step = 0; step < steps; step++) {
            const first = plan.nextPart(step, '');
            there.push([first, first && plan.nextPart(step, first.key)]);
          }
          return there.map((pair) => pair.map((part) => part && [part.key, part.step]));
        }""",
        [plan_tables(shown), shown.steps],
    )
    parts = [[part.selection, part.step] for part in kind_of(shown).together(shown)]
    waiting = [s.layer for s in shown.stages if s.kind == "kernel" and s.wait]
    for step, (first, second) in enumerate(found):
        if parts:
            here = max(k for k, (_, start) in enumerate(parts) if start <= step)
            assert (first, second) == (parts[here], parts[(here + 1) % len(parts)])
            group = shown.group_at(step) if shown.groups else shown.pool.run_at(step)
            assert first[1] == group.start_step
        elif planner == "streaming":
            layer = next((layer for layer in waiting if layer > step), waiting[0])
            name = shown.stream.layers[layer].operator
            assert first == second == [f"operator:{name}", layer]
        else:
            assert first is second is None


def test_narrow_bars_side_by_side_and_many_rectangles_have_few_lines(script: Page) -> None:
    lanes, sides = ("compute",) * 7, ("left", "right", "bottom", "top")
    view = {
        "lanes": {
            "data": {
                "label": ["a"] * 8,
                "kind": ["operator"] * 8,
                "lane": [*lanes, "DMA in"],
                "left": [4, 3, 2, 1, 0, 31, 30, 5],
                "right": [5, 4, 3, 2, 1, 60, 31, 6],
            }
        },
        "lanes_range": {"start": 0, "end": 530},
        "chosen_lanes": {"data": {"lane": [], "left": [], "right": []}},
        "rects": {"data": {"tensor": ["x"] * 13, **{side: [0] * 13 for side in sides}}},
        "pieces": {"data": {"tensor": [], **{side: [] for side in sides}}},
        "chosen_rects": {"data": {side: [] for side in sides}},
    }
    marks = "({ names: new Set(['a']), rectangles: new Set(['x']), groups: [], runs: [] })"
    found = script.evaluate(
        f"(view) => {{ outline(view, null, {marks}); return view; }}",
        view,
    )
    chosen = found["chosen_lanes"]["data"]
    assert chosen["lane"] == ["DMA in", "compute", "compute", "compute"]
    assert chosen["left"] == [5, 0, 30, 31]
    assert chosen["right"] == [6, 5, 31, 60]
    assert set(found["chosen_rects"]["data"]["alpha"]) == {0.35}
    view["pieces"] = {"data": {"tensor": ["x"], **{side: [7] for side in sides}}}
    found = script.evaluate(f"(view) => {{ outline(view, null, {marks}); return view; }}", view)
    assert found["chosen_rects"]["data"]["left"] == [7], "its pieces are drawn merged with others"
    assert found["chosen_rects"]["data"]["width"] == [2.5]
