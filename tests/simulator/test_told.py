"""A check tells how far it is."""

from __future__ import annotations

import pytest

import planners as sp
from planners.simulator import symbolic
from tests.random_graphs import random_graph


def test_each_step_is_told_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = sp.plan(random_graph(3, 8, largest=20), budget="MR")
    heard: list[sp.Progress] = []

    def hear(moment: sp.Progress) -> bool:
        heard.append(moment)
        return False  # it is not asked whether to go on

    assert sp.check(plan, hear) == sp.check(plan)
    assert not heard  # over before there is anything to tell
    monkeypatch.setattr(symbolic, "POLL_S", 0.0)
    assert sp.check(plan, hear) == sp.check(plan)
    steps = len(plan.program.steps)
    told = [f"checking every byte, step {i} of {steps}" for i in range(2, steps + 1)]
    assert [moment.stage for moment in heard] == told


def test_a_long_program_is_told_of_before_it_is_read() -> None:
    heard: list[sp.Progress] = []
    plan = sp.plan(sp.load("vmcu:S1"), "overlap", "16KiB", replay=False)
    sp.check(plan, lambda moment: bool(heard.append(moment)))  # type: ignore[func-returns-value]
    assert [moment.stage for moment in heard] == ["checking every byte"]
