"""A journey of sharing in a real browser.

A plan exported as a page, opened offline with all network blocked, stepped by key, a tensor tapped
and found in every view, light and dark · figures saved as SVG and PNG.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import planners as sp
from app.outputs.standalone import write_html
from tests.ui.conftest import VIT, Go, expect, watch

MODELS = (
    "const t = JSON.parse(document.getElementById('spillway-data').textContent);"
    " const m = (name) => Bokeh.documents[0].get_model_by_id(t.models[name]);"
)


def told(page: Page, expression: str) -> Any:
    """An expression over `m`, the models of an exported page by the names its script has."""
    return page.evaluate(f"() => {{ {MODELS} return {expression}; }}")


@pytest.fixture
def offline(browser: Browser) -> Any:
    """A page without any network; nothing may go wrong in it."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720})
    page = context.new_page()
    wrong = watch(page)
    page.on("request", lambda r: None if local(r.url) else wrong.append(r.url))
    yield page
    context.close()
    assert wrong == []


def local(url: str) -> bool:
    return url.startswith(("file:", "blob:", "data:"))


def save(page: Page, button: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator(button).first.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_a_plan_leaves_as_a_page_that_needs_nothing(go: Go, offline: Page, tmp_path: Path) -> None:
    page = go(f"{VIT}&step=20")
    page.locator(".export button").click()
    file = save(page, ".export-page button", tmp_path)
    assert file.name == "vit_b_16-756480.html"
    offline.goto(file.as_uri())
    expect(offline.locator("html[data-ready]")).to_have_count(1)
    expect(offline.locator("#step")).to_have_text("Step 21 of 113")
    sentence = offline.locator("#story tr").first.inner_text()
    offline.keyboard.press("ArrowRight")
    expect(offline.locator("#step")).to_have_text("Step 22 of 113")
    assert offline.locator("#story tr").first.inner_text() != sentence
    assert told(offline, "m('map_band').left") == 21
    offline.locator("#cursor").fill("40")
    assert told(offline, "[m('map_band').left, m('held_band').right]") == [40, 41]

    tensor = told(offline, "m('rects').data.tensor[12]")
    told(offline, "m('rects').selected.indices = [12]")
    expect(offline.locator("#details tr").first).to_contain_text(f"{tensor}: ")
    for chosen in ("chosen_rects", "chosen_lanes", "chosen_nodes"):
        assert told(offline, f"Object.values(m('{chosen}').data)[0].length") > 0, chosen
    offline.locator("#details tr.tap").first.click()
    expect(offline.locator("#details tr").first).to_contain_text("M MACs")
    offline.keyboard.press("Escape")
    assert told(offline, "m('chosen_rects').data.left.length") == 0

    panel = told(offline, "m('map_plot').background_fill_color")
    offline.locator("#theme").click()
    expect(offline.locator("html")).to_have_attribute("data-theme", "dark")
    assert told(offline, "m('map_plot').background_fill_color") != panel
    offline.keyboard.press("e")
    expect(offline.locator("#blocks")).to_have_attribute("aria-pressed", "true")
    saved = save(offline, "#save-plan", tmp_path)
    assert '"format":"spillway-plan"' in saved.read_text()[:60]


def test_hostile_names_are_words_in_a_page(offline: Page, tmp_path: Path) -> None:
    bad = '</script><img src=x onerror="window.hacked=1"><svg onload=window.hacked=1>'
    shape = (1, 8, 8, 8)
    kinds = ("input", "activation", "activation")
    tensors = [sp.Tensor(f"{bad}{i}", shape, kind) for i, kind in enumerate(kinds)]
    names = [tensor.name for tensor in tensors]
    operators = [
        sp.Operator(f"{bad}op{i}", bad, (names[i],), (names[i + 1],), block=f"{bad}.x{i}")
        for i in range(2)
    ]
    graph = sp.Graph(bad, {t.name: t for t in tensors}, tuple(operators), (names[0],), (names[2],))
    write_html(sp.plan(graph, time_limit=5), tmp_path / "page.html")
    offline.goto((tmp_path / "page.html").as_uri())
    expect(offline.locator("html[data-ready]")).to_have_count(1)
    expect(offline.locator("h1")).to_contain_text(bad)
    for k in range(2):
        told(offline, f"m('nodes').selected.indices = [{k}]")
        offline.keyboard.press("ArrowRight")
    offline.locator(".plot.map").hover(position={"x": 300, "y": 150})
    expect(offline.locator("#details")).to_contain_text("onerror")
    offline.wait_for_timeout(300)
    assert offline.evaluate("window.hacked") is None
    assert offline.locator("img, svg[onload]").count() == 0


def test_figures_and_files_are_saved(go: Go, tmp_path: Path) -> None:
    page = go(VIT)
    page.locator(".header-button.export button").click()
    for name, sign in (("svg", b"<svg"), ("png", b"PNG"), ("lifetimes", b"id,lower,upper,size")):
        path = save(page, f".export-{name} :is(button, a)", tmp_path)
        assert path.name.startswith("vit_b_16-")
        assert sign in path.read_bytes()[:200]
    page.locator(".export-figure select").select_option(label="address map")
    drawing = save(page, ".export-svg button", tmp_path)
    assert drawing.name.endswith("-address-map.svg")
    root = ET.fromstring(drawing.read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter())) > 100
    assert not re.search(r"(href|src)=\"(?!#|data:)|url\((?!#|&quot;#|data:)", drawing.read_text())
    picture = save(page, ".export-png button", tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert page.locator(".export-tensors").count() == 1
