"""Teaching in a real browser.

The tour from its button to its end, by keys and from a link · a term explained by pointer and key ·
a hall: a layout, play and pause, the next move, a remote control, a lecture dropped and given ·
the glossary in the help.
"""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page

from tests.ui.conftest import VIT, Go, SharedPage, comes_true, expect, over_models


def step(page: Page) -> int:
    found = re.search(r"Step (\d+) of", page.locator(".step-title .now").inner_text())
    assert found
    return int(found.group(1))


FIND = """const find = (root, name) => { for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains(name)) return node;
    const inner = node.shadowRoot && find(node.shadowRoot, name);
    if (inner) return inner; } };"""
IN_SIGHT = f"""() => {{
  {FIND}
  const [light, callout] = ['spotlight', 'callout'].map((name) => find(document, name));
  if (!light || !callout) return false;
  const box = light.getBoundingClientRect(), words = callout.getBoundingClientRect();
  return box.height > 20 && box.top >= 0 && box.top < 720 && words.left >= 0 && words.top >= 0
    && words.right <= 1280 && words.bottom <= 720;
}}"""


def at_stop(page: Page, number: int) -> None:
    """The stop is there, with its plan, and what it tells of is outlined in sight."""
    expect(page.locator(".callout .count")).to_have_text(f"{number} of 12")
    expect(page.locator(".callout .spin")).to_have_count(0)
    expect(page.locator(".spotlight")).to_be_visible()
    comes_true(page, IN_SIGHT)


BESIDE = """() => {
  const { shadowRoot } = document.querySelector('.spillway-tour');
  const [one, other] = ['.spotlight', '.callout'].map((name) =>
    shadowRoot.querySelector(name).getBoundingClientRect());
  return one.width > 0 && (one.right <= other.left || other.right <= one.left
    || one.bottom <= other.top || other.bottom <= one.top);
}"""
"""The words of the tour lie beside what they are about."""


def test_the_tour_leads_through_all_views_and_back(go: Go) -> None:
    page = go(VIT)
    page.locator(".budget-MP button").click()
    expect(page.locator(".card.extra")).to_contain_text("0 B")
    start = step(page)
    page.locator(".header-button.tour button").click()
    for number in range(1, 13):
        at_stop(page, number)
        comes_true(page, BESIDE)
        if number % 2:
            page.locator(".callout .next").click()
        else:
            page.keyboard.press("ArrowRight")
    expect(page.locator(".callout")).to_have_count(0)
    expect(page.locator(".card.name")).to_contain_text("vit_b_16")
    expect(page.locator(".card.extra")).to_contain_text("0 B")
    expect(page).to_have_url(re.compile("model=vit_b_16.*|.*budget=MP"))
    now = page.locator(".step-title .now")
    expect(now).to_contain_text(f"Step {start} of 113")
    page.keyboard.press("ArrowRight")
    expect(now).to_contain_text(f"Step {start + 1} of 113")


def test_a_link_starts_the_tour_and_escape_ends_it(dark: SharedPage) -> None:
    page = dark.open("?tour=1&theme=dark")
    colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(18, 22, 26)"
    at_stop(page, 1)
    page.keyboard.press("ArrowRight")
    at_stop(page, 2)
    page.keyboard.press("ArrowLeft")
    at_stop(page, 1)
    page.keyboard.press("Escape")
    expect(page.locator(".callout")).to_have_count(0)
    expect(page.locator(".card.name")).to_contain_text("mobilenet_v2")
    assert "tour=" not in page.url
    assert dark.wrong == []


def tip(page: Page, selector: str) -> tuple[str, str]:
    """Whether a term's meaning is to be seen, and what it says."""
    found: tuple[str, str] = page.locator(selector).first.evaluate(
        "e => { const s = getComputedStyle(e, '::after'); return [s.display, s.content]; }"
    )
    return found


def test_terms_are_explained_by_pointer_and_by_key(go: Go) -> None:
    page = go(VIT)
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


PRESENTED = f"""(names) => {{
  {FIND}
  return names.map((name) => {{
    const box = find(document, name).getBoundingClientRect();
    return [box.top, box.bottom, box.width];
  }});
}}"""
CURSOR = "Bokeh.documents[0].get_model_by_name('cursor-slider').value"
LETTERS = "e => parseFloat(getComputedStyle(e).fontSize)"
READABLE = (
    "all.filter(m => m.type === 'Figure' && ['dag', 'address-map'].includes(m.css_classes[0]))"
    ".every(m => m.height >= 110)"
)
"""Neither of two views is crushed in a window 720 high."""


def fill_the_screen(page: Page, *names: str) -> None:
    """The boxes lie one below the other within the window, which they fill."""
    comes_true(
        page,
        f"(names) => ({PRESENTED})(names).every(([top, bottom, width]) => top >= 0"
        " && bottom <= innerHeight && bottom > top && width > 0.9 * innerWidth)",
        arg=list(names),
    )
    places = page.evaluate(PRESENTED, list(names))
    assert all(above[1] <= below[0] + 1 for above, below in zip(places, places[1:], strict=False))
    assert places[-1][1] > 600


