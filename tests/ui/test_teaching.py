"""Teaching in a real browser.

The tour from its button to its end, by keys and from a link · a term explained by pointer and key ·
play and pause, the next move, large words · the glossary in the help.
"""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

PATIENCE_MS = 60_000


def step(page: Page) -> int:
    found = re.search(r"Step (\d+) of", page.locator(".step-title .now").inner_text())
    assert found
    return int(found.group(1))


def at_stop(page: Page, number: int) -> None:
    """The stop is there, with its plan, and what it tells of is outlined in sight."""
    expect(page.locator(".callout .count")).to_have_text(f"{number} of 12", timeout=PATIENCE_MS)
    expect(page.locator(".callout .spin")).to_have_count(0, timeout=PATIENCE_MS)
    expect(page.locator(".spotlight")).to_be_visible(timeout=PATIENCE_MS)
    page.wait_for_timeout(300)
    box = page.locator(".spotlight").bounding_box()
    callout = page.locator(".callout").bounding_box()
    assert box is not None
    assert callout is not None
    assert box["height"] > 20
    assert 0 <= box["y"] < 720
    assert callout["x"] >= 0
    assert callout["y"] >= 0
    assert callout["x"] + callout["width"] <= 1280
    assert callout["y"] + callout["height"] <= 720


def test_the_tour_leads_through_all_views_and_back(open_page: Any) -> None:
    page = open_page()
    page.locator(".budget-MP button").click()
    expect(page.locator(".card.extra")).to_contain_text("0 B", timeout=PATIENCE_MS)
    start = step(page)
    page.locator(".header-button.tour button").click()
    for number in range(1, 13):
        at_stop(page, number)
        if number % 2:
            page.locator(".callout .next").click()
        else:
            page.keyboard.press("ArrowRight")
    expect(page.locator(".callout")).to_have_count(0)
    expect(page.locator(".card.name")).to_contain_text("vit_b_16")
    expect(page.locator(".card.extra")).to_contain_text("0 B")
    expect(page).to_have_url(re.compile("model=vit_b_16.*|.*budget=MP"))
    now = page.locator(".step-title .now")
    expect(now).to_contain_text(f"Step {start} of 113", timeout=PATIENCE_MS)
    page.keyboard.press("ArrowRight")
    expect(now).to_contain_text(f"Step {start + 1} of 113", timeout=PATIENCE_MS)


def test_a_link_starts_the_tour_and_escape_ends_it(open_page: Any) -> None:
    page = open_page("?tour=1&theme=dark")
    at_stop(page, 1)
    page.keyboard.press("ArrowRight")
    at_stop(page, 2)
    page.keyboard.press("ArrowLeft")
    at_stop(page, 1)
    page.keyboard.press("Escape")
    expect(page.locator(".callout")).to_have_count(0)
    expect(page.locator(".card.name")).to_contain_text("vit_b_16")
    assert "tour=" not in page.url


def tip(page: Page, selector: str) -> tuple[str, str]:
    """Whether a term's meaning is to be seen, and what it says."""
    found: tuple[str, str] = page.locator(selector).first.evaluate(
        "e => { const s = getComputedStyle(e, '::after'); return [s.display, s.content]; }"
    )
    return found


def test_terms_are_explained_by_pointer_and_by_key(open_page: Any) -> None:
    page = open_page()
    spill, stall = ".card.extra .term", ".lanes-legend .term"
    assert tip(page, spill)[0] == "none"
    page.locator(spill).first.hover()
    shown, words = tip(page, spill)
    assert shown == "block"
    assert "non-compulsory traffic" in words
    page.locator(".lanes").scroll_into_view_if_needed()
    expect(page.locator(stall).first).to_be_visible()
    page.keyboard.press("Tab")
    page.locator(stall).first.focus()
    assert tip(page, stall)[0] == "block"
    assert page.locator(stall).first.get_attribute("aria-label").startswith("stall: ")
    page.keyboard.press("?")
    expect(page.locator("#pn-Modal")).to_contain_text("Glossary")
    expect(page.locator("#pn-Modal dt").first).to_have_text("address")


def test_a_lecture_plays_pauses_and_goes_to_the_next_move(open_page: Any) -> None:
    page = open_page()
    small = page.locator(".story").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    page.keyboard.press("t")
    expect(page.locator(".story.teach")).to_be_visible()
    large = page.locator(".story").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert large >= 1.5 * small
    page.locator(".pace select").select_option("fast")
    before = step(page)
    page.keyboard.press(" ")
    expect(page.locator(".play button")).to_contain_text("pause")
    page.wait_for_function(
        f"() => Bokeh.documents[0].get_model_by_name('cursor-slider').value > {before + 1}"
    )
    page.locator(".play button").click()
    expect(page.locator(".play button")).to_contain_text("play")
    page.wait_for_timeout(800)
    stopped = step(page)
    page.wait_for_timeout(1200)
    assert step(page) == stopped
    page.keyboard.press("n")
    expect(page.locator(".step-title .now")).not_to_contain_text(f"Step {stopped} of")
    expect(page.locator(".story")).to_contain_text(re.compile("spilled|came back"))
    page.keyboard.press("End")
    expect(page.locator(".story")).to_contain_text("an output of the network")
    expect(page).to_have_url(re.compile("teaching=1"))
    page.keyboard.press("t")
    expect(page.locator(".story.teach")).to_have_count(0)
