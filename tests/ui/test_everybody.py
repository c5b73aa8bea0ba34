"""One journey for everybody: what axe finds in the page's states, light and dark, the keyboard
alone, a narrow window, and a printer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.axe import violations
from tests.ui.conftest import PATIENCE_MS, Open, visiting

FOCUSED = """() => {
  let at = document.activeElement;
  while (at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  const look = getComputedStyle(at);
  return { tag: at.tagName, name: at.id || at.getAttribute('aria-label')
      || at.textContent.slice(0, 30) || at.className,
    seen: look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 2 };
}"""
WHITE = (
    "(white) => [...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'Figure')"
    ".every((m) => (m.background_fill_color === '#ffffff') === white)"
)


@pytest.fixture(scope="module")
def visit(browser: Browser, server: str) -> Iterator[Open]:
    """A visitor whose system is dark."""
    context = browser.new_context(color_scheme="dark")
    with visiting(context.new_page(), server) as opened:
        yield opened
    context.close()


@pytest.fixture(scope="module")
def small(visit: Open) -> Page:
    """A small plan, for the journeys that go on from one another."""
    page: Page = visit("?v=1&model=squeezenet1_1&input_shape=1x3x64x64")
    expect(page.locator(".card.name")).to_contain_text("squeezenet1_1", timeout=PATIENCE_MS)
    return page


def test_a_dark_system_has_a_dark_page_and_a_button_turns_it(small: Page) -> None:
    page = small
    page.wait_for_function(WHITE, arg=False)
    page.evaluate("window.loaded = 'once'")
    page.locator("#theme-button").click()
    page.wait_for_function(WHITE, arg=True)
    assert page.evaluate("window.loaded") == "once"
    expect(page).to_have_url(re.compile("theme=default"))
    expect(page.locator("#theme-button")).to_have_attribute("aria-pressed", "false")


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
    page.wait_for_function("document.getElementById('main').scrollWidth <= 390")
    page.evaluate("window.print = () => { window.printed = 1; }")
    page.keyboard.press("Control+p")
    page.wait_for_function("window.printed === 1")
    expect(page.locator(".lanes canvas").first).to_be_attached()  # it was not near the window
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.locator("#sidebar")).not_to_have_class(re.compile("hidden"))


def test_axe_has_nothing_against_the_page_light_and_dark(small: Page) -> None:
    page = small
    assert violations(page) == []
    page.locator(".live tr.tap").first.click()
    page.keyboard.press("w")
    expect(page.locator(".what-if").first).to_be_visible(timeout=PATIENCE_MS)
    page.locator("#theme-button").click()
    page.wait_for_function(WHITE, arg=False)
    assert violations(page) == []
    page.keyboard.press("?")
    expect(page.locator("#pn-Modal")).to_contain_text("Glossary")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.locator(".budget-typed input").fill("2 KiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".message")).to_contain_text("No plan fits", timeout=PATIENCE_MS)
    assert violations(page) == []


@pytest.mark.parametrize("theme", ["default", "dark"])
def test_axe_has_nothing_against_planners_compared_and_a_lecture(visit: Open, theme: str) -> None:
    page = visit(f"?v=1&model=squeezenet1_1&input_shape=1x3x64x64&planner=fusion&theme={theme}")
    expect(page.locator(".card.name")).to_contain_text("squeezenet1_1", timeout=PATIENCE_MS)
    found = {"fusion": violations(page)}
    page.keyboard.press("s")
    page.locator(".open-compare button").click()
    page.locator(".budget-typed input").fill("2 MiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".comparison .totals")).to_contain_text("%", timeout=PATIENCE_MS)
    found["comparison"] = violations(page)
    page.locator(".close-comparison button").click()
    page.locator(".pareto-box").scroll_into_view_if_needed()
    page.locator(".all-planners button").click()
    expect(page.locator(".planners .buys tr.tap").first).to_be_visible(timeout=2 * PATIENCE_MS)
    found["all planners"] = violations(page)
    page.locator(".close-planners button").click()
    page.keyboard.press("p")
    expect(page.locator(".presenter-bar h1")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".pace select")).to_have_attribute("aria-label", "pace")
    found["presenter"] = violations(page)
    page.keyboard.press("Escape")
    assert {state: rules for state, rules in found.items() if rules} == {}
