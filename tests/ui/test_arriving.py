"""Journeys of somebody who arrives: at the first plan, or by a link.

A plan at first paint, and the README's five minutes with the keyboard alone: what 64 KiB more would
buy MobileNetV2 · a link copied and followed, on a system that is dark · a theme that there is not.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page

from planners.core.units import format_bytes, parse_size
from tests.ui.conftest import (
    BANDS,
    SMALL,
    WHITE,
    Go,
    SharedPage,
    comes_true,
    expect,
    is_planned,
    models,
)

MOST = 400
ROOT = Path(__file__).parents[2]
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


FRAMES = """() => new Promise((done) => {
  const asked = window.requestAnimationFrame;
  let count = 0;
  window.requestAnimationFrame = (act) => { count += 1; return asked(act); };
  setTimeout(() => { window.requestAnimationFrame = asked; done(count); }, 500);
})"""
"""How many frames the page asks for in half a second."""


CHANGED_EARLY = """async () => {
  const all = [...Bokeh.documents[0]._all_models.values()], thrown = [];
  let tried = 0;
  for (const type of new Set(all.map((model) => model.type))) {
    const model = all.find((one) => one.type === type), View = model.default_view;
    let is = View;
    while (is && is.__name__ !== 'WidgetView') is = Object.getPrototypeOf(is);
    if (!is) continue;
    const view = new View({ model, parent: null });
    view.initialize();
    await view.lazy_initialize();
    view.connect_signals();
    for (const property of model) {
      tried += 1;
      try { property.change.emit(); }
      catch (error) { thrown.push(`${type} ${property.attr}: ${error}`); }
    }
    view.remove();
  }
  return [tried, thrown];
}"""
"""Changes each property of each kind of widget on the page between when its view is made and when
it is drawn: how many, and what is thrown."""


LAYOUTS = """() => {
  const [page] = Bokeh.documents;
  const inner = (view) => (view.child_views ?? []).flatMap((child) => [child, ...inner(child)]);
  const root = [...Bokeh.index.roots].find((view) => inner(view).length > 5);
  const { update_layout } = root;
  let count = 0;
  root.update_layout = function () { count += 1; update_layout.call(this); };
  const change = (attr, value) => page.apply_json_patch({ events: inner(root).slice(0, 5).map(
    (view) => ({ kind: 'ModelChanged', model: { id: view.model.id }, attr, new: value })) });
  const before = inner(root).slice(0, 5).map((view) => view.model.margin);
  change('margin', 7);
  const of_one = count;
  const back = () => before.forEach((margin, i) => { inner(root)[i].model.margin = margin; });
  back();
  const alone = count - of_one;
  change('margin', 7);
  document.laidOutOnce(back);
  const together = count - of_one - alone - 1;
  root.update_layout = update_layout;
  const sheets = () => inner(root).map((view) => view.style?.el.firstChild);
  const now = sheets();
  root.invalidate_layout();
  return [of_one, alone, together, sheets().filter((text, i) => text !== now[i]).length];
}"""
"""How often the page is laid out for five changes: in a message, alone, and of a script's. And how
many style sheets are written anew where nothing has changed."""


def test_changes_of_one_message_are_one_layout(go: Go) -> None:
    assert go(SMALL).evaluate(LAYOUTS) == [1, 5, 1, 0]


def test_a_plan_is_there_at_first_paint_and_a_sentence_says_what_it_shows(
    shared_page: SharedPage,
) -> None:
    page = shared_page.open()
    expect(page.locator(".verdict")).to_contain_text("Run naively, mobilenet_v2 needs 1.437 MiB.")
    expect(page.locator(".verdict")).to_contain_text("In 256 KiB it still runs, in one")
    expect(page.locator(".card.name")).to_contain_text("mobilenet_v2")
    expect(page.locator(".card.peak")).to_contain_text("of 256 KiB")
    expect(page.locator(".story tr").first).to_be_visible()
    assert page.locator("canvas").count() >= 5
    assert len(models(page, BANDS)) in (2, 3)  # what is below is made by and by
    assert page.title() == "Spillway"
    assert any(page.evaluate(FRAMES) == 0 for _ in range(30))  # at rest it asks for none
    page.goto(page.url + SMALL, wait_until="commit")
    coming = page.locator(".coming")
    expect(coming.locator("p")).to_contain_text("Last seen here: Run naively, mobilenet_v2 needs")
    expect(coming.locator("img")).to_have_attribute("src", re.compile("^data:image/"))
    is_planned(page)
    expect(coming).to_have_count(0)


def test_a_change_before_a_widget_is_drawn_stops_no_message(
    go: Go, shared_page: SharedPage
) -> None:
    tried, thrown = go(SMALL).evaluate(CHANGED_EARLY)
    assert tried > 100
    assert thrown == []
    shared_page.close()  # What journeys have opened on it is closed anew.


def promised_words(page: Page | None = None) -> set[str]:
    """What the README names in italics, all of it or as far as it is on the page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    words = set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", text))
    return words if page is None else {w for w in words if page.get_by_text(w).count()}


def test_the_five_minutes_of_the_readme_without_a_mouse(go: Go) -> None:
    page = go("?swept=%5B%22cosma%22%2C%22fusion%22%5D")  # the plan is there: it stays
    expect(page.locator(".verdict")).to_contain_text("mobilenet_v2 needs")
    promised, at_first = promised_words(), promised_words(page)
    assert len(promised) >= 5
    pressed = tab_to(page, ".planner")
    page.keyboard.type("COSMA")
    expect(page.locator(".message")).to_contain_text("COSMA needs 1.437 MiB")
    expect(page.locator(".ways-out")).to_contain_text("Plan with fusion")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    rows = page.locator(".planners .buys tr.tap")
    expect(rows.first).to_be_visible()
    expect(page.locator(".planners .answer")).to_contain_text("buys")
    page.locator(".header-button.more button").click()
    expect(page.locator(".header-button.more button")).to_contain_text("More")
    assert promised - at_first <= promised_words(page)
    pressed += tab_to(page, ".buys")
    print(f"Tab {pressed} times")
    page.keyboard.press("Enter")
    expect(page.locator(".card.peak")).to_contain_text(re.compile("of 3"))


