"""Two plans side by side: kinds of differences, steps on one axis, the shelf, the panel."""

from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace
from typing import Any

import pytest

from app.display.aligning import Warp, rising, warp
from app.display.compare import (
    CUT,
    KINDS,
    MOVED,
    ONLY_HERE,
    ONLY_THERE,
    ORDER,
    RETIMED,
    SPILLED_HERE,
    SPILLED_THERE,
    differences,
    fields_that_differ,
    operator_kinds,
    reordered,
)
from app.display.displayed_plan import DisplayedPlan, show
from app.explorer import Explorer
from app.jobs.pool import WorkerPool
from app.kinds.map_rows import row_of
from app.kinds.strips import Strips
from app.model.state import ProblemFields
from app.outputs.tables import differences_csv
from app.session.pinning import MOST, fields_of_plan, name_of, unlike
from app.session.session import Session
from app.views.memory.moved_rows import MovedRows
from app.views.panels.compare_panel import ALL, COSTLY, asked_html
from app.views.panels.comparing import compare_rows
from app.widgets.marks import MARKS, SHORT
from app.widgets.palette import LIGHT
from planners.core.program import Piece, Span
from tests import plans

STEPS = ("a", "b", "c", "d")


def stay(tensor: str, start: int, stop: int, at: int = 0, box: Any = ((0, 8),)) -> Any:
    """A tensor on chip from step `start` to before step `stop`."""
    space = (Span("chip", at, at + 8),)
    return SimpleNamespace(
        piece=Piece(tensor, box),
        tensor=tensor,
        memory="chip",
        spans=space,
        start_step=start,
        stop_step=stop,
    )


class Plan(SimpleNamespace):
    """Something that can be referred to weakly."""


def plan_of(
    *stays: Any, moved: dict[str, int] | None = None, steps: tuple[str, ...] = STEPS
) -> Any:
    """What comparing needs of a plan, made by hand; step k runs operator `steps[k]`."""
    operators = [SimpleNamespace(name=name) for name in STEPS]
    producer = {f"out_{name}": i for i, name in enumerate(STEPS)}
    return Plan(
        report=SimpleNamespace(residencies=stays),
        columns=lambda s: (s.start_step, s.stop_step),
        moved_bytes=moved or {},
        plan=SimpleNamespace(program=SimpleNamespace(steps=steps)),
        graph=SimpleNamespace(operators=operators, producer=producer),
        ran=tuple((name,) for name in steps),
        steps=len(steps),
        step_seconds=tuple((float(k), float(k + 1)) for k in range(len(steps))),
        trace=SimpleNamespace(makespan_s=float(len(steps))),
    )


@pytest.mark.parametrize(
    ("here", "there", "kind"),
    [
        ([stay("t", 0, 2)], [stay("t", 0, 2)], None),
        ([stay("t", 0, 2)], [stay("t", 0, 2, at=64)], MOVED),
        ([stay("t", 0, 2)], [stay("t", 0, 3)], RETIMED),
        ([stay("t", 0, 2)], [stay("t", 2, 3)], ONLY_HERE),
        ([], [stay("t", 2, 3)], ONLY_THERE),
        ([stay("t", 0, 2)], [stay("t", 0, 2, box=((0, 4),))], CUT),
    ],
)
def test_kinds_of_differences(here: list[Any], there: list[Any], kind: str | None) -> None:
    found = differences(plan_of(*here), plan_of(*there))
    assert [item.kind for item in found] == ([kind] if kind else [])


def test_what_spills_in_one_only_comes_first() -> None:
    both = stay("t", 0, 2), stay("u", 0, 2)
    here, there = plan_of(*both, moved={"t": 30}), plan_of(*both, moved={"u": 50})
    found = differences(here, there)
    assert [(d.tensor, d.kind, d.delta_bytes) for d in found] == [
        ("u", SPILLED_THERE, -50),
        ("t", SPILLED_HERE, 30),
    ]


def test_every_kind_has_a_colour_a_mark_and_a_short_name() -> None:
    assert set(MARKS) == {*KINDS, ORDER}
    assert len({mark for mark, _ in MARKS.values()}) == len(MARKS)
    assert len({colour for _, colour in MARKS.values()}) == len(MARKS)
    assert set(MARKS) <= set(SHORT)


