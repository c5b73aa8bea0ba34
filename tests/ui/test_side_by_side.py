"""Journey: a plan is pinned, another compared with it: table, graph colours, both plans' views."""

from __future__ import annotations

from tests.ui.conftest import VIT, Go, expect


def test_two_plans_are_compared_in_table_graph_and_views(go: Go) -> None:
    page = go(VIT)
    page.locator(".open-compare button").click()
    expect(page.locator(".comparison .asked")).to_contain_text("This plan is pinned.")
    expect(page.locator(".comparison .keep-plan button")).to_be_in_viewport()
    panel = page.locator(".comparison")
    expect(panel.locator(".shelf select")).to_have_value("cosma, 738.8 KiB")
    page.locator(".budget-typed input").fill("900 KiB")
    page.keyboard.press("Enter")
    expect(page.locator(".card.peak")).to_contain_text("of 900 KiB")
    expect(panel.locator(".asked")).to_contain_text("budget")
    expect(panel.locator(".totals")).to_contain_text("−100.0%")
    rows = panel.locator(".tensor-differences tr.tap")
    expect(rows.first).to_contain_text("spilled only in the pinned plan")
    rows.first.click()
    expect(panel.locator(".tensor-differences tr.on")).to_have_count(1)
    panel.locator(".graph-differences button").click()
    legend = page.locator(".legend span", has_text="△ spilled only in the pinned plan")
    expect(legend.first).to_be_visible()
    expect(page.locator(".split-title")).to_contain_text("Pinned: cosma, 738.8 KiB")
    with page.expect_download() as saved:
        panel.locator(".differences-csv").locator("a, button").first.click()
    assert saved.value.suggested_filename == "differences.csv"
    panel.locator(".close-comparison button").click()
    expect(panel.locator(".totals")).to_be_hidden()
