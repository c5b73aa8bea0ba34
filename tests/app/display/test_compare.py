"""Two plans side by side: what differs, on which axes, and what a swap brings."""

from __future__ import annotations

from typing import Any

import pytest

from app.display.compare import (
    ONLY_HERE,
    ONLY_THERE,
    SPILLED_HERE,
    SPILLED_THERE,
    differences,
    stay_kinds,
)
from app.display.compare import totals as add_up
from app.display.displayed_plan import DisplayedPlan, show
from app.explorer import Explorer
from app.page import press
from app.session.session import Session
from app.views.memory.outlines import outline_columns
from app.views.panels.comparing import compare_rows, signed
from app.widgets.palette import LIGHT
from tests.plans import plan_of


@pytest.fixture(scope="module")
def roomy() -> DisplayedPlan:
    """The first problem with room for everything."""
    import json

    from app.session.initial_plan import first_shown

    graph = first_shown().graph
    return show(json.dumps(plan_of(graph, budget="MP", replacement="greedy").to_json()))


def test_a_plan_does_not_differ_from_itself(shown: DisplayedPlan) -> None:
    assert differences(shown, shown) == []
    assert all(kind == "the same" for _, kind in stay_kinds(shown, shown))
    assert not any(c["left"] for c in outline_columns(shown, shown, shown.memories[0]).values())


def test_what_spills_in_one_only_is_told_with_its_bytes(
    shown: DisplayedPlan, roomy: DisplayedPlan
) -> None:
    found = differences(shown, roomy)
    spilled = [d for d in found if d.kind == SPILLED_HERE]
    assert {d.tensor for d in spilled} == {t for t, b in shown.moved_bytes.items() if b}
    assert sum(d.delta_bytes for d in found) == shown.report.noncompulsory_bytes
    mirrored = differences(roomy, shown)
    assert {d.tensor for d in mirrored if d.kind == SPILLED_THERE} == {d.tensor for d in spilled}
    assert [d.delta_bytes for d in mirrored] == [-d.delta_bytes for d in found]


def test_outlines_mirror_each_other(shown: DisplayedPlan, roomy: DisplayedPlan) -> None:
    memory = shown.memories[0]
    here = outline_columns(shown, roomy, memory)
    there = outline_columns(roomy, shown, memory)
    assert here[ONLY_THERE] == there[ONLY_HERE]
    assert here[ONLY_HERE] == there[ONLY_THERE]


def test_totals_come_first_with_their_differences(
    shown: DisplayedPlan, roomy: DisplayedPlan
) -> None:
    rows = compare_rows(shown, roomy)
    assert [row["text"] for row in rows[:5]] == [name for name, *_ in add_up(shown, roomy)]
    assert rows[0]["cells"] == ["0 B", "3.463 MiB", "+3.463 MiB"]
    assert compare_rows(shown, None) == []
    assert (signed(0, "B"), signed(-2048, "B"), signed(1e-3, "s")) == ("=", "−2 KiB", "+1 ms")


def test_both_plans_are_on_the_same_axes_and_one_key_swaps_them(roomy: DisplayedPlan) -> None:
    session = Session(None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    first = session.work.shown
    press(session, "c", lambda: None)
    assert session.work.shown is first
    press(session, "s", lambda: None)
    session.problem.budget = "MP"
    session.work.shown_for = session.fields()
    session.show(roomy)
    seen: list[Any] = []
    for _ in range(3):
        seen.append((session.work.shown, session.problem.budget, explorer.map.y_range.end))
        assert len(explorer.occupancy.pinned.data["x"]) == first.steps
        assert not session.stale
        press(session, "c", lambda: None)
    assert [s is roomy for s, _, _ in seen] == [True, False, True]
    assert [budget for _, budget, _ in seen] == ["MP", "MR", "MP"]
    assert len({end for _, _, end in seen}) == 1
    session.pins.unpin()
    assert explorer.map.y_range.end < seen[0][2] or session.work.shown is roomy
    assert explorer.corner.views["compare"].rows.rows == []
