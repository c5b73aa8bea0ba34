"""Journeys through what-if in a real browser.

A tensor is kept on chip, the plan respects it and says what it costs; a wish that leaves no plan is
named and dropped; two operators are put in order · a rectangle is dragged to a free place and onto
another, and typed.
"""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page

from tests.ui.conftest import VIT, Go, comes_true, expect

BRANCHED = '?v=1&model=googlenet&budget=MP&wishes=["conv2d_7 before conv2d_3"]'
PLACE = """([tensor, nth]) => {
  const found = [];
  const walk = (view) => {
    if (view.model && view.model.type === 'Figure') found.push(view);
    for (const child of view.child_views || []) walk(child);
  };
  for (const root of Bokeh.index.roots) walk(root);
  const view = found.find((v) => v.model.css_classes.includes('address-map'));
  const models = [...Bokeh.documents[0]._all_models.values()];
  const stays = models.find((m) => m.data?.fixed?.length && m.data.tensor)?.data;
  const at = stays?.tensor.flatMap((name, i) => name === tensor ? [i] : [])[nth];
  if (!view || at === undefined) return null;
  const box = view.el.getBoundingClientRect();
  const x = (v) => box.x + view.frame.x_scale.compute(v);
  const y = (v) => box.y + view.frame.y_scale.compute(v);
  return { x: (x(stays.left[at]) + x(stays.right[at])) / 2,
    y: (y(stays.bottom[at]) + y(stays.top[at])) / 2,
    bottom: stays.bottom[at], size: stays.top[at] - stays.bottom[at],
    pixel: 1 / (y(0) - y(1)) };
}"""


def select(page: Page, name: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"selection=operator%3A{name}(&|$)"))


def place(page: Page, tensor: str, nth: int = 0) -> Any:
    """Where a stay of a tensor is drawn, in pixels, and its address."""
    page.locator(".address-map").first.scroll_into_view_if_needed()
    return comes_true(page, PLACE, arg=[tensor, nth]).json_value()


def drag(page: Page, tensor: str, to: int) -> None:
    """Drag a stay of a tensor until it begins at an address."""
    at = place(page, tensor)
    up = (to - at["bottom"]) / at["pixel"]
    page.mouse.move(at["x"], at["y"])
    page.mouse.down()
    for share in (0.2, 0.5, 0.8, 1.0):
        page.mouse.move(at["x"], at["y"] - share * up)
    page.mouse.up()


def test_a_wish_is_respected_priced_found_in_the_way_and_dropped(go: Go) -> None:
    page = go(VIT)
    board = page.locator(".what-if")
    page.locator(".live tr.tap", has_text="add_1").click()
    page.keyboard.press("w")
    expect(board).to_contain_text("No wishes")
    board.get_by_role("button", name="Keep off chip").click()
    expect(page).to_have_url(re.compile("wishes=%5B%22spill%20add_1%22%5D|spill\\+add_1"))
    expect(board).to_contain_text("what they cost")
    page.keyboard.press("k")
    message = page.locator(".message")
    expect(message).to_contain_text("No plan respects the wishes")
    expect(message).to_contain_text("'keep add_1'")
    expect(board).to_contain_text("This wish leaves no plan")
    page.locator(".ways-out").get_by_role("button").click()
    expect(message).to_be_hidden()
    expect(board).to_contain_text("No wishes")
    expect(page.locator(".card.extra")).to_contain_text("3.463 MiB")


def test_two_operators_are_put_in_order(go: Go) -> None:
    page = go(BRANCHED)
    page.keyboard.press("w")
    board = page.locator(".what-if")
    expect(board).to_contain_text("conv2d_7 before conv2d_3")
    select(page, "conv2d_4")
    board.get_by_role("button", name="Run after…").click()
    expect(page.locator(".message")).to_contain_text("after which conv2d_4 is to run")
    page.keyboard.press("Escape")
    expect(page.locator(".message")).to_be_hidden()
    board.get_by_role("button", name="Run after…").click()
    page.keyboard.press("/")
    page.keyboard.type("conv2d_6")
    page.keyboard.press("Enter")
    expect(board).to_contain_text("conv2d_6 before conv2d_4")
    expect(board).to_contain_text("what they cost")
    page.keyboard.press("Control+z")
    expect(board).not_to_contain_text("conv2d_6 before conv2d_4")


def test_a_rectangle_is_moved_by_hand_and_judged(go: Go) -> None:
    page = go(f"{VIT}&budget=1.5MiB&step=8")
    expect(page.locator(".card.peak")).to_contain_text("1.5 MiB")
    bar = page.locator(".hand-bar")
    expect(bar).to_be_hidden()
    page.keyboard.press("m")
    expect(bar).to_be_visible()
    expect(bar).to_contain_text("drag a rectangle")
    start = place(page, "layer_norm_1")
    drag(page, "layer_norm_1", 2**20)
    expect(bar).to_contain_text("check agrees")
    assert abs(place(page, "layer_norm_1")["bottom"] - 2**20) < 3 * start["pixel"]
    over = place(page, "gelu")["bottom"]
    drag(page, "layer_norm_1", over)
    expect(bar).to_contain_text("check refuses")
    expect(bar).to_contain_text(re.compile("step 10,"))
    expect(bar).to_contain_text("overwrites")
    page.locator(".hand-undo button").click()
    expect(bar).to_contain_text("check agrees")
    page.locator(".live tr.tap", has_text="layer_norm_1").click()
    field = page.locator(".hand-address input")
    field.fill(hex(start["bottom"]))
    field.press("Enter")
    expect(bar).to_contain_text("2 moves by hand")
    field.press("ArrowUp")
    expect(bar).to_contain_text(re.compile("3 moves|refuses"))
    page.locator(".hand-back button").click()
    expect(bar).not_to_contain_text("by hand:")
    expect(bar).not_to_contain_text("moves by hand")
    assert place(page, "layer_norm_1")["bottom"] == start["bottom"]
