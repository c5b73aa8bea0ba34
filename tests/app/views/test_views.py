"""Views build from a plan without a browser, and show what the plan says."""

from __future__ import annotations

import gc
import json
import re
import weakref
from itertools import pairwise
from random import Random
from typing import Any

import panel as pn
import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.explorer import Explorer
from app.kinds.map_rows import MapRows
from app.kinds.registry import step_story
from app.kinds.timeline_bars import interval_columns, stall_columns
from app.model.glossary import plain
from app.model.option_keys import offered, type_of
from app.model.options import OBJECTIVE
from app.model.state import COLOURS, operator_selection, tensor_selection
from app.model.units import joules_text, seconds_text
from app.page import press, template
from app.session.session import Session
from app.views.cursor.client import AT_ONCE, LATER
from app.views.cursor.step_pages import from_bytes
from app.views.dag.scene import find_operators, numbers_text, scene
from app.views.dag.view import READABLE
from app.views.memory.map_columns import CODED, LOOKS, SIDES, map_columns
from app.views.panels.cards import badge, cards_html
from app.views.panels.controls import Controls
from app.views.panels.solver import (
    gap_of,
    measure,
    progress_text,
    solver_html,
    solver_svg,
    spark_svg,
    stages,
)
from app.views.panels.status import status_html
from app.views.timing.timeline import narrow
from app.widgets.budget_field import WORDS_OF, place_of, slider_sizes, ticks_html
from app.widgets.glyphs import GlyphLayer
from app.widgets.palette import DARK, LIGHT, sequential
from planners.core.colours import contrast, family_of, ink_on
from planners.core.units import format_bytes
from tests.plans import plan_of


@pytest.fixture
def explorer() -> Explorer:
    session = Session(None)
    made = Explorer(session, LIGHT)
    session.open({}, {})
    return made


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


def pages_of(explorer: Explorer) -> dict[str, Any]:
    """What the browser has of the steps around the cursor."""
    return from_bytes(explorer.cursor.client.pages)


def test_the_browser_has_what_the_steps_around_the_cursor_need(explorer: Explorer) -> None:
    shown, client = explorer.session.work.shown, explorer.cursor.client
    pages, step = pages_of(explorer), explorer.session.look.step
    assert (pages["step"], pages["steps"]) == (client.step, shown.steps) == (step, shown.steps)
    assert pages["peaks"] == list(shown.peaks)
    assert len(pages["title"]) == len(pages["story"]) == len(pages["film"]["frames"]) == AT_ONCE
    for at in range(pages["first"], pages["first"] + AT_ONCE):
        k = at - pages["first"]
        told = [pages["book"][number]["text"] for number in pages["story"][k]]
        assert told == [sentence.text for sentence in step_story(shown, at)]
        live = [pages["book"][number]["key"] for number, _ in pages["live"][k]]
        assert sorted(live) == sorted(f"tensor:{stay.tensor}" for stay in shown.live(at))
    explorer.cursor._hear({"pages": step})
    assert len(pages_of(explorer)["title"]) == min(LATER, shown.steps)
    assert len(client.pages) < 16 * 1024


def test_the_browser_moves_by_itself_and_says_so_later(explorer: Explorer) -> None:
    client, session = explorer.cursor.client, explorer.session
    pages, step = client.pages, session.look.step
    explorer.cursor._hear({"step": step + 3})
    assert session.look.step == client.step == step + 3
    assert client.pages == pages
    session.cursor.step_by(1)  # by something that the server decides
    assert client.step == step + 4
    explorer.cursor._hear({"step": 10**6})
    assert session.look.step == session.work.shown.steps - 1
    explorer.cursor._hear({"key": "["})
    assert session.look.step == session.work.shown.peaks[-1]
    session.look.unit = "hex"
    assert any("0x" in cell for row in pages_of(explorer)["book"] for cell in row.get("cells", ()))


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


def test_another_plan_is_another_cursor(explorer: Explorer, fused: DisplayedPlan) -> None:
    before = pages_of(explorer)
    explorer.session.show(fused)
    pages = pages_of(explorer)
    assert pages["plan"] != before["plan"]
    assert pages["step"] == fused.opening_step
    assert explorer.stepper.slider.end == fused.steps - 1
    assert not any(model.syncable for model in (explorer.stepper.slider, explorer.dag.ring))


