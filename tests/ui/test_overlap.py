"""Journeys through plans in a circular pool in a real browser.

C code downloaded · a point of the front planned · a pool that is too small, and the least that
does · its ring, bars and map · stepped through · a run selected by its bar · another planner.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page

from app.jobs.handlers.code import has_generator
from tests.ui.conftest import Go, comes_true, expect, models, over_models

POOL = "?v=1&model=mcunet_in0&planner=overlap&machine=stm32f746"
BARS = "all.find(m => m.type === 'ColumnDataSource' && m.data.run && m.data.hatch.length)"
RING = "all.find(m => m.type === 'ColumnDataSource' && m.data.address && m.data.end)"
FRONT = "all.find(m => m.type === 'ColumnDataSource' && m.data.binding)"


@pytest.fixture
def pool(go: Go) -> Page:
    """A plan in a pool."""
    page = go(f"{POOL}&budget=320+KiB")
    expect(page.locator(".card.name")).to_contain_text("runs")
    expect(page.locator(".pool-legend")).to_be_visible()
    return page


@pytest.mark.skipif(not has_generator(), reason="there is no generator of C code here")
def test_c_code_is_downloaded(pool: Page) -> None:
    page = pool
    with page.expect_download() as coming:
        page.locator(".download-c button").click()
    assert coming.value.suggested_filename == "mcunet_in0-c.zip"
    archive = zipfile.ZipFile(io.BytesIO(Path(coming.value.path()).read_bytes()))
    assert any(name.endswith(".c") for name in archive.namelist())


def test_a_point_of_the_front_and_a_pool_too_small(pool: Page) -> None:
    page = pool
    size = models(page, f"{FRONT}.data.bytes[0]")
    models(page, f"{FRONT}.selected.indices = [0]")
    expect(page).to_have_url(re.compile(r"budget=\d"))
    expect(page.locator(".card.peak")).to_contain_text("RAM, 100%")
    page.locator(".budget-typed input").fill(str(size // 2))
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".message")).to_contain_text("overlap needs")
    expect(page.locator(".message")).to_contain_text("What binds")
    page.locator(".nearest button").click()
    expect(page.locator(".message")).to_be_hidden()
    expect(page.locator(".card.peak")).to_contain_text("100%")
    page.locator(".budget-typed input").fill("320 KiB")
    page.locator(".budget-typed input").press("Enter")
    expect(page.locator(".card.peak")).to_contain_text("of 320 KiB")


def test_a_pool_is_shown_stepped_through_and_left(pool: Page) -> None:
    page = pool
    expect(page.locator(".objective select")).to_have_value("least work within the budget")
    expect(page.locator(".schedule select")).to_be_hidden()
    expect(page.locator(".story tr").first).to_contain_text(re.compile(r"Row \d+ of \d+ of "))
    before = models(page, f"[...{RING}.data.end].join()")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".story tr").first).to_contain_text(re.compile(r"Row \d+ of \d+ of "))
    comes_true(page, over_models(f"[...{RING}.data.end].join() !== '{before}'"))
    models(page, f"{BARS}.selected.indices = [{BARS}.data.run.indexOf(1)]")
    expect(page).to_have_url(re.compile("selection=run%3A"))
    expect(page.locator(".details")).to_contain_text("run 2 of")
    expect(page.locator(".details")).to_contain_text("output: ")
    page.keyboard.press("Escape")
    page.locator(".planner select").select_option(label="COSMA: order, replacement and addresses")
    expect(page.locator(".card.name")).to_contain_text("operators")
    expect(page.locator(".pool-legend")).to_be_hidden()
