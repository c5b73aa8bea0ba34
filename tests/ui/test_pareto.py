"""Journey: what does 64 KiB more buy, with which planner; the chart fills in; a point is loaded."""

from __future__ import annotations

import re

from tests.ui.conftest import Go, expect

SMALL = "?v=1&model=mcunet_vww1&input_shape=1x3x64x64&planner=fusion&budget=24+KiB"


def test_what_more_memory_buys_is_two_clicks_away(go: Go) -> None:
    page = go(f"{SMALL}&swept=%5B%22cosma%22%2C%22fusion%22%5D")
    page.locator(".pareto-box").scroll_into_view_if_needed()
    page.locator(".all-planners button").click()
    table = page.locator(".planners .buys")
    expect(page.locator(".planners .ask-more button")).to_be_in_viewport()  # the button is below
    expect(table.locator("tr.tap")).to_have_count(2)
    expect(table).to_contain_text("fusion")
    expect(table).to_contain_text("88 KiB")
    expect(page.locator(".planners .answer")).to_contain_text("64 KiB more buys")
    expect(page.locator(".planners .sweep-all button")).to_be_enabled()
    page.locator(".planners .sweep-all button").click()
    expect(page.locator(".planners progress")).to_be_visible()
    expect(page.locator(".planners-state")).to_contain_text("nothing below")
    rows = page.locator(".planners .points tr.tap")
    expect(rows.nth(3)).to_be_visible()
    page.locator(".planners .stop-all button").click()
    expect(page.locator(".planners .sweep-all button")).to_be_enabled()
    page.locator(".planners .axis-metric select").select_option("traffic")
    expect(table.locator("th").first).to_have_text("off-chip traffic")
    with page.expect_download() as saved:
        page.locator(".points-svg button").click()
    assert saved.value.suggested_filename.endswith("planners.svg")
    rows.filter(has_text="in 88 KiB").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".card.peak")).to_contain_text(re.compile("of 88 KiB"))
    page.locator(".close-planners button").click()
    expect(page.locator(".planners .buys")).to_be_hidden()