def test_the_browser_selects_by_itself_and_says_so_later(explorer: Explorer) -> None:
    cursor, look = explorer.cursor, explorer.session.look
    client, tensor = cursor.client, next(iter(explorer.session.work.shown.graph.tensors))
    look.panel = "solver"
    said = {"selection": tensor_selection(tensor), "plan": cursor.plan, "said": 1}
    cursor._hear(said)
    assert (look.selection, look.panel, client.heard) == (tensor_selection(tensor), "solver", 1)
    cursor._hear({**said, "selection": "", "step": 3, "tapped": True, "said": 2})
    assert (look.selection, look.step, look.panel, client.heard) == ("", 3, "details", 2)
    cursor._hear({**said, "plan": cursor.plan - 1, "said": 3})  # another plan is on screen by now
    assert (client.selected, client.heard) == ("", 3)
    look.selection = tensor_selection(tensor)  # by something that the server decides
    assert client.selected == look.selection


def test_the_browser_has_what_belongs_together_once_it_asks(explorer: Explorer) -> None:
    cursor, graph = explorer.cursor, explorer.session.work.shown.graph
    assert cursor.client.tables == b""
    cursor._hear({"tables": cursor.plan})
    tables = from_bytes(cursor.client.tables)
    assert tables["plan"] == cursor.plan
    assert tables["graph"]["operators"] == [op.name for op in graph.operators]
    assert tables["together"] == tables["waits"] == []
    assert len(cursor.client.tables) < 4 * 1024


def test_a_tap_is_for_the_wish_that_waits(explorer: Explorer) -> None:
    session, client = explorer.session, explorer.cursor.client
    wishes: list[str] = []
    session.what_if.add = wishes.append  # type: ignore[method-assign]
    first, second = (op.name for op in session.work.shown.graph.operators[:2])
    assert not client.picking
    session.what_if.act(f"pick before {first}")
    assert client.picking
    explorer.cursor._hear({"tap": operator_selection(first)})
    assert "same operator" in session.work.notice
    explorer.cursor._hear({"tap": operator_selection(second)})
    assert not client.picking
    assert wishes == [f"{first} before {second}"]
    assert session.look.selection == operator_selection(first)
    explorer.cursor._hear({"tap": operator_selection(second)})  # none waits any more
    assert session.look.selection == operator_selection(second)


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


def test_typed_sizes_are_read_exactly_or_refused_exactly() -> None:
    session = Session(None)
    controls = Controls(session)
    asked: list[dict[str, str]] = []
    session.change = lambda **fields: asked.append(fields)  # type: ignore[method-assign]
    controls.budget.typed.value = "256 elephants"
    assert "&#x27;256 elephants&#x27; is not a size" in controls.budget.wrong.object
    assert asked == []
    controls.budget.typed.value = "256KiB"
    assert asked == [{"budget": "256 KiB"}]
    assert controls.budget.wrong.object == ""


def test_what_is_not_known_is_said_beside_the_model(explorer: Explorer) -> None:
    session = explorer.session
    controls = Controls(session)
    assert not controls.caveats.visible
    plan = plan_of("quantized_resnet18", budget="MP")
    float_model = show(json.dumps(plan.to_json()))
    fields = session.work.shown_for | {"model": session.problem.model}
    session.work.param.update(shown=float_model, shown_for=fields)
    assert controls.caveats.visible
    assert "the float model that is quantised" in controls.caveats.object
    session.work.param.update(shown_for=fields | {"model": "another"})
    assert not controls.caveats.visible


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


def test_a_figure_is_words_and_numbers(shown: DisplayedPlan) -> None:
    assert badge(shown)[1] == "proven optimal"
    assert "spill traffic" in cards_html(shown)
    assert seconds_text(0.00123) == "1.23 ms"
    assert joules_text(4.5e-6) == "4.5 µJ"
    text = progress_text({"stage": "<x>", "incumbent_bytes": 100, "bound_bytes": 50})
    assert "gap 50.0%" in text
    assert "<x>" not in text
    assert family_of("max_pool2d")[0] == "pooling"
    assert ink_on("#F0E442") != ink_on("#0072B2")
    assert DARK.panel != LIGHT.panel


