"""The explorer, served as a person serves it, and a page that has its first plan."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "tests" / "app" / "extension"
PATIENCE_MS = 180_000
"""What a journey waits for: longer than a busy machine takes, for only what fails waits it out."""
Open = Callable[..., Page]
VIT = "?v=1&model=vit_b_16"
"""What journeys begin with that are not about the first page: a small plan that spills."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`panel serve app/main.py`, literally, with the planners `slow` and `stubborn` installed."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log.txt"
    panel = Path(sys.executable).with_name("panel")
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(panel), "serve", "app/main.py", "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(EXTENSION), "SPILLWAY_CACHE_SIZE": "0"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        address = f"http://localhost:{port}/main"
        wait_for(address, process, log)
        yield address
        process.terminate()
        process.wait(10)
    # A page that closes while it is written to makes Tornado complain; only our frames count.
    assert f'File "{ROOT / "app"}' not in log.read_text(), log.read_text()[-4000:]


def wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=20).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server did not come up: {log.read_text()[-2000:]}")


@contextmanager
def visiting(page: Page, server: str) -> Iterator[Open]:
    """Open the explorer and wait for its plan; nothing may go wrong in the browser meanwhile."""
    wrong: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: foreign.append(r.url) if outside(r.url) else None)
    expect.set_options(timeout=PATIENCE_MS)
    page.set_viewport_size({"width": 1280, "height": 720})

    def visit(query: str = VIT) -> Page:
        page.goto(server + query)
        if re.search("[?&](v|model)=", query) and not re.search("slow|mobilenet_v2", query):
            expect(page.locator(".card.name")).not_to_contain_text("mobilenet_v2")
        expect(page.locator(".card.peak")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.locator(".step-title .now")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.locator(".live tr.tap").first).to_be_visible(timeout=PATIENCE_MS)
        return page

    yield visit
    assert wrong == []
    assert foreign == []


@pytest.fixture
def open_page(page: Page, server: str) -> Iterator[Open]:
    """A page of a journey's own."""
    with visiting(page, server) as visit:
        yield visit


@pytest.fixture(scope="module")
def open_for_all(browser: Browser, server: str) -> Iterator[Open]:
    """A page that journeys of a file go on with, one after the other: to open one takes long."""
    context = browser.new_context()
    with visiting(context.new_page(), server) as visit:
        yield visit
    context.close()


def outside(url: str) -> bool:
    """Whether a request leaves the machine."""
    return re.match(r"(https?|wss?)://(?!localhost[:/])", url) is not None
