"""Views build from a plan without a browser, and show what the plan says."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import panel as pn
import pytest

from app.display.displayed_plan import DisplayedPlan, show
from app.explorer import Explorer
from app.kinds.map_rows import MapRows
from app.kinds.timeline_bars import interval_columns, stall_columns
from app.model.glossary import plain
from app.model.state import COLOURS, tensor_selection
from app.page import press, template
from app.session.session import Session
from app.views.dag.scene import find_operators, numbers_text, scene
from app.views.dag.view import READABLE
from app.views.memory.map_columns import CODED, LOOKS, SIDES, map_columns
from app.views.timing.timeline import narrow
from app.widgets.glyphs import GlyphLayer
from app.widgets.palette import DARK, LIGHT, sequential
from planners.core.colours import contrast
from planners.core.units import format_bytes
from tests.plans import plan_of


def test_the_page_is_made_for_a_visitor() -> None:
    page = template()
    assert isinstance(page, pn.template.FastListTemplate)
    assert page.sidebar
    assert page.main


def test_all_views_have_the_plan(explorer: Explorer) -> None:
    shown = explorer.session.work.shown
    assert len(explorer.map.source.data["tensor"]) >= len(shown.graph.operators)
    assert len(explorer.occupancy.source.data["top"]) == shown.steps
    lanes = [*explorer.timeline.source.data["lane"]]
    assert len(lanes) - lanes.count("bound by") == len(shown.trace.intervals)
    assert explorer.dag.nodes.data["title"]
    assert explorer.pareto.points.data["x"]
    assert "proven optimal" in plain(explorer.cards.object)


def test_rectangles_are_numbers_and_each_word_is_there_once(fused: DisplayedPlan) -> None:
    rows = MapRows(fused, fused.memories[0]).rows(0, fused.steps)
    columns, words = map_columns(rows)
    assert len(set(words["text"])) == len(words["text"]) < len(rows) / 4
    for name in CODED:
        assert [words["text"][code] for code in columns[name]] == [row[name] for row in rows]
    for side in SIDES:
        assert columns[side].dtype.itemsize <= 4
        assert columns[side].tolist() == [row[side] for row in rows]
    looks = [LOOKS[look] for look in columns["look"]]
    assert looks == [(row["colour"], row["hatch"]) for row in rows]
    halves = [{**rows[0], "left": 1.5, "top": 2**40}]
    assert map_columns(halves)[0]["left"].tolist() == [1.5]
    assert map_columns(halves)[0]["top"].tolist() == [2**40]
    assert map_columns([])[1] == {"text": []}


def test_a_block_opens_in_place_and_closes(explorer: Explorer) -> None:
    data = explorer.dag.nodes.data
    before = len(data["title"])
    block = next(n for n, is_block in zip(data["title"], data["is_block"]) if is_block)
    explorer.cursor._hear({"open": block})
    assert len(explorer.dag.nodes.data["title"]) > before
    explorer.cursor._hear({"close": block})
    assert len(explorer.dag.nodes.data["title"]) == before
    explorer.cursor._hear({"open": "no such block"})
    assert len(explorer.dag.nodes.data["title"]) == before


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_has_words_beside_it(shown: DisplayedPlan, colour: str) -> None:
    drawn = scene(shown, shown.tree.comfortable(), colour)
    assert all(drawn.nodes["second"])
    assert len(drawn.legend) >= (1 if colour == "difference" else 2)


def test_the_dearest_stands_out_in_both_themes_and_nothing_is_told_once() -> None:
    assert contrast(sequential(3, 3, LIGHT), LIGHT.panel) > 10
    assert contrast(sequential(3, 3, DARK), DARK.panel) > 10
    free = show(json.dumps(plan_of("squeezenet1_1", budget="MP").to_json()))
    assert scene(free, (), "spill traffic").legend == [("no spill traffic", LIGHT.grid)]


def test_lines_between_what_is_drawn_come_back_where_one_zooms_in(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(layer: GlyphLayer, name: str) -> Any:
        return getattr(layer.renderer.glyph, name) if layer.renderer else layer._look[name]

    monkeypatch.setattr("app.views.timing.timeline.ACROSS", 10)
    monkeypatch.setattr("app.views.memory.address_map.FINE", 20)
    bars, rects = explorer.timeline, explorer.map.rects
    explorer.session.work.param.trigger("shown")
    assert {look(layer, "line_color") for layer in bars.layers} == {"colour"}
    assert {look(rect, "line_alpha") for rect in rects} == {0.5}
    bars.x_range.update(start=0.0, end=bars.x_range.end / 1e5)
    explorer.steps.update(start=0, end=2)
    assert {look(layer, "line_color") for layer in bars.layers} == {LIGHT.panel}
    assert {look(rect, "line_alpha") for rect in rects} == {1.0}


def test_a_column_has_numbers_as_ranges() -> None:
    assert numbers_text([7, 0, 2, 1]) == "0-2 7"
    assert numbers_text([]) == ""


def test_search_looks_at_names_kinds_and_blocks(shown: DisplayedPlan) -> None:
    assert find_operators(shown, "LAYER_NORM")
    assert find_operators(shown, "encoder_layer_3")
    assert find_operators(shown, "") == find_operators(shown, "no such thing") == []


def test_bars_are_narrow_where_most_are() -> None:
    bars = [(0, 9), (10, 11), (20, 21)]
    assert narrow(bars, 2)
    assert not narrow(bars, 1)
    assert not narrow([], 1)


def test_waits_end_where_what_waited_begins(shown: DisplayedPlan) -> None:
    starts = set(interval_columns(shown.names, shown.trace.intervals)["left"])
    stalls = stall_columns(shown.names, shown.trace.intervals)
    assert stalls["right"]
    assert set(stalls["right"]) <= starts
    assert all("waited" in cause for cause in stalls["cause"])


def test_serial_takes_at_least_as_long(explorer: Explorer) -> None:
    shown = explorer.session.work.shown
    assert shown.serial_trace.makespan_s >= shown.trace.makespan_s
    explorer.session.look.serial = True
    assert "one after the other" in explorer.lanes_title.object


def test_keys_do_what_the_help_says(explorer: Explorer) -> None:
    session, helped = explorer.session, []
    last = session.work.shown.steps - 1
    for key, step in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("End", last)):
        press(session, key, helped.append)
        assert session.look.step == step
    press(session, "[", helped.append)
    assert session.look.step in session.work.shown.peaks
    press(session, "?", lambda: helped.append(True))
    assert helped == [True]


def test_a_page_that_is_gone_leaves_nothing_behind() -> None:
    session = Session(None)
    made = Explorer(session, LIGHT)
    session.open({}, {})
    left = weakref.ref(session)
    del session, made
    gc.collect()
    assert left() is None


def test_a_selected_tensor_has_its_life_told(explorer: Explorer) -> None:
    spill = next(r for r in explorer.session.work.shown.report.residencies if r.ending == "spill")
    explorer.session.look.selection = tensor_selection(spill.tensor)
    told = [row["text"] for row in explorer.corner.views["details"].rows]
    assert any(text.startswith("made by") for text in told)
    assert any("came back" in text for text in told)
    assert any("leaves" in text for text in told)
    writer = next(
        row["key"]
        for row in explorer.corner.views["details"].rows
        if row["text"].startswith("made")
    )
    explorer._choose(writer)
    assert any(row["text"].startswith("writes") for row in explorer.corner.views["details"].rows)


def test_the_graph_stays_where_one_looks_until_another_plan_comes(explorer: Explorer) -> None:
    session, seen = explorer.session, explorer.dag.x_range
    session.look.expanded = sorted(session.work.shown.tree.everything())
    session.look.step = 0
    end = seen.reset_end
    assert end > 2 * READABLE
    seen.update(start=end - READABLE, end=end)
    session.look.expanded = session.look.expanded[:-1]
    session.look.colour = "time"
    assert seen.end == end
    session.show(session.work.shown)
    session.work.param.trigger("shown")
    assert seen.start < 0 < seen.end == READABLE - 0.4
    assert seen.end - seen.start == pytest.approx(READABLE + 0.2)


def test_the_words_of_a_peak_stand_above_a_limit_that_would_run_through_them(
    explorer: Explorer,
) -> None:
    held, graph = explorer.occupancy, explorer.session.work.shown.graph
    for budget, above in (("800KiB", True), ("64MiB", False)):
        shown = show(json.dumps(plan_of(graph, "cosma", budget).to_json()))
        explorer.session.show(shown)
        assert (
            shown.report.peak_bytes < held.limit.location < 1.2 * shown.report.peak_bytes
        ) is above
        assert held.peak.y == (held.limit.location if above else shown.report.peak_bytes)


def test_axes_fit_what_is_used_and_say_how_far_above_the_budget_is(explorer: Explorer) -> None:
    session, views = explorer.session, (explorer.map, explorer.occupancy)
    small, graph = session.work.shown, session.work.shown.graph
    roomy = show(json.dumps(plan_of(graph, "cosma", "64MiB").to_json()))
    used = (roomy.report.extent_bytes, roomy.report.peak_bytes)
    assert 2 * max(used) < 2**26
    assert not any(view.far.words.visible for view in views)
    session.show(roomy)
    for view, size in zip(views, used, strict=True):
        assert size < view.y_range.end == view.y_range.reset_end < 2 * size
        assert view.far.words.visible == view.far.waves.visible
        assert format_bytes(2**26 - size) in view.far.words.text
    session.pins.keep(small, {})
    assert all(view.far.words.visible for view in views)
    session.look.split = True
    memory, held, _ = explorer.split.views
    assert not memory.far.words.visible  # its own budget is on the axis
    assert not held.far.words.visible
    session.show(small)
    session.pins.keep(roomy, {})
    assert not any(view.far.words.visible for view in views)
    assert all(view.far.words.visible for view in explorer.split.views[:2])


def test_a_graph_that_cannot_be_read_at_once_has_an_overview(explorer: Explorer) -> None:
    session, small = explorer.session, explorer.dag.overview
    session.look.expanded = []
    assert not explorer.overview.visible
    session.look.expanded = sorted(session.work.shown.tree.everything())
    assert explorer.overview.visible
    assert explorer.dag.x_range.end < small.x_range.end == explorer.dag.x_range.reset_end
    xs = explorer.dag.nodes.data["x"]
    assert small.x_range.start < min(xs) < max(xs) < small.x_range.end
    assert {renderer.data_source for renderer in small.figure.renderers} == {
        explorer.dag.nodes,
        explorer.dag.chosen,
    }
