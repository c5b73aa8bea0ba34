"""Files brought by hand, and a server that goes away, in a browser.

A model dropped on its field · a corrupt file of each kind · a reload that finds an upload again ·
a plan from the cache · a server killed and started again while a plan is made.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import EXTENSION, PATIENCE_MS, ROOT, free_port, wait_for

CFG = b"""[net]
height=16
width=16
channels=3

[convolutional]
filters=8
size=3
stride=1
pad=1
activation=leaky
"""
DROP = """([node, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const { x, y, width, height } = node.getBoundingClientRect();
  const at = { clientX: x + width / 2, clientY: y + height / 2, dataTransfer: data };
  for (const kind of ['dragenter', 'dragover', 'drop'])
    node.dispatchEvent(
      new DragEvent(kind, { ...at, bubbles: true, composed: true, cancelable: true }));
}"""


class Server:
    """A server of its own, that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.address = f"http://localhost:{self.port}/main"
        self.start()

    def start(self) -> None:
        log = self.folder / "log.txt"
        panel = Path(sys.executable).with_name("panel")
        cache = {"SPILLWAY_CACHE": str(self.folder / "cache")}
        with log.open("a") as output:
            self.process = subprocess.Popen(
                [str(panel), "serve", "app/main.py", "--port", str(self.port)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(EXTENSION), **cache},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_for(self.address, self.process, log)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("own"))
    yield made
    made.process.terminate()
    made.process.wait(10)


def visit(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(address)
    expect(page.locator(".card.peak")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".live tr.tap").first).to_be_visible(timeout=PATIENCE_MS)


def bring(page: Page, name: str, data: bytes) -> None:
    file: Any = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    page.locator(".upload input").first.set_input_files(file)


def is_on_screen(page: Page, name: str) -> None:
    expect(page.locator(".card.name")).to_contain_text(name, timeout=PATIENCE_MS)


def test_a_file_that_is_dropped_is_planned_and_a_reload_finds_it(page: Page, own: Server) -> None:
    visit(page, own.address)
    field = page.locator(".upload .filepond--root").element_handle()
    page.evaluate(DROP, [field, "tiny.cfg", CFG.decode()])
    is_on_screen(page, "tiny")
    expect(page.locator(".model input")).to_have_value("tiny (uploaded)")
    page.wait_for_url("**upload=**")
    page.reload()
    is_on_screen(page, "tiny")
    expect(page.locator(".status .rest")).to_contain_text("from the cache", timeout=PATIENCE_MS)
    page.locator(".plan button").click()
    expect(page.locator(".status .rest")).not_to_contain_text("cache", timeout=PATIENCE_MS)


TABLE = b"id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,16\nc,2,4,8,0\n"


def test_the_better_allocation_is_shown_beside_and_saved(page: Page, own: Server) -> None:
    visit(page, own.address)
    bring(page, "mine.csv", TABLE)
    expect(page.locator(".verdict")).to_contain_text("50.0% above", timeout=PATIENCE_MS)
    expect(page.locator(".budget-nameless")).to_contain_text("An allocation", timeout=PATIENCE_MS)
    page.locator(".beside button").click()
    expect(page.locator(".comparison .totals")).to_contain_text(
        "highest address", timeout=PATIENCE_MS
    )
    moved = page.locator(".tensor-differences")
    expect(moved).to_contain_text("b: at another address", timeout=PATIENCE_MS)
    with page.expect_download(timeout=PATIENCE_MS) as saved:
        page.locator(".better-file button").click()
    assert saved.value.suggested_filename == "mine-better.csv"
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert max(int(line.split(",")[4]) + 8 for line in lines[1:]) == 16
    page.locator(".switch.panel").get_by_role("button", name="peak", exact=True).click()
    page.locator(".ask-peak button").click()
    expect(page.locator(".peak-rows")).to_contain_text("1: other addresses", timeout=PATIENCE_MS)


CORRUPT = [
    ("x.pt2", b"PK\x03\x04nothing", "is not a .pt2 archive"),
    ("x.onnx", b"\x08\xff", "is not an ONNX file"),
    ("x.cfg", b"[convolutional]\n", "x.cfg"),
    ("x.json", b'{"format": "spillway-graph", "version": 2}', "malformed graph"),
    ("x.html", b"<!doctype html>", "carries no plan"),
    ("x.pt", b"\x80\x04.", "a pickle, which is not read"),
]


def test_a_corrupt_file_of_each_kind_is_said_and_the_plan_stays(page: Page, own: Server) -> None:
    visit(page, own.address)
    middle = page.evaluate_handle("document.elementFromPoint(700, 500)")  # anywhere on the page
    page.evaluate(DROP, [middle, "dropped.png", "not a picture"])
    expect(page.locator(".message")).to_contain_text("not JSON", timeout=PATIENCE_MS)
    for name, data, line in CORRUPT:
        bring(page, name, data)
        expect(page.locator(".message")).to_contain_text(line, timeout=PATIENCE_MS)
        is_on_screen(page, "mobilenet_v2")


def test_a_server_that_comes_back_plans_what_was_asked(page: Page, own: Server) -> None:
    visit(page, own.address + "?v=1&planner=slow&time_limit=3600")
    expect(page.locator(".status .working")).to_be_visible(timeout=PATIENCE_MS)
    own.kill()
    lost = page.locator(".connection-lost")
    expect(lost).to_contain_text("connection to the server is lost", timeout=PATIENCE_MS)
    is_on_screen(page, "mobilenet_v2")
    own.start()
    expect(lost).to_contain_text("there again", timeout=PATIENCE_MS)
    lost.get_by_role("button").click()
    expect(lost).to_have_count(0)
    expect(page.locator(".status .working")).to_contain_text("vit_b_16", timeout=PATIENCE_MS)