def test_named_budgets_wait_for_the_network_that_is_chosen() -> None:
    session = Session(None)
    session.open({}, {})
    field = Controls(session).budget
    mr, mp = field.named["MR"], field.named["MP"]
    known = mr.label
    assert [widget.visible for widget in field.named.values()] == [True, True, True]
    session.problem.model = "resnet18"
    assert mr.label == "largest operator (MR)\n…"
    session.problem.model = session.work.shown_for["model"]
    assert mr.label == known
    known_sizes = session.work.budgets
    session.work.budgets = {**known_sizes, **dict.fromkeys(("MR", "MH", "MP"), known_sizes["MR"])}
    assert [widget.visible for widget in field.named.values()] == [False, False, True]
    assert mp.label == "all stays (MR = MH = MP)\n738.8 KiB"


def test_a_size_that_cannot_be_is_said_to_be_wrong_and_nothing_else() -> None:
    session = Session(None)
    session.open({}, {})
    field = Controls(session).budget
    for text, told in (
        ("99999999 GiB", "1024 GiB is the largest possible size"),
        ("half", "half"),
    ):
        session.work.infeasible = {"need_bytes": 2, "have_bytes": 1, "wishes": True}
        field.typed.value = text
        assert told in field.wrong.object
        assert session.work.infeasible == {}
        assert session.problem.budget == "MR"


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


def test_while_planning_the_page_says_that_what_is_below_is_of_the_former_choice() -> None:
    session = Session(None)
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    assert "fused operators" in plain(status_html(session))
    assert "former" not in explorer.cards.object
    session.work.planning = True
    session.problem.model = "timm:<x>"
    assert "still vit_b_16" in status_html(session)
    assert "Planning timm:&lt;x&gt;, MR" in status_html(session)
    assert "former" in explorer.cards.object
    session.back()
    assert "former" not in explorer.cards.object
    session.problem.machine = "stm32f411"
    assert "still vit_b_16, MR, on “A small NPU, for teaching”" in status_html(session)
    session.back()
    session.problem.planner = "fusion"
    assert "still vit_b_16, MR, by cosma<" in status_html(session)


def test_a_sentence_keeps_the_budgets_of_the_network_that_is_drawn() -> None:
    session = Session(None)
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    assert "From 886.5 KiB on nothing is spilled" in plain(explorer.cards.object)
    session.problem.model = "resnet18"
    others = dict.fromkeys(session.work.budgets, 12345)
    session.planning.take_budgets(others, {**session.work.shown_for, "model": "resnet18"})
    assert session.work.budgets == others
    assert "From 886.5 KiB on nothing is spilled" in plain(explorer.cards.object)


def test_an_import_names_what_it_brings_and_not_what_is_below() -> None:
    session = Session(None)
    session.open({}, {})
    session.work.planning = True
    session.work.progress = {"stage": "importing mine (uploaded)", "at_s": 1.0}
    assert "Planning" not in status_html(session)
    assert "importing mine (uploaded)" in status_html(session)


def test_bytes_of_a_search_are_named_as_what_they_count() -> None:
    """Of fusion and joined all traffic: what is proven least is the compulsory."""
    for planner in ("fusion", "joined"):
        assert measure({"planner": planner}) == "off-chip traffic"
    assert measure({"planner": "auto"}) == "what each planner minimises"
    assert measure({"planner": "cosma"}) == "spill traffic"
    assert measure({"planner": "cosma", "options": {OBJECTIVE: "peak"}}) == "peak memory"


def test_a_shape_that_is_none_is_refused_beside_its_field() -> None:
    session = Session(None)
    controls = Controls(session)
    asked: list[dict[str, str]] = []
    session.change = lambda **fields: asked.append(fields)  # type: ignore[method-assign]
    controls.shape.value = "1x3xbig"
    assert "is not an input shape" in controls.wrong_shape.object
    assert asked == []
    controls.shape.value = "2 x 3 x 96 x 96"
    assert asked == [{"input_shape": "2 x 3 x 96 x 96"}]
    assert controls.wrong_shape.object == ""


def test_every_value_of_an_option_can_be_chosen() -> None:
    for spec in (spec for name in sp.planners() for spec in type_of(name).own().values()):
        shown = offered(spec, spec.default)
        assert len(shown) == len({*shown.values()})
        if spec.kind == "choice" and len(spec.choices) < 10:
            assert set(shown.values()) == set(spec.choices)


