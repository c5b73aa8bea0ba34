"""Journeys through plans that stream their parameters in a real browser.

Planned from a link, stepped through, its rings in the map, its layers in the timeline · a point of
delay against memory planned · the slider followed live · a budget that is too small · resolutions
swept · another planner chosen, and this one again.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import PATIENCE_MS, Go, comes_true, expect, models

STREAM = "?v=1&model=yolov4&bytes_per_element=4&planner=streaming&machine=jetson_xavier_980pro"
SOURCE = "all.find(m => m.type === 'ColumnDataSource' && m.data.{} && m.data.{}.length)"
FRONT = SOURCE.format("fields", "fields")
LAYERS = SOURCE.format("story", "story")
WORDS = (  # of the hover that tells of rings: plans of other planners have their own
    "all.filter(m => m.type === 'CustomJSHover' && m.args.words)"
    ".map(m => m.args.words.data.text).find(all => all.some(text => text.includes('CPU ring')))"
)
SWEPT = SOURCE.format("where", "where")


def stream_page(go: Go, more: str = "&budget=110+MiB&pipeline=2s") -> Page:
    page = go(STREAM + more)
    expect(page.locator(".card.name")).to_contain_text("layers")
    expect(page.locator(".stream-legend")).to_be_visible()
    comes_true(
        page,
        "() => [...Bokeh.documents[0]._all_models.values()].some("
        "m => m.type === 'ColumnDataSource' && m.data.fields && m.data.fields.length > 20)",
    )
    return page


def test_layers_are_stepped_through_and_seen_in_their_rings(go: Go) -> None:
    page = stream_page(go, "&budget=150+MiB&pipeline=async&step=83")
    story = page.locator(".story tr")
    expect(story.first).to_contain_text(re.compile("read in .*; copied in "))
    page.locator(".lanes").scroll_into_view_if_needed()  # what is below is made by and by
    comes_true(
        page,
        "() => [...Bokeh.documents[0]._all_models.values()].some("
        "m => m.data?.cause && m.data.kind?.length && [...m.data.lane].includes('copy'))",
    )
    page.locator(".map-memory button", has_text="CPU ring").click()
    expect(page).to_have_url(re.compile("memory=cpu"))
    page.wait_for_timeout(500)
    assert set(models(page, f"[...new Set({LAYERS}.data.story)].map(k => {WORDS}[k])")) <= {
        "to be copied: in the CPU ring until it is copied",
        "lost: left free at the ring's end: no layer may wrap",
    }
    models(page, f"{LAYERS}.selected.indices = [{LAYERS}.data.tensor.indexOf('weights of conv2d')]")
    expect(page).to_have_url(re.compile("selection=operator%3Aconv2d&"))
    expect(page.locator(".details")).to_contain_text("in the CPU ring")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".step-title")).to_contain_text("Step 85 of 148")
    page.locator(".map-memory button", has_text="activations").click()
    expect(page).to_have_url(re.compile("memory=activations"))


def test_a_point_a_slider_and_a_budget_too_small(go: Go) -> None:
    page = stream_page(go)
    expect(page.locator(".card.waits")).to_contain_text("kernels wait")
    size = models(page, f"{FRONT}.data.bytes[3]")
    models(page, f"{FRONT}.selected.indices = [3]")
    expect(page).to_have_url(re.compile("pipeline=exact&.*stages=2"))
    expect(page.locator(".card.peak")).to_contain_text("memory, 100%")
    page.locator(".budget-typed input").fill(str(size // 2))
    page.locator(".budget-typed input").press("Enter")
    message = page.locator(".message")
    expect(message).to_contain_text("streaming needs")
    expect(message).to_contain_text("the largest layer, conv2d_")
    button = page.locator(".nearest button")
    for _ in range(3):  # What else fits comes in meanwhile and moves the button.
        if button.is_visible():
            button.click()
        with suppress(AssertionError):
            expect(message).to_be_hidden(timeout=PATIENCE_MS // 3)
            break
    expect(message).to_be_hidden()
    expect(page.locator(".card.peak")).to_contain_text("100%")
    before = page.locator(".card.latency b").inner_text()
    handle = page.locator(".budget-slider .noUi-handle")
    box = handle.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 8, steps=5)
    expect(page.locator(".card.latency b")).not_to_have_text(before)
    page.mouse.up()  # the plan came while the handle was held


@pytest.mark.long
def test_resolutions_are_swept_and_the_planner_is_left_and_chosen(go: Go) -> None:
    page = stream_page(go)
    page.locator(".sweep-resolutions button").click()
    expect(page.locator(".resolutions-state")).to_contain_text("42 plans")
    assert len(models(page, f"{SWEPT}.data.x")) == 42
    planner = page.locator(".planner select")
    planner.select_option(label="COSMA: order, replacement and addresses")
    expect(page.locator(".card.name")).to_contain_text("operators")
    expect(page.locator(".stream-legend")).to_be_hidden()
    expect(page.locator(".map-memory")).to_be_hidden()
    planner.select_option(label="Demand Layering: parameters layer by layer")
    expect(page.locator(".card.name")).to_contain_text("layers")
    expect(page.locator(".stream-legend")).to_be_visible()
