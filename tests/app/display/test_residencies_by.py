"""Residencies are told by tensor and by last step as the whole list tells them; none is kept."""

from __future__ import annotations

import json
from functools import cache

import pytest
import torch

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.wire import from_wire, to_wire
from tests.importers.few_blocks import few_blocks


@cache
def shown_plans() -> list[DisplayedPlan]:
    graph = sp.from_torch(few_blocks("mobilenet"), torch.ones(1, 3, 32, 32))
    plans = [sp.plan(graph, planner, "MR", time_limit=1) for planner in ("cosma", "fusion")]
    return [from_wire(to_wire(show(json.dumps(plan.to_json())))) for plan in plans]


@pytest.mark.parametrize("at", [0, 1])
def test_each_residency_has_its_place(at: int) -> None:
    shown = shown_plans()[at]
    every = list(shown.report.residencies)
    names = {stay.tensor for stay in every}
    assert set(shown.stays) == names
    for name in names:
        assert list(shown.stays[name]) == [stay for stay in every if stay.tensor == name]
    ended = {stay.stop_step - 1 for stay in every if stay.stop_instruction >= 0}
    assert set(shown.ended) == ended
    for step in ended:
        there = [s for s in every if s.stop_instruction >= 0 and s.stop_step - 1 == step]
        assert list(shown.ended[step]) == there
    assert shown.ended.get(-1) is None


def test_who_goes_through_them_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.simulator.records.column_rows.BLOCK", 3)
    held = shown_plans()[1].report.residencies
    assert len(list(held)) == len(held) > 3
    assert [held[at] for at in range(len(held))] == list(held) == list(held[:])
    last = held[len(held) - 1]
    assert list(held).index(last) == held.index(last)
    with pytest.raises(ValueError, match="not among"):
        held.index("nothing")
