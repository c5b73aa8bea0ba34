"""Files brought by hand, in a browser.

Another tool's allocation and the better one · a corrupt file of each kind.
"""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.ui.conftest import DEAF, DROP_FILE, HEARS, SMALL, Go, expect, is_on_screen


def test_a_file_that_is_chosen_while_another_arrives_is_read_to_its_end(go: Go) -> None:
    page = go(SMALL)
    page.evaluate(DEAF)
    bring(page, "small.onnx", b"\xff" * 7)
    bring(page, "large.onnx", b"\xff" * 9 * 2**20)
    expect(page.locator(".upload label")).to_contain_text("large.onnx: 0 %")
    page.evaluate(HEARS)
    expect(page.locator(".message")).to_contain_text("large.onnx is not an ONNX file")
    expect(page.locator(".upload label")).to_contain_text("Drop a file anywhere")


def bring(page: Page, name: str, data: bytes) -> None:
    file: Any = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    page.locator(".upload input").first.set_input_files(file)


TABLE = b"id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,16\nc,2,4,8,0\n"


def test_the_better_allocation_is_shown_beside_and_saved(go: Go) -> None:
    page = go(SMALL)
    bring(page, "mine.csv", TABLE)
    expect(page.locator(".verdict")).to_contain_text("50.0% above")
    expect(page.locator(".budget-nameless")).to_contain_text("An allocation")
    page.locator(".beside button").click()
    expect(page.locator(".comparison .totals")).to_contain_text(
        "highest address",
    )
    moved = page.locator(".tensor-differences")
    expect(moved).to_contain_text("b: at another address")
    with page.expect_download() as saved:
        page.locator(".better-file button").click()
    assert saved.value.suggested_filename == "mine-better.csv"
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert max(int(line.split(",")[4]) + 8 for line in lines[1:]) == 16
    page.locator(".switch.panel").get_by_role("button", name="peak", exact=True).click()
    page.locator(".ask-peak button").click()
    expect(page.locator(".peak-rows")).to_contain_text("1: other addresses")


CORRUPT = [
    ("x.pt2", b"PK\x03\x04nothing", "is not a .pt2 archive"),
    ("x.onnx", b"\x08\xff", "is not an ONNX file"),
    ("x.cfg", b"[convolutional]\n", "x.cfg"),
    ("x.json", b'{"format": "spillway-graph", "version": 2}', "malformed graph"),
    ("x.html", b"<!doctype html>", "carries no plan"),
    ("x.pt", b"\x80\x04.", "a pickle, which cannot be read"),
]


def test_a_corrupt_file_of_each_kind_is_said_and_the_plan_stays(go: Go) -> None:
    page = go(SMALL)
    middle = page.evaluate_handle("document.elementFromPoint(700, 500)")  # anywhere on the page
    page.evaluate(DROP_FILE, [middle, "dropped.png", "not a picture"])
    expect(page.locator(".message")).to_contain_text("dropped.png is text in an unknown format")
    for name, data, line in CORRUPT:
        bring(page, name, data)
        expect(page.locator(".message")).to_contain_text(line)
        is_on_screen(page, "squeezenet1_1")
