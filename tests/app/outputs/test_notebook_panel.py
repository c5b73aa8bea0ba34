"""The what-if panel: what its widgets do to the plan, and what it tells. No browser here."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import WorkerPool
from app.model.state import ProblemFields
from app.outputs.notebook import what_if
from app.outputs.notebook.panel import WhatIf, row
from planners.wishes.language import broken, parse

WAIT_S = 60.0
MODEL = "squeezenet1_1"
Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def panel(pool: WorkerPool) -> Iterator[WhatIf]:
    made = what_if(MODEL, pool=pool)
    made.wait(WAIT_S)
    yield made
    made.close()


def html_of(panel: WhatIf) -> str:
    return str(panel.results.drawings.outputs[0]["data"]["text/html"])


def test_the_plan_on_screen_goes_on_in_code(panel: WhatIf) -> None:
    plan = panel.plan
    assert panel.plan is plan
    report = sp.check(plan)
    assert sp.format_bytes(report.traffic_bytes) in html_of(panel)
    assert plan.budget_bytes == sp.budgets(plan.graph).MR
    assert panel.fields.typed.value == "MR"


def test_a_widget_changes_the_plan(panel: WhatIf) -> None:
    before = panel.plan
    panel.fields.typed.value = "1 MiB"
    after = panel.wait(WAIT_S)
    assert after.budget_bytes == 2**20
    panel.fields.named["MH"].click()
    assert panel.wait(WAIT_S).budget_bytes == sp.budgets(before.graph).MH
    panel.fields.slider.value = panel.fields.slider.max
    largest = panel.wait(WAIT_S)
    assert largest.budget_bytes == panel.fields.sizes[-1] * 1024
    assert "this plan" in panel.results.change.value
    assert len(panel.tried) == 4
    assert list(panel.tried["budget_bytes"])[-1] == largest.budget_bytes


def test_the_slider_stands_where_the_budget_is(panel: WhatIf, until: Until) -> None:
    until(lambda: not panel.fields.slider.disabled)
    sizes, budgets = panel.fields.sizes, sp.budgets(panel.plan.graph)
    assert sizes[panel.fields.slider.value] == budgets.MR // 1024
    assert "MR" in panel.fields.ticks.value


def test_another_planner_has_other_options(panel: WhatIf) -> None:
    def offered() -> tuple[Any, ...]:
        return tuple(panel.fields.chosen.children[0].children)

    before = panel.fields.options["schedule"]
    assert before in offered()
    panel.fields.planner.value = "streaming"
    assert panel.wait(WAIT_S).planner == "streaming"
    assert before not in offered()
    assert panel.fields.options["pipeline"] in offered()


def test_options_that_others_rule_out_are_disabled(panel: WhatIf) -> None:
    assert not panel.fields.options["replacement"].disabled
    panel.set(schedule="joint").wait(WAIT_S)
    assert panel.fields.options["replacement"].disabled
    assert panel.fields.options["schedule"].value == "joint"


def test_too_small_a_budget_is_told_with_a_remedy(panel: WhatIf) -> None:
    before, need = panel.plan, sp.budgets(panel.plan.graph).MR
    panel.fields.typed.value = "100 KiB"
    with pytest.raises(sp.BudgetTooSmall) as told:
        panel.wait(WAIT_S)
    assert (told.value.need_bytes, told.value.have_bytes) == (need, 100 * 1024)
    for size in (need, 100 * 1024, need - 100 * 1024):
        assert f"{size:,} B" in panel.results.message.value
    assert panel.plan is before
    panel.results.remedy.click()
    assert panel.wait(WAIT_S).budget_bytes == need
    assert panel.results.message.value == ""
    assert panel.results.remedy.layout.display == "none"


def test_what_is_no_size_is_told_and_changes_nothing(panel: WhatIf) -> None:
    before = panel.plan
    panel.fields.typed.value = "<b>some</b>"
    assert "is not a size" in panel.results.message.value
    assert "<b>some" not in panel.results.message.value
    assert panel.plan is before


def test_back_shows_the_plan_before(panel: WhatIf) -> None:
    first = panel.plan
    panel.set(budget="1 MiB").wait(WAIT_S)
    panel.results.back.click()
    assert panel.plan.budget_bytes == first.budget_bytes
    assert panel.fields.typed.value == "MR"


def test_a_plan_is_kept_to_compare_with(panel: WhatIf) -> None:
    panel.results.keep.click()
    for budget in ("1000 KiB", "1 MiB"):
        panel.set(budget=budget).wait(WAIT_S)
    first = sp.format_bytes(sp.budgets(panel.plan.graph).MR)
    assert f"cosma, {first}" in panel.results.change.value
    panel.results.keep.click()
    assert "cosma, 1000 KiB" in panel.results.change.value


def test_planning_can_be_stopped(panel: WhatIf, until: Until) -> None:
    before = panel.plan
    panel.session.problem.planner = "slow"
    panel.results.button.click()
    until(lambda: "thinking" in panel.results.state.value)
    assert panel.results.button.description == "Stop"
    start = time.monotonic()
    panel.results.button.click()
    until(lambda: not panel.session.work.planning)
    assert time.monotonic() - start < 20
    assert "Cancelled" in panel.results.message.value
    until(lambda: panel.results.button.description != "Stop")
    assert panel.shown
    assert before.planner == "cosma"


def test_a_graph_of_ones_own_and_a_plan(pool: WorkerPool) -> None:
    graph = sp.load(MODEL, input_shape=(1, 3, 64, 64))
    own = what_if(graph, pool=pool, budget="MH")
    assert own.plan.graph == graph
    assert own.plan.budget_bytes == sp.budgets(graph).MH
    own.close()
    again = what_if(own.plan, pool=pool)
    assert again.wait(WAIT_S) == own.plan
    assert again.fields.planner.value == "cosma"
    again.close()


def test_what_cannot_be_asked(pool: WorkerPool) -> None:
    with pytest.raises(sp.BadInput, match="neither a field"):
        what_if(MODEL, pool=pool, bugdet="MR")
    with pytest.raises(sp.BadInput, match="schedule"):
        what_if(MODEL, pool=pool, schedule="never")
    missing = what_if("no such model", pool=pool)
    with pytest.raises(sp.BadInput, match="unknown model"):
        missing.wait(WAIT_S)
    missing.close()


@pytest.mark.skipif("wishes" not in ProblemFields.param, reason="the explorer knows no wishes")
def test_wishes_are_respected_or_told_to_be_in_the_way(panel: WhatIf) -> None:
    graph, before = panel.plan.graph, panel.plan
    tensor = graph.operators[3].outputs[0]
    panel.fields.wishes.value = f"keep {tensor}\n\n"
    kept = panel.wait(WAIT_S)
    assert panel.session.problem.wishes == [f"keep {tensor}"]
    assert broken(kept, parse([f"keep {tensor}"], graph)) == []
    first, second = graph.operators[4].name, graph.operators[5].name
    panel.fields.wishes.value = f"keep {tensor}\n{second} before {first}"
    with pytest.raises(sp.WishesConflict, match="wait for each other") as told:
        panel.wait(WAIT_S)
    assert told.value.wishes == (f"{second} before {first}",)
    assert panel.results.remedy.layout.display == "none"
    panel.results.without.click()
    assert panel.wait(WAIT_S).program == kept.program
    assert panel.fields.wishes.value == f"keep {tensor}"
    assert before.budget_bytes == panel.plan.budget_bytes


@pytest.mark.skipif("wishes" not in ProblemFields.param, reason="the explorer knows no wishes")
def test_what_is_no_wish_is_told(panel: WhatIf) -> None:
    panel.fields.wishes.value = "keep <b>nothing</b>"
    with contextlib.suppress(sp.SpillwayError):
        panel.wait(WAIT_S)
    assert "<b>nothing" not in panel.results.message.value
    assert "nothing" in panel.results.message.value


def test_a_slider_that_is_shorter_comes_with_its_place(
    panel: WhatIf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one message: JupyterLab's slider keeps its handle within its ends, and says so, which was
    taken for a budget that somebody chose."""
    panel.set(bytes_per_element=2).wait()
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(
        type(panel.fields.slider), "_send", lambda _, message, **__: sent.append(message["state"])
    )
    panel.set(bytes_per_element=1).wait()
    ends = [state for state in sent if "max" in state]
    assert ends
    assert all("value" in state for state in ends)


def test_a_row_has_the_options_that_are_not_the_usual_ones(shown: DisplayedPlan) -> None:
    asked = {"planner": "cosma", "options": {"cosma.schedule": "joint"}}
    assert row(asked, shown)["options"] == {"schedule": "joint"}
    assert row({}, shown)["options"] == {}
