"""Journeys through plans of fused groups in a real browser.

Fused groups chosen · the budget dragged, its groups at once and its program after · a group
selected by its tab and by its band, and why its neighbours are others · a too small budget.
"""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.ui.conftest import BANDS as CURSORS
from tests.ui.conftest import Go, comes_true, expect, models, over_models

FUSED = "?v=1&model=squeezenet1_0&planner=fusion&budget=128+KiB"
TABS = "all.find(m => m.type === 'ColumnDataSource' && m.data.room)"
BANDS = "all.find(m => m.type === 'ColumnDataSource' && m.data.who)"
EDGES = "all.find(m => m.type === 'ColumnDataSource' && m.data.at && !m.data.number).data.at"
"""Where steps end on an axis of time; nothing on one of steps."""
ON_EDGES = (
    "all.filter(m => m.type === 'BoxAnnotation' && m.fill_alpha === 0.1"
    f" && ({EDGES}).includes(m.left) && ({EDGES}).includes(m.right)).length"
)


def colours(page: Page) -> list[str]:
    """The colours of the tabs, which tell the groups apart."""
    found: list[str] = models(page, f"[...{TABS}.data.fill]")
    return found


def test_fused_groups_are_chosen_and_shown(go: Go) -> None:
    page = go("?v=1&model=squeezenet1_0&budget=MR")
    expect(page.locator(".baseline select")).to_be_hidden()
    page.locator(".planner select").select_option(label="Optimus: fused groups")
    expect(page.locator(".card.name")).to_contain_text("groups")
    expect(page.locator(".baseline select")).to_be_visible()
    expect(page.locator(".planner-words")).to_contain_text("cannot plan with weights left out")
    expect(page.locator(".story tr").first).to_contain_text(re.compile(r"Tile \d+ of \d+ of g"))
    assert models(page, f"{TABS}.data.name.filter((n) => n).length") > 1
    assert models(page, f"{BANDS}.data.name[0]") == "g0"
    limit, again = page.locator(".limit input").bounding_box(), page.locator(".plan").bounding_box()
    assert limit is not None
    assert again is not None
    assert limit["x"] >= again["x"]
    page.locator(".baseline select").select_option(label="no fusion")
    expect(page.locator(".card.name")).to_contain_text("38 groups")
    expect(page.locator(".card.badge")).to_contain_text("heuristic")
    expect(page).to_have_url(re.compile("baseline=no_fusion"))


def test_a_group_says_why_its_neighbours_are_others(go: Go) -> None:
    page = go(FUSED)
    models(page, f"{TABS}.selected.indices = [{TABS}.data.group.indexOf(1)]")
    expect(page).to_have_url(re.compile("selection=group%3Ag1"))
    details = page.locator(".details")
    expect(details).to_contain_text("why not fused with")
    expect(details).to_contain_text(re.compile("does not fit: needs|costs .* more|comes back by"))
    expect(page.locator(".story tr").first).to_contain_text("Tile 1 of")
    details.locator("tr.tap", has_text="g0").first.click()
    expect(page).to_have_url(re.compile("selection=group%3Ag0"))
    models(page, f"{BANDS}.selected.indices = [2]")
    expect(page).to_have_url(re.compile("selection=group%3Ag2"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("selection=group"))


def test_groups_follow_the_budget_at_once_and_the_program_after(go: Go) -> None:
    page = go(FUSED)
    expect(page.locator(".budget-ticks")).to_contain_text("least")
    before, handle = colours(page), page.locator(".budget-slider .noUi-handle").bounding_box()
    assert handle is not None
    x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    size = page.locator(".budget-typed input")
    for right in (30, 60):  # the handle says one size for each move
        last = size.input_value()
        page.mouse.move(x + right, y)
        expect(size).not_to_have_value(last)
        expect(page.locator(".cards .preview")).to_be_visible()
        expect(page.locator(".progress")).to_contain_text(f"groups at {size.input_value()}")
    expect(page.locator(".card.groups")).to_contain_text("fused groups")
    expect(page.locator(".progress")).to_contain_text("release the slider to plan")
    expect(page).to_have_url(re.compile(r"budget=128\+KiB"))
    assert colours(page) != before
    previewed = page.locator(".card.traffic b").inner_text()
    page.mouse.up()
    expect(page.locator(".cards .preview")).to_be_hidden()
    expect(page.locator(".card.traffic b")).to_have_text(previewed)
    expect(page).not_to_have_url(re.compile(r"budget=128\+KiB"))


def test_a_budget_that_no_tile_fits_names_the_least(go: Go) -> None:
    page = go(FUSED)
    page.locator(".budget-typed input").fill("2 KiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".message")).to_contain_text("fusion needs")
    page.locator(".nearest button").click()
    expect(page.locator(".message")).to_be_hidden()
    expect(page.locator(".card.peak")).to_contain_text("100%")


def test_time_is_across_the_map_and_a_tap_there_finds_its_step(go: Go) -> None:
    page = go(f"{FUSED}&axis=time")
    comes_true(page, over_models(f"{ON_EDGES} >= 2"))
    before = page.locator(".step-title .now").inner_text()
    held = page.locator(".memory .bk-Canvas").nth(1)
    box = held.bounding_box()
    assert box is not None
    held.click(position={"x": 0.4 * box["width"], "y": 0.4 * box["height"]})
    expect(page.locator(".step-title .now")).not_to_have_text(before)
    assert models(page, ON_EDGES) >= 2
    step = int(page.locator(".step-title .now b").inner_text())
    share = models(page, f"({EDGES})[{step}] / ({EDGES}).at(-1)")
    assert abs(share - 0.33) < 0.15, "82 of some 590 pixels are the axis's"
    page.locator(".time-switch button").click()
    expect(page).to_have_url(re.compile("axis=steps"))
    comes_true(page, over_models(f"!({EDGES}).length"))
    assert models(page, CURSORS).count(step - 1) == 2
