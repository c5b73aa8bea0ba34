"""Journeys of a selection in a real browser.

Taps and keys outline in all views while the server hears nothing, and it agrees once it hears ·
rows that come later are outlined too · a key is about what was tapped just before · a wish that
waits takes the tap · a pinned plan's views.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import SMALL, Go, comes_true, expect

HOLD = """if (!window.release) {
window.held = false;
const kept = [], send = WebSocket.prototype.send;
WebSocket.prototype.send = function (...what) {
  if (window.held) kept.push([this, what]);
  else send.apply(this, what);
};
window.release = () => {
  window.held = false;
  for (const [socket, what] of kept.splice(0)) send.apply(socket, what);
};
const all = () => [...Bokeh.documents[0]._all_models.values()];
const paged = (m) => m.data && m.data.properties && m.data.properties.pages;
window.cursor = () => all().find(paged).data;
const plan = async (bytes) => {
  if (!bytes.byteLength) return null;
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(text).json()).plan;
};
window.told = async () => await plan(cursor().pages) === await plan(cursor().tables);
window.m = (name) => Bokeh.documents[0].get_model_by_id(cursor().models[name]);
window.count = (name, where = m) => (where(name) ? Object.values(where(name).data)[0].length : 0);
window.outlines = () => Object.fromEntries(['nodes', 'curves', 'rects', 'lanes', 'map_groups',
  'lane_groups', 'bars'].map((name) => [name, count(`chosen_${name}`)]));
