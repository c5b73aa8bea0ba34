"""Journeys through what notebooks show: a plan's drawings without a server, an explorer's frame."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page
from playwright.sync_api import expect as playwright_expect

import planners as sp
from app import explore
from planners.plots.still import StillRenderer
from tests.ui.conftest import OPEN_SIDEBAR, PATIENCE_MS, expect

BODY = '<!doctype html><meta charset="utf-8"><body data-jp-theme-light="{light}">{html}</body>'


@pytest.fixture(scope="module")
def plan() -> sp.Plan:
    return sp.plan(sp.load("vit_b_16"), budget="MR")


@pytest.mark.parametrize("light", ["true", "false"])
def test_cursor_hover_and_selection_of_a_plan(
    page: Page, tmp_path: Path, plan: sp.Plan, light: str
) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda request: wrong.append(request.url) if "file" not in request.url[:4] else None,
    )
    file = tmp_path / "plan.html"
    file.write_text(BODY.format(light=light, html=plan._repr_html_()), encoding="utf-8")
    page.goto(file.as_uri())
    told, cursor = page.locator(".sw-told"), page.locator(".sw-memory .sw-cur")
    spill = min(r.stop_step for r in sp.check(plan).residencies if r.ending == "spill")
    expect(told).to_contain_text(f"step {spill}: {plan.program.steps[spill - 1]}")
    memory, lanes = page.locator(".sw-memory"), page.locator(".sw-lanes .sw-cur")
    at = [float(mark.get_attribute("x") or 0) for mark in (cursor, lanes)]
    memory.focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text(f"step {spill + 1}: {plan.program.steps[spill]}")
    assert float(cursor.get_attribute("x") or 0) > at[0]
    assert float(lanes.get_attribute("x") or 0) > at[1]
    stay = page.locator(".sw-stays rect").nth(20)
    expect(page.locator(".sw-tip")).to_be_hidden()
    stay.hover()
    tensor = (stay.get_attribute("data-told") or "").split("\n")[0]
    expect(page.locator(".sw-tip")).to_contain_text(tensor)
    stay.click()
    expect(page.locator(".sw-stays rect.sw-on").first).to_be_visible()
    assert wrong == []


def test_the_explorer_of_a_cell_follows_and_its_plan_goes_on(page: Page, plan: sp.Plan) -> None:
    inline = explore(plan)
    page.set_default_timeout(PATIENCE_MS)
    playwright_expect.set_options(timeout=PATIENCE_MS)
    page.goto(inline.address)
    page.locator(".cards .card").first.wait_for()
    assert inline.plan.budget_bytes == plan.budget_bytes
    page.evaluate(OPEN_SIDEBAR)
    page.locator(".budget-MP .bk-btn").click()
    size = sp.budgets(plan.graph).MP
    expect(page.locator(".cards .peak")).to_contain_text(f"of {sp.format_bytes(size)}")
    assert inline.plan.budget_bytes == size
    inline.close()


def test_a_view_has_a_still_picture_where_no_script_runs(
    page: Page, tmp_path: Path, plan: sp.Plan
) -> None:
    data, _ = StillRenderer.instance().components(sp.plots.occupancy(plan))
    file = tmp_path / "view.html"
    file.write_text(re.sub(r"(?s)<script.*?</script>", "", data["text/html"]), encoding="utf-8")
    page.goto(file.as_uri())
    picture = page.locator(".spillway-view > img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") == 800
    page.evaluate("document.querySelector('[data-root-id]').append('the view itself')")
    expect(picture).to_be_hidden()