def test_operators_are_marked_by_what_they_write_or_by_their_order() -> None:
    here = plan_of(stay("out_a", 0, 2))
    assert operator_kinds(here, plan_of(stay("out_a", 0, 2, at=8))) == {"a": MOVED}
    other = plan_of(stay("out_a", 0, 2), steps=("a", "c", "b", "d"))
    assert len(reordered(here, other)) == 1
    assert set(reordered(here, other)) <= {"b", "c"}
    assert ORDER in operator_kinds(here, other).values()
    assert reordered(here, here) == []


def test_steps_are_aligned_by_operator_time_or_not_at_all() -> None:
    here = plan_of()
    assert warp(here, plan_of(), "operator").same
    tiles = plan_of(steps=("a", "a", "b", "b", "c", "c", "d", "d"))
    assert warp(here, tiles, "steps").same
    moved = warp(here, tiles, "operator")
    assert [moved(k) for k in (0, 2, 4, 6, 8)] == [0, 1, 2, 3, 4]
    assert moved(3) == 1.5
    assert moved.back(1.5) == 3
    by_time = warp(here, tiles, "time")
    assert [by_time(k) for k in (0, 1, 4)] == [0, 1, 4]
    assert by_time(8) == 8  # it takes twice as long: beyond the end
    assert Warp()(7.25) == 7.25


def test_the_longest_chain_that_rises_is_kept() -> None:
    assert rising([(0, 0), (1, 5), (2, 1), (3, 2), (4, 3)]) == [(0, 0), (2, 1), (3, 2), (4, 3)]
    assert rising([(0, 1), (0, 2)]) in ([(0, 1)], [(0, 2)])
    assert rising([]) == []


def test_fields_that_differ_are_named_once() -> None:
    here = ProblemFields(planner="fusion", budget="320 KiB").values_by_name()
    there = ProblemFields(planner="cosma", budget="256 KiB").values_by_name()
    found = fields_that_differ(here, there)
    assert ("budget", "256 KiB", "320 KiB") in found
    assert ("planner", "cosma", "fusion") in found
    assert fields_that_differ(here, here) == []


@pytest.fixture(scope="module")
def roomy() -> DisplayedPlan:
    """The first problem with room for everything."""
    from app.session.initial_plan import first_shown

    graph = first_shown().graph
    plan = plans.plan_of(graph, budget="MP", replacement="greedy")
    return show(json.dumps(plan.to_json()))


