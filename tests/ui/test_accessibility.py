"""One journey for everybody: what axe finds in the page's states, light and dark, the keyboard
alone, a narrow window, and a printer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.ui.axe import needs_axe, violations
from tests.ui.conftest import SMALL, WHITE, SharedPage, comes_true, expect

FOCUSED = """() => {
  let at = document.activeElement;
  while (at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  const look = getComputedStyle(at);
  return { tag: at.tagName, name: at.id || at.getAttribute('aria-label')
      || at.textContent.slice(0, 30) || at.className,
    seen: look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 2 };
}"""

OVER_THE_PAGE = """() => {
  const sidebar = document.getElementById('sidebar');
  const { left, top } = sidebar.getBoundingClientRect();
  return sidebar.contains(document.elementFromPoint(left + 130, top + 40));
}"""
"""Whether the sidebar lies over what is under it."""


@pytest.fixture
def small(dark: SharedPage) -> Iterator[Page]:
    """A small plan on the page of a visitor whose system is dark."""
    yield dark.go(SMALL)
    assert dark.wrong == []


def turn(page: Page, theme: str) -> None:
    """Have the page light (`default`) or dark."""
    button, is_dark = page.locator("#theme-button"), str(theme == "dark").lower()
    if button.get_attribute("aria-pressed") != is_dark:
        button.click()
    expect(button).to_have_attribute("aria-pressed", is_dark)
    comes_true(page, WHITE, arg=theme != "dark")


def test_all_that_tab_reaches_shows_it(small: Page) -> None:
    page = small
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUSED))
        if seen[-1]["tag"] == "BODY":
            break
    assert [at["name"] for at in seen if not at["seen"] and at["tag"] != "BODY"] == []
    assert len({at["name"] for at in seen}) > 30


def test_the_dialog_takes_the_focus_and_gives_it_back(small: Page) -> None:
    page = small
    page.locator(".header-button.help button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#pn-closeModal")).to_be_focused()
    assert page.locator("#main").evaluate("e => e.inert")
    page.keyboard.press("Enter")
    expect(page.locator("#pn-Modal")).to_be_hidden()
    assert "help" in page.evaluate(FOCUSED)["name"].lower()


def test_a_narrow_window_and_a_printer_have_all_views(small: Page) -> None:
    page = small
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#sidebar")).to_have_class(re.compile("hidden"))
    comes_true(page, "document.getElementById('main').scrollWidth <= 390")
    page.locator("#sidebar-button").click()
    comes_true(page, OVER_THE_PAGE)
    page.locator("#sidebar-button").click()
    for opened, closes in (("comparison", "close-comparison"), ("planners", "close-planners")):
        page.keyboard.press("s" if opened == "comparison" else "a")
        if opened == "comparison":
            page.locator(".open-compare button").click()
        expect(page.locator(f".{opened}.box")).to_be_visible()
        comes_true(page, "document.getElementById('main').scrollWidth <= 390")
        if opened == "planners":  # One of those that are installed here never ends by itself.
            page.locator(".stop-all button").click()
        page.locator(f".{closes} button").click()
    page.keyboard.press("p")
    stepper = page.locator(".stepper[data-presented] button").first
    expect(stepper).to_be_visible()
    assert stepper.evaluate(TOPMOST)
    page.keyboard.press("Escape")
    page.evaluate("window.print = () => { window.printed = 1; }")
    page.keyboard.press("Control+p")
    comes_true(page, "window.printed === 1")
    expect(page.locator(".lanes canvas").first).to_be_attached()  # it was not near the window
    page.set_viewport_size({"width": 1280, "height": 720})
    page.locator("#sidebar-button").click()
    expect(page.locator("#sidebar")).not_to_have_class(re.compile("hidden"))


TOPMOST = """(e) => {
  const { left, top, width, height } = e.getBoundingClientRect();
  let at = document.elementFromPoint(left + width / 2, top + height / 2);
  while (at.shadowRoot) {
    const inner = at.shadowRoot.elementFromPoint(left + width / 2, top + height / 2);
    if (!inner || inner === at) break;
    at = inner;
  }
  return at === e;
}"""
"""Whether nothing covers an element."""


@needs_axe
def test_axe_has_nothing_against_the_page_light_and_dark(small: Page) -> None:
    page = small
    turn(page, "default")
    assert violations(page) == []
    page.locator(".live tr.tap").first.click()
    page.keyboard.press("w")
    expect(page.locator(".what-if").first).to_be_visible()
    turn(page, "dark")
    assert violations(page) == []
    page.keyboard.press("?")
    expect(page.locator("#pn-Modal")).to_contain_text("Glossary")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.locator(".budget-typed input").fill("2 KiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".message")).to_contain_text(" needs ")
    assert violations(page) == []


@needs_axe
@pytest.mark.parametrize("theme", ["default", "dark"])
def test_axe_has_nothing_against_planners_compared_and_a_lecture(
    dark: SharedPage, theme: str
) -> None:
    page = dark.go(f"{SMALL}&planner=fusion")
    turn(page, theme)
    found = {"fusion": violations(page)}
    page.keyboard.press("s")
    page.locator(".open-compare button").click()
    page.locator(".budget-typed input").fill("2 MiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".comparison .totals")).to_contain_text("%")
    found["comparison"] = violations(page)
    page.locator(".close-comparison button").click()
    page.locator(".pareto-box").scroll_into_view_if_needed()
    page.locator(".all-planners button").click()
    expect(page.locator(".planners .buys tr.tap").first).to_be_visible()
    found["all planners"] = violations(page)
    page.locator(".close-planners button").click()
    page.keyboard.press("p")
    expect(page.locator(".presenter-bar h1")).to_be_visible()
    expect(page.locator(".pace select")).to_have_attribute("aria-label", "pace")
    found["presenter"] = violations(page)
    page.keyboard.press("Escape")
    page.locator(".header-button.more button").click()  # The line in the header comes back.
    expect(page.locator(".tagline em")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator(".tagline em")).to_be_hidden()
    found["presenter"] += violations(page)
    page.keyboard.press("Escape")
    assert {state: rules for state, rules in found.items() if rules} == {}
