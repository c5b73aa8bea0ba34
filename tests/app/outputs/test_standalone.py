"""A plan as one HTML file: complete, safe, small, and a plan again where it is loaded."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.io.doc import _PATCHED_CURDOCS, curdoc, patch_curdoc
from bokeh.model.util import collect_models

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.model.state import Look
from app.outputs.site.reasons import reasons
from app.outputs.standalone import PageLook, page_html, seen_of, write_html
from app.outputs.standalone.contents import contents
from app.outputs.standalone.figures import Figures
from app.outputs.standalone.page import script_json
from app.outputs.standalone.theme_colours import recolouring
from app.outputs.standalone.write import STEPS
from app.views.cursor.step_pages import steps_around
from app.widgets.frames import state
from app.widgets.palette import DARK, LIGHT
from planners.core.files import is_page, plan_text_in, write_text
from tests.app.networks import beginning
from tests.plans import plan_of

pytestmark = pytest.mark.usefixtures("drawing")

HOSTILE = '</script><img src=x onerror="window.hacked=1">\'&`${1}\\u2028'
PLANS: dict[str, dict[str, Any]] = {
    "cosma": {"budget": "MR"},
    "fusion": {"budget": 12 * 1024},
    "overlap": {"budget": "64KB", "machine": "stm32f411"},
    "streaming": {"budget": "4MiB"},
}


@cache
def seen(planner: str) -> PageLook:
    """A plan of a few operators, all of whose names would be HTML or a script."""
    name, last = ("mcunet_vww1", "add") if planner == "overlap" else ("squeezenet1_1", "cat_1")
    graph = renamed(beginning(name, last), HOSTILE)
    return seen_of(plan_of(graph, planner, **PLANS[planner]))


@cache
def page_of(planner: str) -> str:
    return page_html(seen(planner))


@pytest.fixture
def page(planner: str) -> str:
    """The page of that planner's plan, made once."""
    return page_of(planner)


