"""Journeys through the planner's options in a real browser.

The best order, with its bound watched and the plan kept at a cancel · break nodes by hand ·
the least peak · an option that the solver refuses.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import VIT, Go, expect


def choose(page: Page, name: str, label: str) -> None:
    page.locator(f".{name} select").select_option(label=label)


def bound(page: Page) -> str:
    """The bound that the window on the solver shows."""
    found = re.search(r"proven bound ([\d.]+ \w+)", page.locator(".live-solver .key").inner_text())
    return found.group(1) if found else ""


def marks(page: Page) -> int:
    """How many scissors there are in the graph."""
    found = page.evaluate(
        "() => [...Bokeh.documents[0]._all_models.values()].filter(m => m.data && m.data.bottom"
        " && m.data.x && m.data.text).map(m => m.data.x.length)[0]"
    )
    return int(found)


LARGE = "?v=1&model=timm:pnasnet5large&granularity=folded&time_limit=300"


@pytest.mark.parametrize(
    ("link", "schedule", "all_stays"),
    [
        pytest.param(VIT + "&planner=patient", "", "886.5 KiB", id="held"),
        # Its best order takes half a minute, and the bound rises all the while: a clock.
        # Where all stays is known by then of the model's own order, or of a better one.
        pytest.param(LARGE, "best order (joint)", "7.", id="large", marks=pytest.mark.long),
    ],
)
def test_the_best_order_is_searched_with_its_bound_in_sight(
    go: Go, link: str, schedule: str, all_stays: str
) -> None:
    page = go(link, planned=bool(schedule))
    if schedule:
        choose(page, "schedule", schedule)
    live = page.locator(".live-solver")
    expect(live).to_contain_text(re.compile(r"gap \d+\.\d%"))
    expect(live).to_contain_text("spill traffic")
    expect(live.locator("polyline")).to_have_count(2)
    first = bound(page)
    assert first
    expect(live).not_to_contain_text(f"proven bound {first}")
    page.locator(".cancel button").click()
    badge = page.locator(".card.badge")
    expect(badge).to_contain_text(re.compile(r"feasible, gap \d+\.\d%"))
    expect(badge).to_contain_text("over all orders")
    expect(live).to_be_hidden()
    expect(page.locator(".budget-MP button")).to_contain_text(all_stays)


def test_break_nodes_are_found_and_then_chosen_by_hand(go: Go) -> None:
    page = go(VIT)
    expect(page.locator(".cut button")).to_be_hidden()
    choose(page, "schedule", "divide and conquer (DnC)")
    chips = page.locator(".breaks .chip")
    expect(chips.first).to_be_visible()
    found = chips.count()
    assert marks(page) > 0
    expect(page.locator(".breaks .cross")).to_have_count(0)
    page.locator(".by-hand").get_by_text("by hand").click()
    expect(page.locator(".breaks .cross")).to_have_count(found)
    page.locator(".breaks .all").click()
    expect(page.locator(".message")).to_contain_text("No break nodes yet")
    page.keyboard.press("/")
    page.keyboard.type("linear_9")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("selection=operator%3Alinear_9"))
    page.keyboard.press("b")
    expect(chips).to_have_text([re.compile("linear_9")])
    expect(page).to_have_url(re.compile("break_nodes=%5B%22linear_9%22%5D"))
    expect(page.locator(".message")).to_be_hidden()
    expect(page.locator(".back button")).to_be_hidden()
    assert marks(page) == 1
    expect(page.locator(".cut button")).to_have_text("✂ no break (b)")
    page.locator(".by-hand").get_by_text("automatic").click()
    expect(chips).to_have_count(found)


def test_the_least_peak_is_an_objective_and_says_what_budget_it_needs(go: Go) -> None:
    page = go(VIT)
    choose(page, "schedule", "best order (joint)")
    choose(page, "objective", "least peak memory")
    expect(page).to_have_url(re.compile("objective=peak"))
    message = page.locator(".message")
    expect(message).to_contain_text("COSMA needs 886.5 KiB without spills.")
    page.locator(".nearest button").click()
    badge = page.locator(".card.badge")
    expect(badge.locator("b")).to_have_attribute(
        "title",
        re.compile("peak memory: proven least"),
    )
    expect(badge).to_contain_text("over all orders")
    expect(page.locator(".card.extra")).to_contain_text("0 B")
    page.locator(".header-button.python button").click()
    expect(page.locator("#pn-Modal pre")).to_contain_text("objective='peak'")


def test_what_others_rule_out_is_disabled_and_says_why(go: Go) -> None:
    page = go(VIT)
    expect(page.locator(".replacement select")).to_be_hidden()
    page.locator(".more-options button").click()
    choose(page, "replacement", "Belady")
    expect(page.locator(".card.badge")).to_contain_text("heuristic")
    choose(page, "method", "the paper's ILP")
    expect(page.locator(".replacement select")).to_be_disabled()
    expect(
        page.locator(".why-not", has_text="the ILP itself chooses what is spilled")
    ).to_be_visible()
    expect(page.locator(".solver select")).to_be_visible()
    choose(page, "method", "our search")
    expect(page.locator(".replacement select")).to_be_enabled()
    expect(page.locator(".replacement select")).to_have_value("Belady")
