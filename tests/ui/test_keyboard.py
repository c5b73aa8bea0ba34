"""The README's five minutes with the keyboard alone: what 64 KiB more would buy MobileNetV2."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.ui.conftest import Open

MOST = 400
WITHIN = """(css) => {
  let at = document.activeElement;
  while (at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  for (; at; at = at.parentNode || at.host) if (at.matches && at.matches(css)) return true;
  return false;
}"""


def tab_to(page: Page, css: str, key: str = "Tab") -> int:
    """Press a key until the focus is within what a selector names; how often that was."""
    for pressed in range(1, MOST):
        page.keyboard.press(key)
        if page.evaluate(WITHIN, css):
            return pressed
    raise AssertionError(f"{css} is not reached within {MOST} times {key}")


def test_the_five_minutes_of_the_readme_without_a_mouse(open_page: Open) -> None:
    page = open_page("?swept=%5B%22cosma%22%2C%22fusion%22%5D")
    expect(page.locator(".verdict")).to_contain_text("mobilenet_v2 does not fit")
    pressed = tab_to(page, ".planner")
    page.keyboard.type("COSMA")
    expect(page.locator(".message")).to_contain_text("No plan fits")
    expect(page.locator(".ways-out")).to_contain_text("Plan with fusion")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    rows = page.locator(".planners .buys tr.tap")
    expect(rows.first).to_be_visible()
    expect(page.locator(".planners .answer")).to_contain_text("buys")
    pressed += tab_to(page, ".buys")
    print(f"Tab {pressed} times")
    page.keyboard.press("Enter")
    expect(page.locator(".card.peak")).to_contain_text(re.compile("of 3"))
