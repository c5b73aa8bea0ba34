"""A journey over a site of stored plans, opened from a disk without any network.

Index · a plan, stepped, its address followed · another plan of its network · what does not fit ·
a point of the front · two plans compared with one cursor · rectangles placed by hand · an
assignment answered, wrong and right · the theme on the way · the same from a server of plain files.
"""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import planners as sp
from app.outputs.site.cells import SiteAsked
from app.outputs.site.write import write_site
from planners.assignments import assignment, solution
from tests.app.outputs.test_site import network
from tests.ui.axe import needs_axe, violations
from tests.ui.conftest import expect, watch

PLANNERS = ("cosma", "cosma:schedule=mpmf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two planners × two budgets, in one of which nothing fits."""
    path = tmp_path_factory.mktemp("a course") / "site"
    machine = sp.load_machine("npu_small")
    asked = SiteAsked([network()], PLANNERS, ("20KiB", "10KiB"), machine, 5, tour=False)
    write_site(path, asked)
    return path


@pytest.fixture(scope="module")
def disk_page(browser: Browser) -> Iterator[Page]:
    """The page on which the files are opened, without any network."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


@pytest.fixture
def disk(disk_page: Page) -> Iterator[Page]:
    yield from watched(disk_page)


def watched(page: Page) -> Iterator[Page]:
    """Nothing may go wrong in a page, and no name may have become anything but text."""
    wrong = watch(page)
    yield page
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert wrong == []


def ready(page: Any, words: str = "[data-ready=yes]") -> None:
    expect(page.locator(f"html{words}")).to_have_count(1)


def test_a_course_from_a_disk(folder: Path, disk: Page) -> None:
    disk.goto((folder / "index.html").as_uri())
    expect(disk.locator(".cell.no")).to_have_count(2)
    disk.locator("#theme").click()
    expect(disk.locator("html")).to_have_attribute("data-theme", "dark")
    disk.locator(".cell .value").first.click()
    ready(disk)
    expect(disk.locator("html")).to_have_attribute("data-theme", "dark")
    a_plan(disk)
    a_network(disk)
    a_comparison(disk)


def a_plan(page: Page) -> None:
    expect(page.locator("h1")).to_contain_text('<img src=x onerror="window.hacked=1">')
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step")).to_have_text("Step 2 of 3")
    page.locator("#live tr.tap").first.click()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("#(?=.*step=2)(?=.*selection=tensor)"))
    chosen = page.locator("#details td").first.inner_text()
    page.reload()
    ready(page)
    expect(page.locator("#step")).to_have_text("Step 3 of 3")
    expect(page.locator("#details td").first).to_have_text(chosen)
    page.locator("#site-nav select").select_option(index=2)
    page.wait_for_url("**mpmf**")
    ready(page)
    expect(page.locator("#details td").first).to_have_text(chosen)


def a_network(page: Page) -> None:
    page.locator("#site-nav a").nth(1).click()
    ready(page)
    expect(page.locator("#why")).to_contain_text("needs 20 KiB, has 10 KiB, short by 10 KiB")
    expect(page.locator("#why")).to_contain_text("Fits: cosma at 20KiB")
    page.evaluate(
        "() => { const told = JSON.parse(document.getElementById('page-data').textContent);"
        " Bokeh.documents[0].get_model_by_id(told.sources[0]).selected.indices = [0]; }"
    )
    page.wait_for_url("**/plans/**")
    ready(page)
    page.go_back()
    ready(page)
    for box in page.locator(".pick").all():
        box.check()
    page.locator("#pair a").click()


def a_comparison(page: Page) -> None:
    ready(page, "[data-ready='2']")
    expect(page.locator("#totals")).to_contain_text("spill traffic")
    first, second = (page.frame_locator("iframe").nth(i) for i in range(2))
    expect(second.locator("html")).to_have_attribute("data-theme", "dark")
    first.locator("#cursor").fill("2")
    expect(second.locator("#step")).to_have_text("Step 3 of 3")
    second.locator("#live tr.tap").first.click()
    expect(first.locator("#live tr.on")).to_have_count(1)
    expect(page).to_have_url(re.compile("selection=tensor"))
    page.reload()
    ready(page, "[data-ready='2']")
    expect(first.locator("#live tr.on")).to_have_count(1)


def test_by_hand_and_judged(folder: Path, disk: Page, tmp_path: Path) -> None:
    disk.goto((folder / "place.html").as_uri())
    disk.locator("main li a").first.click()
    verdict = disk.locator(".verdict")
    expect(verdict).to_contain_text("Valid: no two tensors share a byte")
    disk.locator(".places input").nth(0).fill("18KiB")
    disk.keyboard.press("Enter")
    expect(verdict).to_contain_text("leaves the budget by 2 KiB")
    disk.reload()
    expect(verdict).to_contain_text("leaves the budget by 2 KiB")
    with disk.expect_download() as waiting:
        disk.get_by_text("Save as CSV").click()
    waiting.value.save_as(tmp_path / "placed.csv")
    assert sp.audit(tmp_path / "placed.csv").peak_bytes == 22 * 1024

    disk.goto((folder / "tasks.html").as_uri() + "#task=chain")
    expect(verdict).to_contain_text("Not valid: step")
    right = solution("chain")
    assert isinstance(right, dict)
    for tensor, at in right["addresses"].items():
        disk.get_by_label(f"address of {tensor}", exact=True).fill(str(at))
    disk.keyboard.press("Enter")
    expect(verdict).to_have_text("Passed: it uses addresses up to 24 KiB.")
    box = disk.locator(".stay").nth(1)
    box.focus()
    disk.keyboard.press("ArrowUp")
    expect(verdict).to_have_attribute("data-passed", "no")
    disk.keyboard.press("ArrowDown")
    expect(verdict).to_have_attribute("data-passed", "yes")
    middle = box.bounding_box()
    assert middle is not None
    disk.mouse.move(middle["x"] + 5, middle["y"] + 5)
    disk.mouse.down()
    disk.mouse.move(middle["x"] + 5, middle["y"] - 60, steps=3)
    disk.mouse.up()
    expect(verdict).to_have_attribute("data-passed", "no")
    disk.locator(".tasks a").nth(2).click()
    expect(verdict).to_contain_text("Valid, but it peaks at 340 KiB")
    disk.locator(".tasks a").nth(3).click()
    moves = solution("spill")
    assert isinstance(moves, dict)
    disk.locator("textarea").fill("\n".join(moves["moves"]))
    expect(verdict).to_contain_text("Passed: it moves 80 KiB more")
    assert assignment("spill").goals[0].most == 80 * 1024
    disk.locator(".tasks a").nth(4).click()
    expect(disk.locator("main")).to_contain_text("none of this network is stored here")


def test_the_same_from_a_server_of_plain_files(folder: Path, page: Page) -> None:
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(
        ("localhost", 0), partial(quiet, directory=str(folder))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for seen in watched(page):
            seen.goto(f"http://localhost:{server.server_port}/compare.html")
            seen.locator("main li a").first.click()
            ready(seen)
            seen.locator(".cell .value").first.click()
            ready(seen)
            seen.locator("#site-nav a", has_text="Compare").click()
            ready(seen, "[data-ready='2']")
        server.shutdown()


@needs_axe
def test_axe_has_nothing_against_its_pages(folder: Path, disk: Page) -> None:
    found: dict[str, list[Any]] = {}
    pages = {
        "index": ("index.html", ""),
        "a plan": (next(folder.glob("plans/**/*.html")).relative_to(folder).as_posix(), ""),
        "a network": (next(folder.glob("networks/*.html")).relative_to(folder).as_posix(), ""),
        "placing": ("place.html", "main li a"),
        "tasks": ("tasks.html", ""),
        "comparisons": ("compare.html", "main li a"),
    }
    for theme in ("light", "dark"):
        disk.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        for name, (path, follow) in pages.items():
            disk.goto((folder / path).as_uri())
            if follow:
                disk.locator(follow).first.click()
            disk.wait_for_timeout(500)
            if rules := violations(disk):
                found[f"{name}, {theme}"] = rules
    assert found == {}