def test_the_solver_is_drawn_as_it_was() -> None:
    history = [
        {"at_s": 0.0, "stage": "import", "best": None, "bound": None},
        {"at_s": 1.0, "stage": "solve", "best": 100, "bound": 20},
        {"at_s": 3.0, "stage": "solve", "best": 60, "bound": 50},
    ]
    drawn = solver_svg(history, 4.0, 300, 100)
    assert drawn.count("<polyline") == 2
    for words in ("100 B", "20 B", "0 s", "4 s", "gap 16.7%"):
        assert f">{words}</text>" in drawn
    assert drawn.count("<polygon") == 1
    assert spark_svg(history, 4.0, 90, 20).count("<polyline") == 2
    assert stages(history, 4.0) == [("import", 1.0), ("solve", 3.0)]
    told = solver_html(history, {"at_s": 4.0}, "peak memory")
    assert "peak memory" in told
    assert "proven bound 50 B" in plain(told)
    assert spark_svg(history[:1], 4.0, 100, 20) == ""
    often = [*history, *(dict(history[-1]) for _ in range(5000))]
    assert len(spark_svg(often, 4.0, 90, 20)) < 600, "what cannot be seen is not sent"
    assert "No plan and no bound yet" in solver_html(history[:1], {"at_s": 0.5}, "spill traffic")


def test_a_gap_that_is_closed_is_no_gap() -> None:
    moment = {"at_s": 1.0, "stage": "solve", "best": 50, "bound": 50}
    assert ">no gap</text>" in solver_svg([moment], 2.0, 300, 100)
    assert gap_of(0, 0) == 0.0
    assert gap_of(10, None) is None
    alone = solver_svg([{**moment, "bound": None}], 2.0, 300, 100)
    assert "gap" not in alone.replace("-gap", "")
    assert alone.count("<polyline") == 1


def test_named_budgets_are_ticks_where_they_are_on_the_slider() -> None:
    even = range(50, 251)
    apart = ticks_html({"MR": 100 * 1024, "MH": 150 * 1024, "MP": 200 * 1024}, even)
    assert [f"left:{at}%" in apart for at in (25.0, 50.0, 75.0)] == [True] * 3
    equal = dict.fromkeys(("MR", "MH", "MP"), 10240)
    assert "MR·MH·MP" in ticks_html(equal, range(8, 13))
    assert ">all stays<" in ticks_html(equal, range(8, 13), WORDS_OF)
    assert "span" not in ticks_html({}, [1, 2])


def test_ticks_have_the_words_of_the_buttons_and_long_words_share_a_mark() -> None:
    even, close = range(50, 251), {"MR": 100 * 1024, "MP": 120 * 1024}
    assert ticks_html(close, even).count("<span") == 2
    together = ticks_html(close, even, WORDS_OF)
    assert together.count("<span") == 1
    assert "largest operator·all stays" in together


TICK = re.compile(r'<span class="(\w*)" style="left:([\d.]+)%">([^<]+)</span>')


def test_no_two_words_of_ticks_lie_over_one_another() -> None:
    rng, letter = Random(5), 1.9
    for _ in range(500):
        sizes = sorted(rng.sample(range(8, 4096), 40))
        budgets = {
            name: 1024 * rng.choice(sizes[: rng.choice((1, 4, 40))])
            for name in ("least", "MR", "MH", "MP")
        }
        right = 0.0
        for edge, left, words in TICK.findall(ticks_html(budgets, sizes, WORDS_OF)):
            wide = letter * len(words)
            begin = float(left) - {"first": 0.0, "last": wide}.get(edge, wide / 2)
            assert right <= begin + 0.2, budgets
            right = begin + wide
        assert right <= 100.2, budgets


def test_the_slider_begins_at_the_least_plan_where_that_is_known() -> None:
    budgets = {"MR": 100 * 1024, "default_peak": 200 * 1024}
    whole = slider_sizes(budgets, None)
    assert whole == list(range(80, 222))
    ratios = slider_sizes(budgets, 9 * 1024 + 1)
    assert (ratios[0], ratios[-1]) == (10, 221)
    assert ratios == sorted(set(ratios))
    steps = [b / a for a, b in pairwise(ratios) if a > 100]
    assert max(steps) < 1.1 * min(steps)
    for sizes in (whole, ratios):
        assert [place_of(1024 * size, sizes) for size in sizes] == list(range(len(sizes)))
        assert place_of(0, sizes) == 0
        assert place_of(2**40, sizes) == len(sizes) - 1
