"""Joined plans on the page: how each operator runs and why, where a stretch begins."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.stretches import stretches_of
from app.display.wire import from_wire, to_wire
from app.kinds.joined import JoinedKind
from app.kinds.registry import kind_of, step_story
from app.model.paths import ASSETS
from app.model.state import operator_selection
from app.outputs.standalone import page_html, seen_of
from app.views.dag.scene import scene
from app.views.panels.tables import detail_rows
from planners.core.colours import WAYS
from planners.core.details.joined import JoinedStretch
from tests.joined.networks import narrowing
from tests.joined.test_recompute import BUDGET, squeezing
from tests.plans import plan_of
from tests.work_clock import looking_long


@cache
def shown() -> DisplayedPlan:
    """Wide maps as fused groups, the rest in the pool, as it comes out of a worker."""
    module, inputs = narrowing(side=64)
    graph = sp.from_torch(module, inputs)
    with looking_long():
        plan = plan_of(graph, "joined", 9000, time_limit=6, weights="in-place", others=False)
    return from_wire(json.loads(json.dumps(to_wire(show(json.dumps(plan.to_json()))))))


@pytest.fixture(scope="module", autouse=True)
def made() -> None:
    """The plan is traced, planned and checked before the first test looks at it."""
    shown()


def test_an_operator_says_how_it_runs_and_why() -> None:
    plan = shown()
    assert isinstance(kind_of(plan), JoinedKind)
    stretches = plan.plan.details.stretches
    assert len(stretches) > 1
    for stretch in stretches:
        for name in (stretch.first, stretch.last):
            told = [row["text"] for row in detail_rows(plan, operator_selection(name), {})]
            assert f"why: {stretch.why}" in told
            assert ("runs in the pool, outputs over dying inputs" in told) == (
                stretch.how == "pool"
            )


def test_where_a_stretch_begins_it_is_told_once() -> None:
    plan = shown()
    told = [
        sentence.text
        for step in range(plan.steps)
        for sentence in step_story(plan, step)
        if sentence.text.startswith("From here to")
    ]
    assert len(told) == len(plan.plan.details.stretches)
    for text, stretch in zip(told, plan.plan.details.stretches, strict=True):
        assert text.startswith(f"From here to {stretch.last}: ")
        assert text.endswith(f"Why: {stretch.why}.")


def test_stretches_are_coloured_by_their_way_and_selected_as_one() -> None:
    plan = shown()
    bands = kind_of(plan).bands(plan, {})
    for band, stretch in zip(bands, plan.plan.details.stretches, strict=True):
        assert band.colour == WAYS["pool" if stretch.how == "pool" else "fused"]
        assert (band.operators[0], band.operators[-1]) == (stretch.first, stretch.last)
        assert band.operators[0] in plan.ran[band.start_step]
        assert band.operators[-1] in plan.ran[band.stop_step - 1]
    assert [name for band in bands for name in band.operators] == [
        op.name for op in plan.graph.operators
    ]
    assert all(a.stop_step <= b.start_step for a, b in pairwise(bands))
    for part, band in zip(kind_of(plan).together(plan), bands, strict=True):
        rows = detail_rows(plan, part.selection, {})
        assert rows[0]["mark"] == band.name
        assert {row["key"] for row in rows if "key" in row} == {
            operator_selection(name) for name in band.operators
        }


def test_the_graph_has_a_region_for_each_stretch() -> None:
    plan = shown()
    bands = kind_of(plan).bands(plan, {})
    drawn = scene(plan, plan.tree.everything(), "kind", bands=bands)
    assert {name for name in drawn.regions.tabs["name"] if name} == {band.name for band in bands}
    assert set(drawn.regions.boxes["fill"]) == {band.colour for band in bands}
    for title, line in zip(drawn.nodes["title"], drawn.nodes["group"], strict=True):
        (band,) = (band for band in bands if title in band.operators)
        assert line == f"in {band.name}: {band.line}"


def test_details_of_a_file_that_name_no_operator_are_left_out() -> None:
    plan = shown().plan
    strange = JoinedStretch("nothing", "neither", "pool", "")
    other = replace(plan, details=replace(plan.details, stretches=(strange,)))
    assert stretches_of(other, shown().ran) == ()


@pytest.mark.usefixtures("long_looks")
def test_an_operator_that_runs_again_has_both_its_ranges_of_steps() -> None:
    _, _, graph = squeezing()
    asked = {"objective": "traffic", "weights": "counted", "others": False}
    made = plan_of(graph, "joined", BUDGET, time_limit=40, **asked)
    plan = from_wire(json.loads(json.dumps(to_wire(show(json.dumps(made.to_json()))))))
    told = [row["text"] for row in detail_rows(plan, operator_selection("conv2d_2"), {})]
    (steps,) = (text for text in told if text.startswith("runs in steps"))
    assert steps.count(",") == 1
    assert any("conv2d_1, conv2d_2 run again" in text for text in told)
    assert step_story(plan, plan.steps - 1)


@pytest.mark.usefixtures("drawing")
def test_the_exported_page_tells_it_too() -> None:
    assert "From here to" in page_html(seen_of(shown().plan))


def test_no_more_is_live_at_a_step_than_its_memory_has() -> None:
    """A stretch moves tensors through within a step: what is told is held at one moment of it."""
    passing, first = 0, json.loads((ASSETS / "initial_plan.json").read_text("utf-8"))["plan"]
    for plan in (shown(), show(json.dumps(first))):
        assert set(plan.memories) == {plan.plan.machine.onchip}
        for step in range(plan.steps):
            spans = sorted((s.start, s.stop) for stay in plan.live(step) for s in stay.spans)
            assert all(one[1] <= other[0] for one, other in pairwise(spans))
            held = plan.held(step, plan.live(step))
            assert held <= plan.report.occupancy[step] <= plan.plan.budget_bytes
            left, right = plan.sides
            passing += int(((left <= step) & (step < right)).sum()) > len(plan.live(step))
    assert passing
