"""Joined plans on the page: how each operator runs and why, where a stretch begins."""

from __future__ import annotations

import json
from functools import cache

import planners as sp
from app.kinds.joined import JoinedKind
from app.kinds.registry import kind_of, step_story
from app.model.checked_plan import Shown, show
from app.model.state import operator_selection
from app.model.wire import from_wire, to_wire
from app.outputs.standalone import page_html, seen_of
from app.views.panels.tables import detail_rows
from tests.joined.networks import narrowing


@cache
def shown() -> Shown:
    """Wide maps as fused groups, the rest in the pool, as it comes out of a worker."""
    module, inputs = narrowing(side=64)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "joined", 9000, weights="in-place", others=False, time_limit=6)
    return from_wire(json.loads(json.dumps(to_wire(show(json.dumps(plan.to_json()))))))


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


def test_the_exported_page_tells_it_too() -> None:
    assert "From here to" in page_html(seen_of(shown().plan))
