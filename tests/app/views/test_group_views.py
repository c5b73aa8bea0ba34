"""Fused groups in the explorer's views: drawn in pieces, selected, told of, previewed."""

from __future__ import annotations

import json

import pytest

from app.display.displayed_plan import DisplayedPlan, show
from app.explorer import Explorer
from app.kinds.map_rows import MapRows
from app.model.glossary import plain
from app.model.state import group_selection, operator_selection
from app.session.live import group_of
from app.session.session import Session
from app.views.panels.cards import cards_html, preview_html
from app.views.panels.tables import detail_rows
from app.widgets.palette import LIGHT
from planners.core.colours import group_colour
from tests.plans import plan_of

BUDGET = 128 * 1024


def open_explorer(shown: DisplayedPlan) -> Explorer:
    """An explorer without workers that has this plan on screen."""
    session = Session(None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    session.show(shown)
    return explorer


def test_zooming_in_is_told_only_where_it_helps(
    drawn: DisplayedPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = MapRows(drawn, drawn.memories[0])
    assert rows.densest == max(rows.count(step, step + 1) for step in range(drawn.steps))
    monkeypatch.setattr("app.kinds.visible_rows.BUNDLED", rows.densest - 1)
    assert "zoom in" not in open_explorer(drawn).map.note.text
    monkeypatch.setattr("app.kinds.visible_rows.BUNDLED", rows.densest)
    assert "zoom in" in open_explorer(drawn).map.note.text


def test_the_map_goes_into_pieces_where_one_zooms_in(
    drawn: DisplayedPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.kinds.visible_rows.BUNDLED", 400)
    monkeypatch.setattr("app.views.timing.timeline.MOST", 400)
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


def test_an_operator_tells_of_its_group(drawn: DisplayedPlan) -> None:
    explorer, group = open_explorer(drawn), drawn.groups[2]
    explorer.session.look.selection = operator_selection(group.operators[0])
    assert f"in the fused group {group.name}" in [
        r["text"] for r in explorer.corner.views["details"].rows
    ]


def test_the_table_says_why_neighbours_are_apart(drawn: DisplayedPlan) -> None:
    group = drawn.groups[1]
    rows = detail_rows(drawn, group_selection(group.name), {})
    assert "computing the alternatives …" in [row["text"] for row in rows]
    pair = {"there": 0, "apart_bytes": 4096, "together_bytes": None, "reason": "does not fit"}
    facts = {"single": "", "alone_bytes": 10240, "neighbours": [pair]}
    rows = detail_rows(drawn, group_selection(group.name), {group.name: facts})
    row = next(row for row in rows if row["text"] == "does not fit")
    assert row["cells"] == ["4 KiB", "–"]
    assert (row["key"], row["mark"]) == ("group:g0", "g0")
    told = {row["text"]: row["cells"][-1] for row in rows}
    assert told["run one by one, they would move"] == "10 KiB"
    single = {"single": "it needs all rows", "alone_bytes": 1, "neighbours": []}
    rows = detail_rows(drawn, group_selection(group.name), {group.name: single})
    assert "by itself: it needs all rows" in [row["text"] for row in rows]


def test_hovers_say_what_operators_would_move_apart(drawn: DisplayedPlan) -> None:
    explorer = open_explorer(drawn)
    group = next(g for g in drawn.groups if len(g.operators) > 1)
    at = drawn.groups.index(group)
    bands = (explorer.map.groups, explorer.timeline.groups)
    assert all("apart" not in band.source.data["line"][at] for band in bands)
    explorer.session.work.why = {group.name: {"alone_bytes": 2**20}}
    assert all("apart 1 MiB" in band.source.data["line"][at] for band in bands)
    assert any("apart 1 MiB" in line for line in explorer.dag.nodes.data["group"])


def test_moving_the_budget_regroups_the_same_nodes(drawn: DisplayedPlan) -> None:
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


def test_a_budget_that_is_too_small_says_what_is_least(drawn: DisplayedPlan) -> None:
    html = preview_html(drawn, {"budget_bytes": 1024, "need_bytes": 2048})
    assert "does not fit" in html
    assert "2 KiB" in html
    assert group_of({"need_bytes": 2048}, 3) is None
    assert group_of({"groups": [[0, 2], [1]]}, 4) == [0, 1, 0, None]


def test_cards_count_groups_and_a_rule_is_no_proof(drawn: DisplayedPlan) -> None:
    assert f"{len(drawn.groups)} groups" in plain(cards_html(drawn))
    plan = plan_of(drawn.graph, "fusion", BUDGET, baseline="no_fusion")
    assert "heuristic" in cards_html(show(json.dumps(plan.to_json())))