def test_back_leads_to_the_plan_before_and_forward_to_the_one_after(go: Go) -> None:
    page = go(f"{SMALL}&budget=983040")
    field, peak = page.locator(".budget-typed input"), page.locator(".card.peak")
    expect(peak).to_contain_text("of 960 KiB")
    for size in ("1200 KiB", "1300 KiB"):
        field.fill(size)
        field.press("Enter")
        expect(peak).to_contain_text(f"of {format_bytes(parse_size(size))}")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")  # A view is no history.
    page.go_back()  # Before the server has said where the cursor is.
    expect(peak).to_contain_text("of 1.172 MiB")
    page.keyboard.press("ArrowRight")
    page.go_back()
    expect(peak).to_contain_text("of 960 KiB")
    expect(field).to_have_value("983040")  # As the link has it.
    page.go_forward()
    expect(peak).to_contain_text("of 1.172 MiB")


def test_a_link_restores_what_is_seen_on_a_page_as_dark_as_its_system(dark: SharedPage) -> None:
    page = dark.open(
        f"{SMALL}&step=7&panel=compare&unit=hex"
        "&pinned=%7B%22budget%22%3A%22MP%22%7D&selection=tensor%3Arelu_"
    )
    what_a_link_says_is_seen_and_copied(page)
    a_dark_system_has_a_dark_page_and_a_button_turns_it(page)
    assert dark.wrong == []


def what_a_link_says_is_seen_and_copied(page: Page) -> None:
    expect(page.locator(".card.name")).to_contain_text("squeezenet1_1")
    expect(page.locator(".step-title .now")).to_contain_text("Step 8 of")
    expect(page.locator(".live tr.tap").first).to_contain_text("0x")
    expect(page.locator(".compare-title")).to_contain_text("pinned MP")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".copy-link button").click()
    expect(page.locator(".copy-link-said")).to_contain_text("Link copied")
    text = page.evaluate("navigator.clipboard.readText()")
    for part in ("budget=MR", "step=7", "panel=compare", "selection=tensor%3Arelu_", "pinned="):
        assert part in text
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.locator(".copy-link button").click()
    field = page.locator(".copy-link-said input")
    expect(field).to_have_value(text)
    expect(field).to_be_focused()


FIELDS = """([ground, line]) => {
  const fields = (tree) => [...tree.querySelectorAll('*')].flatMap((node) => [
    ...(node.matches('select, input.bk-input') ? [node] : []),
    ...(node.shadowRoot ? fields(node.shadowRoot) : [])]);
  const styles = fields(document).map((field) => getComputedStyle(field));
  return styles.length > 3 && styles.every((style) =>
    style.backgroundColor === ground && style.borderTopColor === line);
}"""
"""Whether all fields have these colours."""
LIGHT_FIELDS, DARK_FIELDS = (
    ["rgb(255, 255, 255)", "rgb(16, 123, 183)"],
    ["rgb(24, 24, 24)", "rgb(0, 102, 159)"],
)


def a_dark_system_has_a_dark_page_and_a_button_turns_it(page: Page) -> None:
    comes_true(page, WHITE, arg=False)
    comes_true(page, FIELDS, arg=DARK_FIELDS)
    page.evaluate("window.loaded = 'once'")
    page.locator("#theme-button").click()
    comes_true(page, WHITE, arg=True)
    comes_true(page, FIELDS, arg=LIGHT_FIELDS)
    assert page.evaluate("window.loaded") == "once"
    expect(page).to_have_url(re.compile("theme=default"))
    expect(page.locator("#theme-button")).to_have_attribute("aria-pressed", "false")


def test_a_theme_that_there_is_not_is_the_usual_one(browser: Browser, server: str) -> None:
    """Without a word to the server, whose plan does not matter here."""
    page = browser.new_page()
    page.route_web_socket(re.compile(""), lambda _socket: None)
    found = {}
    for theme in ("light", "x", "dark"):
        page.goto(f"{server}?theme={theme}")
        page.wait_for_load_state()
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        found[theme] = sum(map(int, re.findall(r"\d+", colour)[:3])) < 3 * 128
    page.close()
    assert found == {"light": False, "x": False, "dark": True}


def test_a_plan_is_seen_before_anything_is_asked_for(browser: Browser, server: str) -> None:
    page = browser.new_page()
    page.route(lambda address: not re.search(r"/main(\?|$)", address), lambda one: one.abort())
    page.goto(server)
    ahead = page.locator(".coming.first")
    expect(ahead).to_contain_text("Run naively, mobilenet_v2 needs 1.437 MiB. In 256 KiB it still")
    expect(ahead).to_contain_text("A still picture of it")
    assert ahead.locator("img").evaluate("image => image.naturalWidth") > 300
    assert page.evaluate("getComputedStyle(document.querySelector('#header')).display") == "flex"
    for link in (f"{server}{SMALL}", f"{server}?theme=dark"):
        page.goto(link)
        expect(page.locator(".coming")).to_contain_text("is on its way")
        expect(page.locator(".coming.first")).to_have_count(int("theme" in link))
    page.close()


def test_nobody_is_let_into_a_session_by_its_name(server: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{server}?bokeh-session-id=anything", timeout=20)
    assert refused.value.code == 403
    refused.value.close()
