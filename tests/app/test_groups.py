"""Plans of fused groups on the page: regions, bands, bundles, stories and tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise

import pytest

import planners as sp
from app.explorer import Explorer
from app.glossary import plain
from app.groups import chosen_groups, part_words, range_words
from app.live import group_of
from app.page import press
from app.session import Session
from app.shown import Shown, show
from app.state import group_selection, operator_selection, tensor_selection
from app.story import step_story
from app.views.bars_of_time import Bars, runs
from app.views.cards import cards_html, preview_html
from app.views.dag_groups import group_words
from app.views.dag_scene import scene
from app.views.group_bands import second_places, step_places
from app.views.map_rows import REFILLED, MapRows
from app.views.palette import GROUPS, LIGHT, group_colour
from app.views.tables import MOST_LIVE, detail_rows, live_rows
from app.wire import from_wire, to_wire
from planners.program import Compute, Load

BUDGET = 128 * 1024


@pytest.fixture(scope="module")
def fused() -> Shown:
    """SqueezeNet in fused groups of many tiles."""
    plan = sp.plan(sp.load("squeezenet1_0"), "fusion", BUDGET)
    return show(json.dumps(plan.to_json()))


@pytest.fixture(scope="module")
def drawn(fused: Shown) -> Shown:
    """The same as it comes out of a worker."""
    return from_wire(json.loads(json.dumps(to_wire(fused))))


def test_what_is_sent_says_the_same(fused: Shown, drawn: Shown) -> None:
    assert drawn.text == fused.text
    assert drawn.groups == fused.groups
    assert drawn.report.residencies == fused.report.residencies
    assert drawn.trace == fused.trace
    assert len(drawn.instructions) == len(fused.instructions)
    assert drawn.reads == fused.reads
    for here, there in zip(drawn.instructions, fused.instructions, strict=True):
        if isinstance(there, Compute):
            assert isinstance(here, Compute)
            assert len(here.reads) == len({o.piece.tensor for o in there.reads})
            size = sum(o.region.size_bytes for o in there.reads)
            assert sum(o.region.size_bytes for o in here.reads) == size
            assert (here.writes, here.step) == (there.writes, there.step)
    for step in range(0, drawn.steps, 7):
        assert step_story(drawn, step) == step_story(fused, step)


def test_one_after_the_other_needs_no_simulation(fused: Shown, shown: Shown) -> None:
    for each in (fused, shown):
        told, known = sp.simulate(each.plan, serial=True), each.serial_trace
        assert known.makespan_s == pytest.approx(told.makespan_s)
        assert known.busy_s == pytest.approx(told.busy_s)
        for here, there in zip(known.intervals, told.intervals, strict=True):
            assert here.start_s == pytest.approx(there.start_s)
            assert (here.instruction, here.stall_s) == (there.instruction, 0.0)


def test_each_operator_is_in_the_region_of_its_group(drawn: Shown) -> None:
    graph = drawn.graph
    made = scene(drawn, drawn.tree.everything(), "kind")
    places = {(x, y): n for x, y, n in zip(*(made.nodes[k] for k in ("x", "y", "title")))}
    assert len(places) == len(graph.operators)
    tabs = made.regions.tabs
    for left, y, number, colour in zip(tabs["x"], tabs["y"], tabs["group"], tabs["fill"]):
        name = next(n for (x, at), n in places.items() if x == left and 0 < at - y < 0.6)
        assert drawn.group_of[name] == number
        assert colour == group_colour(number)
    assert len(tabs["x"]) == len(made.regions.boxes["x"]) == len(graph.operators)
    told = {name for name in tabs["name"] if name}
    assert told == {group.name for group in drawn.groups}


def test_links_are_drawn_within_a_group_only(drawn: Shown) -> None:
    made = scene(drawn, drawn.tree.everything(), "kind")
    within = [
        drawn.group_of[drawn.graph.operators[a].name]
        for a, b in made.drawing.ends
        if drawn.group_of[drawn.graph.operators[a].name]
        == drawn.group_of[drawn.graph.operators[b].name]
    ]
    assert made.regions.links["colour"] == [group_colour(k) for k in within]
    assert 0 < len(within) < len(made.drawing.ends)


def test_a_closed_block_has_a_stripe_for_each_of_its_groups(drawn: Shown) -> None:
    made = scene(drawn, (), "kind")
    held = [
        {drawn.group_of[drawn.graph.operators[i].name] for i in node.members}
        for node in made.drawing.nodes
    ]
    assert len(made.regions.boxes["x"]) == sum(map(len, held))
    assert made.regions.tabs["name"][0] == group_words(sorted(held[0]))


def test_groups_in_a_word() -> None:
    assert [group_words(g) for g in ([], [4], [2, 3, 4], [2, 5, 6])] == [
        "",
        "g4",
        "g2–g4",
        "3 groups",
    ]


def test_plans_without_groups_have_no_regions(shown: Shown) -> None:
    made = scene(shown, shown.tree.comfortable(), "kind")
    assert not made.regions.boxes["x"]
    assert not made.regions.tabs["x"]
    assert set(made.nodes["group"]) == {""}


def test_bands_follow_each_other(drawn: Shown) -> None:
    steps = step_places(drawn)
    assert (steps[0][0], steps[-1][1]) == (0, drawn.steps)
    assert all(a[1] == b[0] for a, b in pairwise(steps))
    for serial in (False, True):
        seconds = second_places(drawn, serial)
        assert all(a < b for a, b in seconds)
        assert all(a[0] < b[0] for a, b in pairwise(seconds))


def test_neighbours_in_time_have_other_colours() -> None:
    assert len({group_colour(k) for k in range(len(GROUPS))}) == len(GROUPS)


def test_every_tile_tells_what_it_makes(drawn: Shown) -> None:
    for group in drawn.groups:
        for step in (group.start_step, group.stop_step - 1):
            story = step_story(drawn, step)
            number = step - group.start_step + 1
            assert story[0].text.startswith(f"Tile {number} of {group.tiles} of {group.name} makes")
            assert story[0].group == group.name
            ran = [sentence for sentence in story if sentence.mark == "ran"]
            assert [s.text.split()[0] for s in ran] == list(drawn.ran[step])


def test_a_tile_tells_of_all_that_came_in(drawn: Shown) -> None:
    for step in range(0, drawn.steps, 11):
        story = step_story(drawn, step)
        items = [drawn.instructions[p] for p in drawn.by_step[step]]
        maps = {
            item.piece.tensor
            for item in items
            if isinstance(item, Load) and drawn.graph.tensors[item.piece.tensor].kind != "parameter"
        }
        told = [s.tensor for s in story if s.mark == "in" and "came in: " in s.text]
        assert sorted(told) == sorted(maps)


def test_rows_are_counted_from_one() -> None:
    assert range_words("row", 0, 4) == "rows 1–4"
    assert range_words("row", 7, 8) == "row 8"
    assert part_words("row", (0, 4), 54) == "4 of 54 rows"
    assert part_words("row", (0, 54), 54) == "all 54 rows"


def test_bundles_hold_every_stay(drawn: Shown) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    bundles = rows.bundles
    assert len(bundles) < len(rows.stays) / 5
    for stay in rows.stays[::7]:
        left, right = drawn.columns(stay)
        for span in stay.spans:
            assert any(
                b["left"] <= left
                and right <= b["right"]
                and b["bottom"] <= span.start
                and span.stop <= b["top"]
                for b in bundles
            ), stay
    names = {b["tensor"] for b in bundles}
    assert names <= {*drawn.graph.tensors, REFILLED}


def test_a_window_holds_what_meets_it(drawn: Shown) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    inside = rows.rows(10, 12)
    assert rows.count(10, 12) <= len(inside)
    assert all(row["left"] < 12 and row["right"] > 10 for row in inside)
    assert rows.count(0, drawn.steps) == len(rows.stays)


def test_zooming_in_is_told_only_where_it_helps(
    drawn: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    assert rows.densest == max(rows.count(step, step + 1) for step in range(drawn.steps))
    monkeypatch.setattr("app.views.address_map.MOST", rows.densest - 1)
    assert "zoom in" not in open_explorer(drawn).map.note.text
    monkeypatch.setattr("app.views.address_map.MOST", rows.densest)
    assert "zoom in" in open_explorer(drawn).map.note.text


def test_the_largest_are_drawn_where_there_are_no_groups(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.map_rows.MOST", 5)
    rows = MapRows(shown, shown.memories[0])
    areas = {}
    for stay in rows.stays:
        left, right = shown.columns(stay)
        areas[stay.tensor] = max(areas.get(stay.tensor, 0), (right - left) * stay.size_bytes)
    largest = sorted(areas, key=lambda name: -areas[name])[:2]
    assert set(largest) <= {row["tensor"] for row in rows.bundles}


def test_bundled_bars_are_as_busy_as_what_they_hold(drawn: Shown) -> None:
    bars = Bars(drawn, drawn.trace)
    found, waits = bars.bundles(0.0, drawn.trace.makespan_s)
    counts = [int(m[1]) if (m := re.match(r"(\d+) ", w)) else 1 for w in found["what"]]
    assert sum(counts) == len(drawn.trace.intervals)
    assert len(found["left"]) < len(drawn.trace.intervals) / 3
    for name in set(found["lane"]):
        rows = zip(found["left"], found["right"], found["lane"])
        spans = [(left, right) for left, right, lane in rows if lane == name]
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert set(waits["lane"]) <= {"compute"}


def test_runs_end_where_there_is_room() -> None:
    spans = [(0.0, 1.0), (1.5, 2.0), (4.0, 5.0), (5.0, 6.0)]
    assert [list(run) for run in runs(spans, 1.0)] == [[0, 1], [2, 3]]
    assert list(runs([], 1.0)) == []


def test_the_map_goes_into_pieces_where_one_zooms_in(
    drawn: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.views.address_map.MOST", 400)
    monkeypatch.setattr("app.views.timeline.MOST", 400)
    explorer = open_explorer(drawn)
    view = explorer.map
    whole = len(view.source.data["left"])
    assert whole == len(MapRows(drawn, drawn.memories[0]).bundles)
    assert "zoom in" in view.note.text
    explorer.steps.update(start=20, end=23)
    assert not view.note.text
    assert all(
        a < 26 and b > 17 for a, b in zip(view.source.data["left"], view.source.data["right"])
    )
    explorer.steps.update(start=0, end=drawn.steps)
    assert len(view.source.data["left"]) == whole
    bars = explorer.timeline
    few = len(bars.source.data["left"])
    bars.x_range.update(start=0.0, end=drawn.trace.makespan_s / 60)
    assert "zoom in to see each" not in bars.source.data["cause"]
    assert few < len(drawn.trace.intervals)


def test_what_is_live_in_a_tile_fits(drawn: Shown) -> None:
    for step in range(0, drawn.steps, 5):
        held = sum(r.size_bytes for r in drawn.live(step))
        assert held == drawn.report.occupancy[step]


def test_many_pieces_are_a_row_a_tensor(drawn: Shown) -> None:
    step = max(range(drawn.steps), key=lambda s: len(drawn.live(s)))
    rows, live = live_rows(drawn, step, "", "KiB"), drawn.live(step)
    if len(live) > MOST_LIVE:
        assert len(rows) == len({r.tensor for r in live})
    shares = [row["share"] for row in rows]
    assert shares == sorted(shares, reverse=True)


def test_a_tensor_of_many_stays_has_the_first_listed(drawn: Shown) -> None:
    stays = Counter(stay.tensor for stay in drawn.report.residencies)
    (name, count), *_ = stays.most_common(1)
    rows = detail_rows(drawn, tensor_selection(name))
    listed = [row for row in rows if row["text"].startswith("steps ")]
    assert len(listed) == MOST_LIVE < count
    assert rows[-1]["text"] == f"and {count - MOST_LIVE} stays more"


def open_explorer(shown: Shown) -> Explorer:
    """An explorer without workers that has this plan on screen."""
    session = Session(None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    session.show(shown)
    return explorer


def test_a_group_is_selected_in_all_views(drawn: Shown) -> None:
    explorer = open_explorer(drawn)
    look, group = explorer.session.look, drawn.groups[2]
    explorer.dag.tabs.selected.indices = [explorer.dag.tabs.data["group"].index(2)]
    assert look.selection == group_selection(group.name)
    assert look.step == group.start_step
    assert explorer.map.groups.chosen.data["left"] == [group.start_step]
    assert len(explorer.timeline.groups.chosen.data["left"]) == 1
    assert len(explorer.dag.chosen.data["x"]) == len(group.operators)
    explorer.map.groups.source.selected.indices = [0]
    assert look.selection == group_selection(drawn.groups[0].name)
    look.selection = operator_selection(group.operators[0])
    assert explorer.map.groups.chosen.data["left"] == [group.start_step]
    assert f"in the fused group {group.name}" in [r["text"] for r in explorer.corner.details.rows]


def test_a_key_goes_from_group_to_group(drawn: Shown) -> None:
    session = open_explorer(drawn).session
    session.look.step = drawn.groups[1].stop_step - 1
    for k in (1, 2, 3):
        press(session, "g", lambda: None)
        assert session.look.selection == group_selection(drawn.groups[k].name)
        assert session.look.step == drawn.groups[k].start_step
    session.look.step = drawn.steps - 1
    press(session, "g", lambda: None)
    press(session, "g", lambda: None)
    assert session.look.selection == "group:g0"


def test_a_key_for_groups_does_nothing_without_any(shown: Shown) -> None:
    session = open_explorer(shown).session
    press(session, "g", lambda: None)
    assert session.look.selection == ""


def test_what_a_selection_means_in_groups(drawn: Shown) -> None:
    group = drawn.groups[1]
    assert chosen_groups(drawn, group_selection(group.name)) == [1]
    assert chosen_groups(drawn, operator_selection(group.operators[0])) == [1]
    assert chosen_groups(drawn, tensor_selection(group.output)) == []
    assert chosen_groups(drawn, group_selection("g99")) == []
    assert chosen_groups(drawn, "") == []


def test_the_table_says_why_neighbours_are_apart(drawn: Shown) -> None:
    group = drawn.groups[1]
    rows = detail_rows(drawn, group_selection(group.name), {})
    assert "asking what else it would cost …" in [row["text"] for row in rows]
    pair = {"there": 0, "apart_bytes": 4096, "together_bytes": None, "reason": "does not fit"}
    facts = {"single": "", "alone_bytes": 10240, "neighbours": [pair]}
    rows = detail_rows(drawn, group_selection(group.name), {group.name: facts})
    row = next(row for row in rows if row["text"] == "does not fit")
    assert row["cells"] == ["4 KiB", "–"]
    assert (row["key"], row["mark"]) == ("group:g0", "g0")
    told = {row["text"]: row["cells"][-1] for row in rows}
    assert told["each alone, they would move"] == "10 KiB"
    single = {"single": "it needs all rows", "alone_bytes": 1, "neighbours": []}
    rows = detail_rows(drawn, group_selection(group.name), {group.name: single})
    assert "by itself: it needs all rows" in [row["text"] for row in rows]


def test_hovers_say_what_operators_would_move_apart(drawn: Shown) -> None:
    explorer = open_explorer(drawn)
    group = next(g for g in drawn.groups if len(g.operators) > 1)
    at = drawn.groups.index(group)
    bands = (explorer.map.groups, explorer.timeline.groups)
    assert all("apart" not in band.source.data["line"][at] for band in bands)
    explorer.session.work.why = {group.name: {"alone_bytes": 2**20}}
    assert all("apart 1 MiB" in band.source.data["line"][at] for band in bands)
    assert any("apart 1 MiB" in line for line in explorer.dag.nodes.data["group"])


def test_moving_the_budget_regroups_the_same_nodes(drawn: Shown) -> None:
    explorer = open_explorer(drawn)
    work, count = explorer.session.work, len(drawn.graph.operators)
    before, nodes = dict(explorer.dag.regions.data), explorer.dag.nodes.data["title"]
    work.preview = {
        "budget_bytes": 2**20,
        "traffic_bytes": 2**21,
        "bound_bytes": 2**21,
        "status": "optimal",
        "buffer_bytes": 2**19,
        "tiles": 9,
        "groups": [list(range(count))],
        "worked_s": 0.001,
    }
    assert set(explorer.dag.regions.data["fill"]) == {group_colour(0)}
    assert explorer.dag.nodes.data["title"] == nodes
    assert "at 1 MiB" in explorer.cards.object
    assert "proven optimal" in plain(explorer.cards.object)
    work.preview = {}
    assert explorer.dag.regions.data == before
    assert "preview" not in explorer.cards.object


def test_a_budget_that_is_too_small_says_what_is_least(drawn: Shown) -> None:
    html = preview_html(drawn, {"budget_bytes": 1024, "need_bytes": 2048})
    assert "does not fit" in html
    assert "2 KiB" in html
    assert group_of({"need_bytes": 2048}, 3) is None
    assert group_of({"groups": [[0, 2], [1]]}, 4) == [0, 1, 0, None]


def test_cards_count_groups_and_a_rule_is_no_proof(drawn: Shown) -> None:
    assert f"{len(drawn.groups)} groups" in plain(cards_html(drawn))
    plan = sp.plan(drawn.graph, "fusion", BUDGET, baseline="no_fusion")
    assert "heuristic" in cards_html(show(json.dumps(plan.to_json())))
