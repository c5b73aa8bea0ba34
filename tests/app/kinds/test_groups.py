"""Plans of fused groups: what is sent and drawn of them: regions, bands and bundles."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.groups import part_words, range_words
from app.kinds.kind import Band
from app.kinds.map_rows import REFILLED, MapRows
from app.kinds.registry import kind_of, step_story
from app.kinds.tables import MOST_LIVE
from app.kinds.timeline_bars import Bars, runs
from app.model.state import tensor_selection
from app.views.dag.groups import group_words
from app.views.dag.scene import scene
from app.views.panels.tables import detail_rows, live_rows
from app.views.timing.group_bands import second_places, step_places
from planners.core.colours import GROUPS, group_colour
from planners.core.program import Compute, Load

BUDGET = 128 * 1024


def test_what_is_sent_says_the_same(fused: DisplayedPlan, drawn: DisplayedPlan) -> None:
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


def test_one_after_the_other_needs_no_simulation(
    fused: DisplayedPlan, shown: DisplayedPlan
) -> None:
    for each in (fused, shown):
        told, known = sp.simulate(each.plan, serial=True), each.serial_trace
        assert known.makespan_s == pytest.approx(told.makespan_s)
        assert known.busy_s == pytest.approx(told.busy_s)
        for here, there in zip(known.intervals, told.intervals, strict=True):
            assert here.start_s == pytest.approx(there.start_s)
            assert (here.instruction, here.stall_s) == (there.instruction, 0.0)


def bands_of(shown: DisplayedPlan) -> list[Band]:
    return kind_of(shown).bands(shown, {})


def test_each_operator_is_in_the_region_of_its_group(drawn: DisplayedPlan) -> None:
    graph = drawn.graph
    made = scene(drawn, drawn.tree.everything(), "kind", bands=bands_of(drawn))
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


def test_links_are_drawn_within_a_group_only(drawn: DisplayedPlan) -> None:
    made = scene(drawn, drawn.tree.everything(), "kind", bands=bands_of(drawn))
    within = [
        drawn.group_of[drawn.graph.operators[a].name]
        for a, b in made.drawing.ends
        if drawn.group_of[drawn.graph.operators[a].name]
        == drawn.group_of[drawn.graph.operators[b].name]
    ]
    assert made.regions.links["colour"] == [group_colour(k) for k in within]
    assert 0 < len(within) < len(made.drawing.ends)


def test_a_closed_block_has_a_stripe_for_each_of_its_groups(drawn: DisplayedPlan) -> None:
    made = scene(drawn, (), "kind", bands=bands_of(drawn))
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


def test_plans_without_groups_have_no_regions(shown: DisplayedPlan) -> None:
    made = scene(shown, shown.tree.comfortable(), "kind", bands=bands_of(shown))
    assert not made.regions.boxes["x"]
    assert not made.regions.tabs["x"]
    assert set(made.nodes["group"]) == {""}


def test_bands_follow_each_other(drawn: DisplayedPlan) -> None:
    bands = bands_of(drawn)
    steps = step_places(bands)
    assert (steps[0][0], steps[-1][1]) == (0, drawn.steps)
    assert all(a[1] == b[0] for a, b in pairwise(steps))
    for serial in (False, True):
        each = drawn.serial_step_seconds if serial else drawn.step_seconds
        seconds = second_places(bands, each)
        assert all(a < b for a, b in seconds)
        assert all(a[0] < b[0] for a, b in pairwise(seconds))


def test_neighbours_in_time_have_other_colours() -> None:
    assert len({group_colour(k) for k in range(len(GROUPS))}) == len(GROUPS)


def test_every_tile_tells_what_it_makes(drawn: DisplayedPlan) -> None:
    for group in drawn.groups:
        for step in (group.start_step, group.stop_step - 1):
            story = step_story(drawn, step)
            number = step - group.start_step + 1
            assert story[0].text.startswith(f"Tile {number} of {group.tiles} of {group.name} makes")
            assert story[0].group == group.name
            ran = [sentence for sentence in story if sentence.mark == "ran"]
            assert [s.text.split()[0] for s in ran] == list(drawn.ran[step])


def test_a_tile_tells_of_all_that_came_in(drawn: DisplayedPlan) -> None:
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


def test_bundles_hold_every_stay(drawn: DisplayedPlan) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    bundles = rows.bundles
    stays = [r for r in drawn.report.residencies if r.memory == drawn.memories[0]]
    assert len(bundles) < len(stays) / 5
    for stay in stays[::7]:
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


def test_a_window_holds_what_meets_it(drawn: DisplayedPlan) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    inside = rows.rows(10, 12)
    assert rows.count(10, 12) <= len(inside)
    assert all(row["left"] < 12 and row["right"] > 10 for row in inside)
    here = [r for r in drawn.report.residencies if r.memory == drawn.memories[0]]
    assert rows.count(0, drawn.steps) == len(here)


def test_bundled_bars_are_as_busy_as_what_they_hold(drawn: DisplayedPlan) -> None:
    bars = Bars(drawn.names, drawn.trace)
    found, waits = bars.bundles(0.0, drawn.trace.makespan_s)
    numbers = [re.match(r"([\d,]+) ", words) for words in found["what"]]
    counts = [int(number[1].replace(",", "")) if number else 1 for number in numbers]
    assert sum(counts) == len(drawn.trace.intervals)
    assert len(found["left"]) < len(drawn.trace.intervals) / 3
    for name in set(found["lane"]):
        rows = zip(found["left"], found["right"], found["lane"])
        spans = sorted((left, right) for left, right, lane in rows if lane == name)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    bundled = [lane for lane, when in zip(waits["lane"], waits["when"]) if " waits from " in when]
    assert set(bundled) <= {"compute"}
    apart = drawn.trace.makespan_s / 900
    there = set(zip(found["left"], found["right"]))
    long = [i for i in drawn.trace.intervals if i.stop_s - i.start_s > apart]
    assert {(i.start_s, i.stop_s) for i in long} <= there, "none that can be seen is merged"


def test_runs_end_where_there_is_room() -> None:
    starts, stops = np.array([0.0, 1.5, 4.0, 5.0, 6.0]), np.array([1.0, 2.0, 5.0, 6.0, 8.0])
    assert list(runs(starts, stops, 1.0)) == [(0, 2), (2, 4), (4, 5)], "what is long is alone"
    assert list(runs(starts[:0], stops[:0], 1.0)) == []


def test_what_is_live_in_a_tile_fits(drawn: DisplayedPlan) -> None:
    for step in range(0, drawn.steps, 5):
        held = sum(r.size_bytes for r in drawn.live(step))
        assert held == drawn.report.occupancy[step]


def test_many_pieces_are_a_row_a_tensor(drawn: DisplayedPlan) -> None:
    step = max(range(drawn.steps), key=lambda s: len(drawn.live(s)))
    rows, live = live_rows(drawn, step, "KiB"), drawn.live(step)
    if len(live) > MOST_LIVE:
        assert len(rows) == len({r.tensor for r in live})
    shares = [row["share"] for row in rows]
    assert shares == sorted(shares, reverse=True)


def test_a_tensor_of_many_stays_has_the_first_listed(drawn: DisplayedPlan) -> None:
    stays = Counter(stay.tensor for stay in drawn.report.residencies)
    (name, count), *_ = stays.most_common(1)
    rows = detail_rows(drawn, tensor_selection(name))
    listed = [row for row in rows if row["text"].startswith("steps ")]
    assert len(listed) == MOST_LIVE < count
    assert rows[-1]["text"] == f"and {count - MOST_LIVE} more residencies"