LECTURE = {
    "format": "spillway-lecture",
    "version": 1,
    "title": "Memory",
    "items": [
        {
            "title": "One <b>step</b>",
            "link": "?model=squeezenet1_1&step=3",
            "note": "Why?",
            "steps": 1,
        },
        {"title": "Time", "link": "https://else.where/main?model=squeezenet1_1&presenting=time"},
    ],
}
DROP = """([name, text]) => {
  const dataTransfer = new DataTransfer();
  if (name) dataTransfer.items.add(new File([text], name));
  else dataTransfer.setData('text/plain', text);
  const kind = { bubbles: true, composed: true, cancelable: true };
  const at = { ...kind, clientX: 700, clientY: 500, dataTransfer };
  const on = document.elementFromPoint(700, 500);
  for (const name of ['dragenter', 'dragover', 'drop']) on.dispatchEvent(new DragEvent(name, at));
}"""
"""A file, or a text, dropped in the middle of the page."""


def test_a_hall_sees_plays_pauses_and_goes_to_the_next_move(go: Go) -> None:
    page = go(VIT)
    small = page.locator(".story").evaluate(LETTERS)
    page.keyboard.press("p")
    expect(page.locator(".story.large")).to_be_visible()
    expect(page.locator(".presenter-bar h1")).to_contain_text("vit_b_16")
    assert page.locator(".story").evaluate(LETTERS) >= 1.5 * small
    fill_the_screen(page, "presenter-bar", "stepper", "story-box", "address-map", "occupancy")
    expect(page.locator(".model input")).not_to_be_visible()
    page.keyboard.press("4")
    fill_the_screen(page, "presenter-bar", "stepper", "story-box", "lanes")
    page.keyboard.press("2")
    fill_the_screen(page, "presenter-bar", "stepper", "story-box", "graph-box")
    comes_true(page, over_models("all.find(m => m.css_classes?.[0] === 'dag').height >= 140"))
    page.locator(".presenter-bar .layout.network-memory").click()
    fill_the_screen(page, "presenter-bar", "stepper", "story-box", "graph-box", "memory")
    comes_true(page, over_models(READABLE))
    start = step(page)
    page.keyboard.press("PageDown")
    expect(page.locator(".step-title .now")).to_contain_text(f"Step {start + 1} of")
    page.keyboard.press("PageUp")
    expect(page.locator(".step-title .now")).to_contain_text(f"Step {start} of")
    page.locator(".pace select").select_option("fast")
    page.keyboard.press("Home")  # the end of 113 steps is far
    page.keyboard.press(" ")
    expect(page.locator(".play button")).to_contain_text("pause")
    comes_true(page, f"() => {CURSOR} > 1")
    page.locator(".play button").click()
    expect(page.locator(".play button")).to_contain_text("play")  # said once the cursor stands
    stopped = int(page.evaluate(f"() => {CURSOR}"))
    page.wait_for_timeout(1200)  # a clock for what must not come
    assert page.evaluate(f"() => {CURSOR}") == stopped
    expect(page.locator(".step-title .now")).to_contain_text(f"Step {stopped + 1} of")
    page.keyboard.press("n")
    expect(page.locator(".step-title .now")).not_to_contain_text(f"Step {stopped + 1} of")
    expect(page.locator(".story")).to_contain_text(re.compile("spilled|came back"))
    page.keyboard.press("End")
    expect(page.locator(".story")).to_contain_text("an output of the network")
    expect(page).to_have_url(re.compile("presenting=network-memory"))
    page.keyboard.press("Escape")
    expect(page.locator(".story.large")).to_have_count(0)
    expect(page.locator(".presenter-bar")).to_have_count(0)
    expect(page.locator(".model input")).to_be_visible()
    page.evaluate(DROP, ["mine.json", json.dumps(LECTURE)])
    expect(page.locator(".message")).to_contain_text("“Memory”: 2 items")
    page.locator(".present-memory button").click()
    head, now = page.locator(".presenter-bar h1"), page.locator(".step-title .now")
    page.keyboard.press("PageDown")
    expect(head).to_have_text("One <b>step</b>")
    expect(now).to_contain_text("Step 4 of 38")
    page.keyboard.press("PageDown")
    expect(now).to_contain_text("Step 5 of 38")
    page.keyboard.press("PageDown")
    expect(head).to_have_text("Time")
    fill_the_screen(page, "presenter-bar", "stepper", "story-box", "lanes")
    page.keyboard.press("Escape")
    page.locator(".header-button.lecture button").click()
    expect(page.locator(".lecture-items section")).to_have_count(2)
    for name, inside in (("handout", "Why?"), ("save", "spillway-lecture")):
        with page.expect_download() as saved:
            page.locator(f".lecture-{name} button").click()
        assert inside in saved.value.path().read_text("utf-8")