window.inAFrame = (act) => {  // what is outlined in the first frame after an act
  act();
  return new Promise((done) => requestAnimationFrame(() => done(outlines())));
};
}"""


@pytest.fixture
def hold(go: Go) -> Iterator[Go]:
    """Go to a link with nothing selected; the server hears nothing until it is released."""
    pages: list[Page] = []

    def visit(link: str) -> Page:
        page = go(link)
        pages.append(page)
        page.evaluate(f"() => {{ {HOLD} }}")
        page.locator(".lanes").scroll_into_view_if_needed()  # what is below is made by and by
        comes_true(page, "m('chosen_lanes')")
        while not page.evaluate("told()"):
            page.wait_for_timeout(100)
        page.wait_for_timeout(300)
        comes_true(page, "cursor().selected === '' && !Object.values(outlines()).some(Boolean)")
        page.evaluate("held = true")
        return page

    yield visit
    for page in pages:
        if not page.is_closed():
            page.evaluate("release()")


def tap(page: Page, name: str, row: str) -> dict[str, int]:
    """Tap a row of a source, and see what is outlined in the next frame."""
    taken = f"inAFrame(() => {{ m('{name}').selected.indices = [{row}]; }})"
    found: dict[str, int] = page.evaluate(taken)
    return found


def press(page: Page, key: str) -> dict[str, int]:
    """What is outlined once a key has been pressed."""
    page.keyboard.press(key)
    found: dict[str, int] = page.evaluate("outlines()")
    return found


def step(page: Page) -> int:
    return int(page.evaluate("m('slider').value"))


def heard(page: Page, selection: str) -> None:
    """Let the server hear what was said: it has the same selection, and a link has it."""
    page.wait_for_timeout(400)  # a clock for what must not come
    assert page.evaluate("cursor().selected") != selection
    page.evaluate("release()")
    comes_true(page, f"cursor().selected === {selection!r}")
    words = re.escape(selection.replace(":", "%3A").replace("+", "%2B"))
    expect(page).to_have_url(re.compile(f"selection={words}(&|$)"))


def test_groups_are_selected_in_all_views_without_the_server(hold: Go) -> None:
    page = hold("?v=1&model=squeezenet1_0&planner=fusion&budget=128+KiB&axis=steps")
    found = tap(page, "tabs", "m('tabs').data.group.indexOf(2)")
    assert (found["map_groups"], found["lane_groups"]) == (1, 1)
    assert found["nodes"] > 0
    assert step(page) == page.evaluate("m('map_groups').data.left[2]")
    found = press(page, "g")
    assert found["map_groups"] == found["lane_groups"] == 1
    assert page.evaluate("m('chosen_map_groups').data.left[0] === m('map_groups').data.left[3]")
    assert step(page) == page.evaluate("m('map_groups').data.left[3]")
    assert not any(tap(page, "map_groups", "3").values()), "a second tap takes it away"
    assert any(tap(page, "lane_groups", "1").values())
    assert not any(press(page, "Escape").values())
    assert "selection=group" not in page.url
    press(page, "g")
    heard(page, "group:g1")
    expect(page.locator(".details")).to_contain_text("why not fused with")


def test_operators_and_tensors_are_selected_without_the_server(hold: Go) -> None:
    page = hold(SMALL)
    at = "m('nodes').data.is_block.lastIndexOf(false)"
    found = tap(page, "nodes", at)
    assert found["nodes"] == 1
    assert min(found["rects"], found["lanes"]) > 0
    assert step(page) > 0
    assert page.locator(".live tr.on").count() > 0
    name = page.evaluate("m('rects').data.tensor[9]")
    found = tap(page, "rects", "9")
    assert min(found["nodes"], found["rects"], found["lanes"]) > 0
    row = page.locator(".live tr.tap").first
    key = row.get_attribute("data-key")
    row.click()
    assert page.evaluate("outlines().rects") > 0
    assert page.locator(".live tr.on").first.get_attribute("data-key") == key
    bar = page.evaluate("m('lanes').data.kind.indexOf('operator')")
    assert tap(page, "lanes", str(bar))["nodes"] == 1
    assert step(page) == page.evaluate(f"m('lanes').data.step[{bar}]") - 1
    tap(page, "rects", "9")
    heard(page, f"tensor:{name}")
    expect(page.locator(".details tr").first).to_contain_text(f"{name}: ")
    block = page.evaluate("m('nodes').data.title[m('nodes').data.is_block.indexOf(true)]")
    before = count = page.evaluate("m('nodes').data.x.length")
    tap(page, "nodes", "m('nodes').data.is_block.indexOf(true)")
    comes_true(page, f"m('nodes').data.x.length > {before}")
    assert page.evaluate("outlines().nodes") > 0, "rows that come later are outlined too"
    tap(page, "frames", f"m('frames').data.block.indexOf({block!r})")
    comes_true(page, f"m('nodes').data.x.length === {count}")


def test_what_the_server_draws_anew_is_outlined_anew(hold: Go) -> None:
    page = hold(SMALL)
    tap(page, "rects", "9")
    page.evaluate("release()")
    page.wait_for_timeout(500)
    before = page.evaluate("m('lanes').data.left.length")
    page.evaluate("m('lanes_range').end = m('lanes_range').end / 40")
    page.wait_for_timeout(1000)
    assert page.evaluate("outlines().lanes") > 0 or page.evaluate(
        f"m('lanes').data.left.length !== {before}"
    )
    page.keyboard.press("e")
    comes_true(page, "!m('nodes').data.is_block.includes(true)")
    assert page.evaluate("outlines().nodes") > 0
    assert page.evaluate("outlines().curves") > 0


def test_a_key_is_about_what_was_tapped_just_before(hold: Go) -> None:
    page = hold(SMALL)
    page.evaluate("release()")
    name = page.evaluate("m('rects').data.tensor[9]")
    tap(page, "rects", "9")
    page.keyboard.press("w")
    expect(page.locator(".what-if")).to_contain_text(name)


def test_weights_and_kernels_that_wait_are_selected_without_the_server(hold: Go) -> None:
    page = hold("?v=1&model=mobilenet_v2&planner=streaming&budget=4MiB")
    at = "m('rects').data.tensor.findIndex((name) => name.startsWith('weights of '))"
    name = page.evaluate(f"m('rects').data.tensor[{at}]").removeprefix("weights of ")
    found = tap(page, "rects", at)
    assert found["nodes"] == 1
    assert page.evaluate("m('chosen_rects').data.left.length") > 0
    here = step(page)
    page.evaluate("inAFrame(() => {})")
    press(page, "g")
    assert step(page) != here
    assert page.evaluate("outlines().nodes") == 1
    press(page, "Escape")
    tap(page, "rects", at)
    heard(page, f"operator:{name}")


def test_runs_of_a_pool_are_selected_without_the_server(hold: Go) -> None:
    page = hold("?v=1&model=mcunet_in0&planner=overlap&machine=stm32f746&budget=320+KiB")
    found = tap(page, "bars", "m('bars').data.run.indexOf(2)")
    assert found["bars"] == 1
    assert found["nodes"] > 0
    assert found["map_groups"] == 0
    assert tap(page, "wedges", "0")["bars"] > 0
    assert press(page, "g")["bars"] == 1
    assert press(page, "g")["bars"] == 1
    name = page.evaluate(
        "(() => { const k = Math.round(m('chosen_bars').data.left[0]);"
        " return m('bars').data.name[m('bars').data.run.indexOf(k)]; })()"
    )
    first = name.split(": ")[1].split(" … ")[0]
    page.evaluate("release()")
    comes_true(page, f"cursor().selected.startsWith('run:{first}')")
    expect(page).to_have_url(re.compile(f"selection=run%3A{first}"))


def test_what_sentences_name_is_outlined_with_the_step_while_it_presents(hold: Go) -> None:
    page = hold(SMALL)
    page.evaluate("release()")
    page.keyboard.press("p")
    expect(page.locator(".story.large")).to_be_visible()
    page.evaluate("held = true")
    page.keyboard.press("Home")
    before = page.evaluate("JSON.stringify(m('chosen_rects').data)")
    assert page.evaluate("outlines().rects") > 0
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("JSON.stringify(m('chosen_rects').data)") != before
    assert page.evaluate("outlines().nodes") == 0


def test_a_wish_that_waits_takes_the_tap(hold: Go) -> None:
    page = hold(f"{SMALL}&panel=what+if")
    page.evaluate("release()")
    first = "m('nodes').data.is_block.indexOf(false)"
    name = page.evaluate(f"m('nodes').data.title[{first}]")
    tap(page, "nodes", first)
    page.get_by_role("button", name="Run before…").click()
    comes_true(page, "cursor().picking")
    tap(page, "nodes", first)
    expect(page.locator(".message")).to_contain_text("same operator")
    assert page.evaluate("outlines().nodes") == 1
    page.keyboard.press("Escape")  # gives up the wish, not the selection
    comes_true(page, "!cursor().picking")
    assert page.evaluate("cursor().selected") == f"operator:{name}"
    assert not any(press(page, "Escape").values())


def test_a_pinned_plan_is_outlined_too(hold: Go) -> None:
    page = hold(f"{SMALL}&split=1&pinned=%7B%22budget%22%3A%22MP%22%7D")
    page.evaluate("release()")
    expect(page.locator(".split-title")).to_contain_text("Pinned")
    below = "(name) => Bokeh.documents[0].get_model_by_id(cursor().below[name])"
    comes_true(page, f"cursor().pinned.byteLength > 0 && ({below})('chosen_rects')")
    page.evaluate("held = true")
    tap(page, "rects", "9")
    comes_true(page, f"count('chosen_rects', {below}) > 0")
    page.evaluate(f"({below})('rects').selected.indices = [4]")
    name = page.evaluate(f"({below})('rects').data.tensor[4]")
    heard(page, f"tensor:{name}")


def test_another_plan_has_its_own_outlines(hold: Go) -> None:
    page = hold(SMALL)
    tensor = page.evaluate("m('rects').data.tensor[9]")
    tap(page, "rects", "9")
    page.evaluate("release()")
    page.locator(".budget-typed input").fill("8 MiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".card.peak")).to_contain_text("of 8 MiB")
    drawn = f"m('rects').data.tensor.indexOf({tensor!r})"
    comes_true(
        page,
        "outlines().rects > 0"
        f" && m('chosen_rects').data.left.includes(m('rects').data.left[{drawn}])"
        f" && m('chosen_rects').data.bottom.includes(m('rects').data.bottom[{drawn}])",
    )
    field = page.locator(".model input")
    field.click()
    field.press_sequentially("squeezenet1_0")
    field.press("Enter")
    expect(page.locator(".card.name")).to_contain_text("squeezenet1_0")
    comes_true(page, "!Object.values(outlines()).some(Boolean)")
    assert page.evaluate("cursor().selected") == ""