def told(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="spillway-data">(.*?)</script>', page)
    assert found is not None
    return dict(json.loads(found[1]))


def renamed(graph: sp.Graph, words: str) -> sp.Graph:
    """The graph with other names of itself, of its tensors and of operators that no kind is."""
    data = json.loads(json.dumps(graph.to_json()))
    data["name"] = words
    text = json.dumps(data)
    for name in {*graph.tensors, *graph.index} - {op.kind for op in graph.operators}:
        text = text.replace(json.dumps(name), json.dumps(f"{words}{name}"))
    return sp.Graph.from_json(json.loads(text))


@pytest.mark.parametrize("planner", PLANS)
def test_a_page_has_every_view_of_a_plan_and_asks_for_nothing(planner: str, page: str) -> None:
    shown = seen(planner).shown
    assert len(page.encode()) < 10_000_000
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert "default-src 'none'" in page
    own = {"overlap": {"ring", "bars", "ram"}}.get(planner, set())
    places = set(re.findall(r'<div class="plot (\w+)">', page))
    assert places == {"dag", "map", "occupancy", "timeline"} | own
    data = told(page)
    assert data["steps"] == shown.steps == len(data["story"]) == len(data["live"])
    assert all(data["story"])
    for step in (0, shown.steps // 2, shown.steps - 1):
        sizes = [data["book"][number]["cells"][0] for number, _ in data["live"][step]]
        assert bool(sizes) == bool(shown.live(step))
    for operator in shown.graph.operators:
        assert f"operator:{operator.name}" in data["details"]
    assert len(data["together"]) == {
        "fusion": len(shown.groups),
        "overlap": len(shown.pool.runs) if shown.pool else 0,
    }.get(planner, 0)


@pytest.mark.parametrize("planner", PLANS)
def test_a_page_is_loaded_like_its_plan(planner: str, page: str, tmp_path: Path) -> None:
    plan = sp.Plan.from_json(json.loads(seen(planner).shown.text))
    write_text(tmp_path / "plan.html", page)
    again = sp.Plan.load(tmp_path / "plan.html")
    assert again.to_json() == plan.to_json()
    assert sp.check(again).peak_bytes == plan.claims.peak_bytes


def test_a_page_is_written_with_its_theme(tmp_path: Path) -> None:
    plan = sp.Plan.from_json(json.loads(seen("cosma").shown.text))
    size = write_html(plan, tmp_path / "plan.html", theme="dark")
    assert size == (tmp_path / "plan.html").stat().st_size
    assert told((tmp_path / "plan.html").read_text(encoding="utf-8"))["theme"] == "dark"
    assert sp.Plan.load(tmp_path / "plan.html").to_json() == plan.to_json()


def test_the_wrong_theme_is_said_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.outputs.standalone.write.page_html", lambda *_: "a page")
    plan = sp.Plan.from_json(json.loads(seen("cosma").shown.text))
    with pytest.raises(sp.BadInput, match="not a theme; they are auto, light, dark"):
        write_html(plan, tmp_path / "x.html", theme="blue")  # type: ignore[arg-type]
    with pytest.raises(sp.BadInput, match="cannot write"):
        write_html(plan, tmp_path / "no" / "x.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("planner", PLANS)
@pytest.mark.usefixtures("planner")
def test_no_name_becomes_html(page: str) -> None:
    assert "<img" not in page
    data = told(page)
    assert any(HOSTILE in name for name in data["graph"]["tensors"])
    tags = re.findall(r"<script[^>]*>", page)
    assert len(tags) == 5
    assert page.count("</script>") == 5
    # What the figures hold is text for a parser of their own: no sign of HTML is left in it.
    figures = page[page.index("const docs_json") : page.index("const render_items")]
    assert "<" not in figures.replace("const docs_json", "")


def test_a_page_is_written_after_a_session_that_ended_in_an_error() -> None:
    """Bokeh's current document is that session's from then on."""
    document = Document()
    with suppress(ZeroDivisionError), patch_curdoc(document):
        raise ZeroDivisionError
    document.callbacks.destroy()
    try:
        assert curdoc() is document
        assert page_html(seen("cosma"))
    finally:
        _PATCHED_CURDOCS.clear()


def test_json_in_a_script_reads_back() -> None:
    text = script_json({HOSTILE: ["\u2028 <!-- & ]]>"]})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {HOSTILE: ["\u2028 <!-- & ]]>"]}


def test_both_themes_hold_the_same_and_differ_in_colours_alone() -> None:
    light, dark = Figures(LIGHT), Figures(DARK)
    colours = recolouring(light)
    plots = [view.figure for view in (light.map, light.dag, light.ring)]
    models = {model.id: model for model in collect_models(*plots)}
    changed = {name for id, names in colours.items() if id in models for name in names}
    assert {"text_color", "line_color", "background_fill_color", "fill_color"} <= changed
    for pair in (pair for names in colours.values() for pair in names.values()):
        assert pair[0] != pair[1]
    assert len(recolouring(dark)) == len(colours)
    assert colours[light.map.figure.id]["background_fill_color"] == [LIGHT.panel, DARK.panel]


def test_of_long_programs_the_steps_around_the_cursor_are_told() -> None:
    assert steps_around(10, 3, 20) == range(10)
    assert steps_around(1000, 500, 100) == range(450, 550)
    assert steps_around(1000, 999, 100) == range(900, 1000)
    assert steps_around(1000, 3, 100) == range(100)


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.outputs.standalone.write.STEPS", (6,))
    monkeypatch.setattr("app.outputs.standalone.contents.MOST_DETAILS", 10)
    monkeypatch.setattr("app.outputs.standalone.write.MOST_PLAN_BYTES", 10)
    page = page_html(seen("cosma"))
    steps = seen("cosma").shown.steps
    assert re.search(rf"Sentences and tables cover steps \d+ – \d+ of {steps}", page)
    assert "Details cover 11 of" in page
    assert "The plan&#x27;s own JSON, which is too large" in page
    assert len(told(page)["story"]) == 6
    with pytest.raises(sp.BadInput, match="carries no plan"):
        plan_text_in(page)


def test_progress_rises_to_the_end() -> None:
    heard: list[tuple[str, float]] = []
    page_html(seen("streaming"), lambda stage, share: heard.append((stage, share)))
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {stage for stage, _ in heard} == {
        "drawing",
        "describing every step",
        "writing the page",
        "done",
    }


def test_pages_without_a_plan_are_refused_in_a_line() -> None:
    assert [is_page(text) for text in ("<!DOCTYPE html>\n<html>", "\ufeff<html>", "{}")] == [
        1,
        1,
        0,
    ]
    whole = page_of("cosma")
    start = whole.index('id="spillway-plan">') + len('id="spillway-plan">')
    for change, match in (
        (whole[:start] + "AAAA" + whole[start:], "cannot be unpacked"),
        (whole[: start + 400] + whole[whole.index("</script>", start) :], "cut off"),
        ("<!doctype html><p>hello</p>", "carries no plan"),
    ):
        with pytest.raises(sp.BadInput, match=match):
            plan_text_in(change)
    with pytest.raises(sp.BadInput, match="more than 1000 bytes"):
        plan_text_in(whole, most_bytes=1000)


def test_the_graph_is_left_as_the_first_of_its_scenes_has_it() -> None:
    """A page opens with its figures as they are, however many scenes were shot of them."""
    shown, look, figures = seen("cosma").shown, Look(expanded=[]), Figures(LIGHT)
    figures.show(shown, look, [], {}, {})
    data, _ = contents(shown, look, figures, {}, STEPS[0], lambda _share: None)
    film = data["films"]["scene"]
    first, last = ([film["states"][i][n] for i, n in enumerate(frame)] for frame in film["frames"])
    graph = figures.dag
    for model in (graph.x_range, graph.y_range):
        at = film["models"].index(model.id)
        assert state(model) == first[at] != last[at]


def test_the_first_plan_opens_where_the_explorer_opens_it(shown: DisplayedPlan) -> None:
    data = told(page_html(seen_of(shown.plan)))
    assert data["step"] == shown.opening_step
    assert data["first"] == 0
    assert data["theme"] == "auto"


def test_hovers_of_groups_say_what_they_would_move_apart() -> None:
    """On map and timeline and in the graph: what is known of other ways comes with the page."""
    look = seen("fusion")
    assert any(len(group.operators) > 1 for group in look.shown.groups)
    apart = re.compile(r"u00b7 apart [\d.]+ (?:[KM]iB|B)")
    assert not apart.findall(page_of("fusion"))
    assert len(apart.findall(page_html(replace(look, **reasons(look.shown))))) >= 3