def compared(roomy: DisplayedPlan) -> tuple[Session, Explorer]:
    """The first plan pinned, the roomy one on screen."""
    session = Session(None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    session.pins.pin()
    session.problem.budget = "MP"
    session.work.shown_for = session.fields()
    session.show(roomy)
    return session, explorer


def test_a_shelf_keeps_six_plans_and_one_is_chosen(roomy: DisplayedPlan) -> None:
    session, _ = compared(roomy)
    work, pins = session.work, session.pins
    assert pins.chosen == "cosma, 738.8 KiB"
    pins.rename("  as it   was ")
    assert pins.chosen == "as it was"
    pins.pin()
    assert [kept.name for kept in work.shelf] == ["as it was", "cosma, 886.5 KiB"]
    pins.rename("as it was")
    assert pins.chosen == "as it was (2)"
    pins.choose("as it was")
    assert work.pinned is not roomy
    assert work.pinned_for["budget"] == "MR"
    for _ in range(MOST):
        pins.keep(show(json.dumps(roomy.plan.to_json())), session.fields())
    assert len(work.shelf) == MOST
    assert len({kept.name for kept in work.shelf}) == MOST
    pins.unpin()
    assert len(work.shelf) == MOST - 1
    assert work.pinned is None
    assert unlike("x", ["x", "x (2)"]) == "x (3)"


def test_a_swap_leaves_the_other_plan_on_the_shelf(roomy: DisplayedPlan) -> None:
    session, _ = compared(roomy)
    first = session.work.pinned
    session.pins.swap()
    assert session.work.shown is first
    assert session.work.pinned is roomy
    assert [kept.shown for kept in session.work.shelf] == [roomy]
    assert session.pins.chosen == "cosma, 886.5 KiB"
    session.pins.swap()
    assert [kept.shown for kept in session.work.shelf] == [first]


def test_the_panel_tells_totals_tensors_and_what_was_asked(roomy: DisplayedPlan) -> None:
    session, explorer = compared(roomy)
    panel = explorer.compare
    assert not panel.made
    session.look.comparing = True
    rows = {row["text"]: row["cells"] for row in panel.totals.rows}
    assert rows["spill traffic"] == ["3.463 MiB", "0 B", "−3.463 MiB", "−100.0%"]
    assert "MR (738.8 KiB) → MP (886.5 KiB)" in asked_html(session)
    found = differences(roomy, session.work.pinned)
    costly = [item for item in found if item.delta_bytes]
    assert 0 < len(costly) < len(found)
    assert len(panel.tensors.rows) == len(costly)
    assert panel.kind.value == COSTLY
    folded = f"{len(found) - len(costly)} more differ in address or step, at no cost in bytes"
    assert compare_rows(roomy, session.work.pinned)[-1]["text"] == folded
    panel.kind.value = ALL
    assert len(panel.tensors.rows) == len(found)
    kinds = [value for value in panel.kind.options.values() if value not in (ALL, COSTLY)]
    panel.kind.value = kinds[0]
    assert 0 < len(panel.tensors.rows) < len(found)
    assert all(kinds[0] in row["text"] for row in panel.tensors.rows)
    panel.kind.value = ALL
    panel.sort.value = "name"
    names = [row["text"].split(":")[0] for row in panel.tensors.rows]
    assert names == sorted(names)
    table = list(csv.DictReader(io.StringIO(differences_csv(roomy, session.work.pinned))))
    assert len(table) == len(found) + len(panel.totals.rows)


def test_differences_colour_the_graph(roomy: DisplayedPlan) -> None:
    session, explorer = compared(roomy)
    session.look.colour = "difference"
    assert explorer.dag.drawn is not None
    words = [name for name, _ in explorer.dag.drawn.legend]
    assert words[-1] == "the same"
    assert len(words) > 1
    session.pins.unpin()
    assert "pin a plan" in explorer.dag.drawn.legend[0][0]
    assert set(explorer.dag.nodes.data["second"]) == {"not compared"}


def test_the_pinned_plan_has_views_on_the_same_axes(roomy: DisplayedPlan) -> None:
    session, explorer = compared(roomy)
    assert explorer.split.views is None
    session.look.split = True
    below, held, lanes = explorer.split.views or ()
    assert below.figure.x_range is explorer.map.figure.x_range
    assert below.figure.y_range is explorer.map.figure.y_range
    assert lanes.figure.x_range is explorer.timeline.figure.x_range
    assert len(below.source.data["left"]) > 10
    times = [session.work.shown.trace.makespan_s, session.work.pinned.trace.makespan_s]
    assert lanes.x_range.end == pytest.approx(max(times) * 1.01)
    before = list(held.source.data["left"])
    session.look.aligned = "time"
    assert held.source.data["left"] != before
    assert max(held.source.data["right"]) > max(before)
    session.pins.unpin()
    assert not explorer.split.box.visible


def test_moved_rows_keep_their_addresses() -> None:
    row = row_of((2, 4), (7, 9), "loaded", "x")
    moved = MovedRows(Strips([row]), Warp((0.0, 4.0), (0.0, 2.0)))
    there = {**row, "left": 1, "right": 2, "label_x": 1.5, "begin": 2, "end": 4}
    assert moved.rows(0, 2) == [moved.row(0)] == [there]
    assert moved.rows(0, 0.5) == []
    boxes = moved.boxes
    assert (boxes.left[0], boxes.right[0], boxes.bottom[0]) == (1, 2, 7)
    assert moved.placed({**row, "left": 1, "right": 2})["end"] == 4


def test_a_file_and_a_point_are_compared_with(
    pool: WorkerPool, until: Any, roomy: DisplayedPlan
) -> None:
    session = Session(pool)
    session.open({}, {})

    def settled() -> bool:
        session.poll()
        return not session.busy

    session.pins.take_file(roomy.text.encode(), "mine.json")
    assert session.work.pinning
    until(settled)
    assert session.work.pinned.report == roomy.report
    assert session.pins.chosen == "mine.json"
    assert session.work.pinned_for["planner"] == "cosma"
    session.pins.take_file(b"{}", "broken.json")
    until(settled)
    assert "Nothing to compare with" in session.work.notice
    assert session.pins.chosen == "mine.json"
    session.look.taps_pin = True
    session.sweeps.tap(0)
    until(settled)
    point = session.work.points[0]
    assert session.work.pinned.report.traffic_bytes == point["traffic_bytes"]
    assert session.work.pinned.plan.budget_bytes == point["budget_bytes"]
    assert len(session.work.shelf) == 2
    session.close()


def test_a_plan_of_a_file_is_named_by_what_it_answers(roomy: DisplayedPlan) -> None:
    fields = fields_of_plan(roomy)
    assert fields["planner"] == "cosma"
    assert name_of(roomy, fields).startswith("cosma")
