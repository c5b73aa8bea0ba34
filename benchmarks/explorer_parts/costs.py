"""What one page costs until nothing happens any more: the server, the browser, the line."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright

from explorer_parts.server import Server

QUIET_S = 3.0
"""So long nothing happens, then a page is idle: parts come one after the other."""
IDLE = 0.2
"""Share of a core below which a page is one in which nothing happens."""
TICK_S = 0.25
LONGEST_S = 120.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one page, asked for by a browser that has never been there."""

    server_s: float
    browser_s: float
    idle_s: float
    received_kib: float
    models: int


def processor_s(process: int) -> float:
    """Seconds of processor that a process has used, and all below it."""
    total, below = 0.0, [process]
    while below:
        one = below.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            tasks = list(Path(f"/proc/{one}/task").iterdir())
            children = [(task / "children").read_text().split() for task in tasks]
        except OSError:
            continue  # it has ended meanwhile
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        below += [int(child) for some in children for child in some]
    return total


def cost_of(playwright: Playwright, server: Server) -> Cost:
    """Open a page, and wait until neither the server nor the browser works on it."""
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
    (process,) = _chromium_below(os.getpid())
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    sizes: list[float] = []
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    line.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    line.on(
        "Network.webSocketFrameReceived",
        lambda event: sizes.append(len(event["response"]["payloadData"])),
    )
    own, theirs = server.processor_s(), processor_s(process)
    began = time.monotonic()
    page.goto(server.address)
    last = _at_rest(page, server, process, began)
    models = page.evaluate("Bokeh.documents[0]._all_models.size")
    cost = Cost(
        server.processor_s() - own,
        processor_s(process) - theirs,
        last - began,
        sum(sizes) / 1024,
        models,
    )
    browser.close()
    return cost


def _at_rest(page: Any, server: Server, process: int, began: float) -> float:
    """When the last work ended, once there was none for long enough."""
    last = time.monotonic()
    used = server.processor_s() + processor_s(process)
    while time.monotonic() - last < QUIET_S and time.monotonic() - began < LONGEST_S:
        page.wait_for_timeout(1e3 * TICK_S)
        now = server.processor_s() + processor_s(process)
        if now - used > IDLE * TICK_S:
            last = time.monotonic()
        used = now
    return last


def _chromium_below(process: int) -> list[int]:
    """The browsers that are run below a process."""
    found, below = [], [process]
    while below:
        one = below.pop()
        for task in Path(f"/proc/{one}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                try:
                    name = Path(f"/proc/{child}/cmdline").read_text()
                except OSError:
                    continue
                (found if "chrom" in name.split("\0")[0] else below).append(child)
    return found
