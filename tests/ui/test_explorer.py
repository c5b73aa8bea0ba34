"""Journeys through the explorer in a real browser.

The cursor by button, key and drag · a selection in all views · a block
opened · an upload that is no plan · a wrong size · an infeasible budget and its remedy · two plans
compared · another budget · another model · cancel · a sweep and one of its points · search and help
by key · a name that no list has.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page

from tests.ui.conftest import (
    BANDS,
    DEAF,
    HEARS,
    SMALL,
    VIT,
    WINDOW,
    Go,
    SharedPage,
    comes_true,
    expect,
    is_planned,
    models,
    over_models,
    watch,
)


def shows(page: Page, card: str, text: str | re.Pattern[str]) -> None:
    expect(page.locator(f".card.{card}")).to_contain_text(text)


def step(page: Page) -> int:
    found = re.search(r"Step (\d+) of", page.locator(".step-title .now").inner_text())
    assert found
    return int(found.group(1))


def at_step(page: Page, number: int) -> None:
    expect(page.locator(".step-title .now")).to_contain_text(f"Step {number} of")


OUTLINED = (
    "all.filter(m => m.type === 'GlyphRenderer' && m.glyph.line_width?.field === 'width')"
    ".map(m => m.data_source.data.left.length)[0]"
)


def test_cursor_and_selection_are_followed_by_all_views(shared_page: SharedPage, go: Go) -> None:
    shared_page.close()  # Its figures are counted: no journey before may have opened more.
    page = go(f"{VIT}&step=10")
    the_cursor_moves_by_button_and_key(page)
    the_cursor_moves_while_the_server_hears_nothing(page)
    a_tap_on_the_address_map_selects_and_moves_the_cursor(page)
    a_row_that_is_tapped_is_outlined(page)
    keys_of_a_slider_in_focus_are_its_own_and_all_that_is_heard_has_a_name(page)
    what_is_pointed_at_in_the_header_is_white(page)


def what_is_pointed_at_in_the_header_is_white(page: Page) -> None:
    for button in page.locator(".header-button button").all():
        button.hover()
        expect(button).to_have_css("color", "rgb(255, 255, 255)")


def the_cursor_moves_by_button_and_key(page: Page) -> None:
    start = step(page)
    page.locator(".step-after button").click()
    at_step(page, start + 1)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    at_step(page, start + 4)
    page.keyboard.press("ArrowLeft")
    at_step(page, start + 3)
    page.locator(".lanes").scroll_into_view_if_needed()
    expect(page.locator(".lanes canvas").first).to_be_visible()
    bands = models(page, BANDS)
    assert bands.count(start + 2) == 2
    assert len(bands) == 3
    page.keyboard.press("ArrowRight")
    at_step(page, start + 4)
    assert all(now > before for now, before in zip(models(page, BANDS), bands, strict=True))
    page.evaluate("document.getElementById('main').scrollTop = 0")
    page.keyboard.press("]")
    expect(page.locator(".step-title .now")).not_to_contain_text(f"Step {start + 4} of")
    expect(page).to_have_url(re.compile(f"step={step(page) - 1}(&|$)"))


KNOWS_MORE = (  # than came with the plan
    "() => [...Bokeh.documents[0]._all_models.values()].some("
    "m => m.data && m.data.pages && m.data.pages.byteLength > 4000)"
)


def the_cursor_moves_while_the_server_hears_nothing(page: Page) -> None:
    comes_true(page, KNOWS_MORE)
    start = step(page)
    page.evaluate(DEAF)
    told = [page.locator(f".{part} table").inner_text() for part in ("story", "live")]
    ring = "all.find(m => m.type === 'BoxAnnotation' && m.border_radius === 6)"
    before = models(page, f"{ring}.left")
    for _ in range(21):
        page.keyboard.press("ArrowRight")
    at_step(page, start + 21)
    assert models(page, BANDS).count(start + 20) == 2
    assert models(page, f"{ring}.left") != before
    now = [page.locator(f".{part} table").inner_text() for part in ("story", "live")]
    assert all(one != other for one, other in zip(told, now, strict=True))
    page.evaluate(HEARS)
    page.keyboard.press("ArrowLeft")
    at_step(page, start + 20)
    expect(page).to_have_url(re.compile(f"step={start + 19}(&|$)"))


PLAN_AND_STEP = """async () => {
  const all = [...Bokeh.documents[0]._all_models.values()];
  const { data } = all.find((model) => model.data?.pages?.byteLength);
  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream));
  await new Promise((done) => setTimeout(done, 1000));
  const pages = await through(data.pages, new DecompressionStream('gzip')).json();
  const other = JSON.stringify({ ...pages, plan: pages.plan + 1e6, step: pages.first });
  const bytes = await through(other, new CompressionStream('gzip')).arrayBuffer();
  data.setv({ pages: bytes, step: pages.first + 2 }, { sync: false });
  await new Promise((done) => setTimeout(done, 1000));
  return [pages.first + 2, Bokeh.documents[0].get_model_by_name('cursor-slider').value];
}"""
"""A plan whose cursor has gone on since it was sent, in one message: where it is, and is shown."""


def test_a_plan_whose_cursor_has_gone_on_is_shown_there(go: Go, shared_page: SharedPage) -> None:
    step, shown = go(SMALL).evaluate(PLAN_AND_STEP)
    assert shown == step
    shared_page.close()  # The server has no such plan.


def a_tap_on_the_address_map_selects_and_moves_the_cursor(page: Page) -> None:
    start = step(page)
    box = page.locator(".memory .bk-Canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 0.35 * box["height"])
    expect(page.locator(".step-title .now")).not_to_contain_text(f"Step {start} of")
    assert step(page) > 60
    expect(page).to_have_url(re.compile("selection=tensor"))
    page.keyboard.press("Escape")
    expect(page.locator(".live tr.on")).to_have_count(0)


def a_row_that_is_tapped_is_outlined(page: Page) -> None:
    comes_true(page, over_models(f"{OUTLINED} === 0"))
    page.locator(".live tr.tap").first.click()
    expect(page.locator(".live tr.on")).to_have_count(1)
    comes_true(page, over_models(f"{OUTLINED} > 0"))
    page.keyboard.press("Escape")
    expect(page.locator(".live tr.on")).to_have_count(0)


def keys_of_a_slider_in_focus_are_its_own_and_all_that_is_heard_has_a_name(page: Page) -> None:
    expect(page.locator(".step-before button")).to_have_attribute("aria-label", re.compile("←"))
    expect(page.locator(".budget-typed input")).to_have_accessible_name("Budget")
    handle = page.locator(".stepper .noUi-handle")
    expect(handle).to_have_attribute("aria-label", "step")
    before = int(page.locator(".step-title .now b").inner_text())
    handle.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".step-title .now b")).to_have_text(str(before + 1))
    page.wait_for_timeout(400)  # a clock for what must not come: a second step of the same key
    expect(page.locator(".step-title .now b")).to_have_text(str(before + 1))
    assert page.locator(".budget-typed input").input_value() == "MR"


def test_blocks_open_in_place_and_a_large_graph_has_an_overview(go: Go) -> None:
    page = go(VIT)
    nodes = "all.find(m => m.type === 'ColumnDataSource' && m.data.is_block)"
    before = models(page, f"{nodes}.data.x.length")
    models(page, f"{nodes}.selected.indices = [{nodes}.data.is_block.indexOf(true)]")
    comes_true(page, over_models(f"{nodes}.data.x.length > {before}"))
    small = page.locator(".dag-overview")
    page.get_by_role("button", name="open all").click()
    expect(small).to_be_visible()
    seen = "all.find(m => m.type === 'Figure' && m.css_classes.includes('dag')).x_range"
    before = models(page, f"[{seen}.start, {seen}.end - {seen}.start, {seen}.reset_end]")
    box = small.bounding_box()
    assert box is not None
    small.click(position={"x": 0.8 * box["width"], "y": box["height"] / 2})
    comes_true(page, over_models(f"{seen}.start > {before[2]} / 4"))
    start, width, _ = models(page, f"[{seen}.start, {seen}.end - {seen}.start, 0]")
    assert width == pytest.approx(before[1])
    assert start > before[0]
    assert start + width <= before[2] + 1e-6
    page.get_by_role("button", name="close", exact=True).first.click()
    expect(small).to_be_hidden()


def test_what_cannot_be_planned_is_said_and_the_plan_stays(go: Go) -> None:
    page = go(VIT)
    an_upload_that_is_no_plan_is_never_shown(page)
    a_size_that_is_none_is_refused_in_words(page)
    an_infeasible_budget_says_why_and_offers_the_nearest(page)


def an_upload_that_is_no_plan_is_never_shown(page: Page) -> None:
    page.locator(".upload input").set_input_files(
        {"name": "x.json", "mimeType": "application/json", "buffer": b'{"format": "else"}'}
    )
    expect(page.locator(".message")).to_contain_text("not a plan")
    shows(page, "name", "vit_b_16")


def a_size_that_is_none_is_refused_in_words(page: Page) -> None:
    page.locator(".budget-typed input").fill("256 elephants")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".budget-wrong")).to_contain_text("'256 elephants' is not a size")
    shows(page, "peak", "738.8 KiB")


def an_infeasible_budget_says_why_and_offers_the_nearest(page: Page) -> None:
    page.locator(".budget-typed input").fill("500 KiB")
    page.locator(".budget-typed input").press("Enter")
    message = page.locator(".message")
    expect(message).to_contain_text("COSMA needs 738.8 KiB. 500 KiB are 238.8 KiB short.")
    expect(message).to_contain_text("What binds: linear_2")
    shows(page, "peak", "738.8 KiB")
    page.locator(".nearest button").click()
    expect(message).to_be_hidden()
    expect(page).to_have_url(re.compile("budget=MR"))


def test_another_budget_is_planned_at_once_and_compared_on_the_same_axes(go: Go) -> None:
    page = go(VIT)
    page.keyboard.press("s")
    expect(page.locator(".unpin button")).to_be_visible()
    page.locator(".budget-MP button").click()
    shows(page, "extra", "0 B")
    shows(page, "peak", "886.5 KiB")
    expect(page).to_have_url(re.compile("budget=MP"))
    spill = page.locator(".differences tr").filter(has_text="spill traffic")
    expect(spill).to_contain_text("−3.463 MiB")
    outlined = (
        "all.filter(m => m.type === 'GlyphRenderer' && m.glyph.type === 'MultiLine')"
        ".some(m => m.data_source.data.xs.length > 0)"
    )
    assert models(page, outlined)
    page.keyboard.press("c")
    shows(page, "extra", "3.463 MiB")
    expect(spill).to_contain_text("+3.463 MiB")
    expect(page).to_have_url(re.compile("budget=MR"))


def test_a_sweep_fills_the_chart_and_a_point_loads_its_plan(go: Go) -> None:
    page = go(VIT)
    shows(page, "name", "vit_b_16")
    page.locator(".pareto-box").scroll_into_view_if_needed()
    expect(page.locator(".sweep button")).to_be_enabled()
    page.locator(".sweep button").click()  # Where all is known, "Stop" is there for a moment only.
    source = "all.find(m => m.type === 'ColumnDataSource' && m.data.proof?.length > 4)"
    comes_true(page, over_models(f"{source} !== undefined"))
    expect(page.locator(".sweep-stop button")).to_be_hidden()
    expect(page.locator(".sweep button")).to_be_visible()
    most = f"{source}.data.x.indexOf(Math.max(...{source}.data.x))"
    models(page, f"{source}.selected.indices = [{most}]")
    shows(page, "extra", re.compile("^0 B"))


def test_operators_are_searched_and_help_comes_by_key(browser: Browser, server: str) -> None:
    page = browser.new_page(viewport=WINDOW)
    wrong = watch(page)
    page.goto(f"{server}{VIT}")
    is_planned(page)
    expect(page.locator(".dag-search")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("encoder_layer_3")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("selection=operator"))
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#pn-Modal")).to_contain_text("previous, next step")
    assert wrong == []
    page.close()


def test_planning_is_cancelled_and_the_best_plan_kept(go: Go) -> None:
    go(VIT)
    page = go(f"{SMALL}&planner=slow&time_limit=600", planned=False)
    expect(page.locator(".progress")).to_contain_text("thinking")
    expect(page.locator(".progress")).to_contain_text("gap 50.0%")
    page.locator(".cancel button").click()
    expect(page.locator(".message")).to_contain_text("best plan found so far")
    expect(page.locator(".plan button")).to_be_visible()
    shows(page, "name", "squeezenet1_1")


def test_another_model_is_searched_and_one_that_no_list_has_is_tried(go: Go) -> None:
    page = go("?v=1&model=squeezenet1_0")
    field = page.locator(".model input")
    field.click()
    field.press_sequentially("squeezenet1_1")
    page.locator(".bk-menu >> text=squeezenet1_1").click()
    shows(page, "name", "squeezenet1_1")
    expect(page.locator(".budget-MP button")).to_contain_text("959.1 KiB")
    page.keyboard.press("Escape")  # what is typed into a field anew replaces its text
    field.click()
    field.press_sequentially("resnet5O")
    field.press("Tab")
    expect(page.locator(".message")).to_contain_text("did you mean 'resnet50'")
    expect(page.locator(".progress")).to_contain_text("still squeezenet1_1")
    field.click()
    field.press_sequentially("vgg11")
    field.press("Enter")
    shows(page, "name", re.compile("vgg11"))
    expect(page.locator(".step-title .now")).to_contain_text("of 17")  # the words come after it
    before = step(page)
    page.keyboard.press("ArrowRight")
    at_step(page, before + 1)
    expect(field).to_have_value("vgg11")
    expect(page.locator(".progress")).to_contain_text("fused operators")
