"""A page in Chromium, and when its frames show what was asked for."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, sync_playwright

PATIENCE_MS = 180_000
QUIET_MS = 600
DRIVEN_S = 2.0
WATCH = (Path(__file__).parent / "watch.js").read_text()
OUTSIDE = re.compile(r"(https?|wss?)://(?!localhost[:/])")
PLAN = "(e) => e.attr === 'data' && 'tensor' in e.model.data && 'story' in e.model.data"


@dataclass(frozen=True, slots=True)
class Moved:
    """How long after an event the first and the last of what it changed was on screen."""

    first_ms: float
    last_ms: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Followed:
    """How long after a key the last view followed, and in which frame; whether any moved."""

    ms: float
    frames: int
    moved: bool


@dataclass(frozen=True, slots=True)
class Driven:
    """The milliseconds of each frame while a figure is moved, and what came over the web socket."""

    frames_ms: list[float]
    bytes: int

    @property
    def a_second(self) -> float:
        """Frames a second."""
        return 1e3 * len(self.frames_ms) / sum(self.frames_ms)


@contextmanager
def chromium() -> Iterator[BrowserContext]:
    """The system's Chromium at 1280 × 720, without a window, a GPU, or anything in its cache."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        yield browser.new_context(viewport={"width": 1280, "height": 720})


class Screen:
    """The explorer in a tab of its own, with what tells when its frames are painted."""

    def __init__(self, context: BrowserContext, address: str, *, bare: bool = False) -> None:
        self.page = context.new_page()
        self.foreign: list[str] = []
        self.received_bytes = 0
        self.page.on("request", lambda r: self.foreign.append(r.url) if OUTSIDE.match(r.url) else 0)
        self.page.on("websocket", lambda ws: ws.on("framereceived", self._received))
        self.page.add_init_script(WATCH)
        self.page.goto(address)
        if bare:
            self.first_plot_ms = self._wait("bench.plot")
            return
        self.first_rectangles_ms = self._wait("bench.rectangles")
        self.idle_ms = self._wait("bench.idle")
        self.page.evaluate("bench.listen()")

    def _received(self, frame: str | bytes) -> None:
        self.received_bytes += len(frame)

    def _wait(self, what: str) -> float:
        self.page.wait_for_function(f"{what} > 0", timeout=PATIENCE_MS, polling=20)
        return float(self.page.evaluate(what))

    def close(self) -> None:
        """Leave the page; the browser keeps its cache."""
        self.page.close()

    def planned(self, model: str = "", planner: str = "") -> None:
        """Wait until nothing changes any more, and a plan of these is on screen."""
        for words in (model, planner):
            self.page.locator(".card.name").filter(has_text=words).wait_for(timeout=PATIENCE_MS)
        self.page.wait_for_function("bench.quiet(2500)", timeout=PATIENCE_MS)

    def follow(self, key: str) -> Followed:
        """Press a key: until all views are where they stay, in milliseconds and frames."""
        self.page.evaluate(f"bench.follow({QUIET_MS})")
        self.page.keyboard.press(key)
        return self._followed()

    def follow_tap(self, number: int) -> Followed:
        """Tap a row of what is live at the cursor: until all views are where they stay."""
        row = self.page.locator(".live tr.tap").nth(number)
        row.scroll_into_view_if_needed()
        self.page.evaluate(f"bench.follow({QUIET_MS}, 'click')")
        row.click()
        return self._followed()

    def _followed(self) -> Followed:
        self.page.wait_for_function("bench.stepped", timeout=PATIENCE_MS, polling=50)
        found: Any = self.page.evaluate("bench.stepped")
        return Followed(found["ms"], found["frames"], found["moved"])

    def hold(self, held: bool = True) -> None:
        """Keep all that the page says from the server, or no more."""
        self.page.evaluate(f"bench.held = {str(held).lower()}")

    def counted(self, act: Callable[[], Followed]) -> tuple[Followed, int]:
        """Do something, and count the bytes that come over the web socket until it is quiet."""
        before = self.received_bytes
        followed = act()
        self.page.wait_for_function(f"bench.quiet({QUIET_MS})", timeout=PATIENCE_MS)
        return followed, self.received_bytes - before

    def type_budget(self, size: str) -> Moved:
        """Type a budget: until its plan is in the address map."""
        field = self.page.locator(".budget-typed input")
        field.fill(size)
        self._arm("keydown", PLAN)
        field.press("Enter")
        return self._settled(quiet_ms=2500)

    def upload(self, file: Path) -> Moved:
        """Bring a plan or graph: until it is in the address map."""
        self._arm("", PLAN)
        self.page.evaluate("bench.began = performance.now()")
        self.page.locator(".upload input[type=file]").set_input_files(file)
        return self._settled(quiet_ms=2500)

    def whole(self, figure: str) -> None:
        """Have all of a figure's axis in sight."""
        self.page.evaluate(f"bench.whole('{figure}')")

    def glyphs(self, figure: str) -> int:
        """How many rows a figure was sent."""
        return int(self.page.evaluate(f"bench.glyphs('{figure}')"))

    def pan(self, figure: str) -> Driven:
        """Drag a figure to and fro."""
        return self._driven(figure, "PanTool")

    def zoom(self, figure: str) -> Driven:
        """Turn the wheel over a figure, in and out."""
        return self._driven(figure, "WheelZoomTool")

    def _driven(self, figure: str, tool: str) -> Driven:
        """The frames of two seconds of events that come as fast as they are taken."""
        there, mouse = self.page.locator(f".{figure}").first, self.page.mouse
        there.scroll_into_view_if_needed()
        self.page.wait_for_function(f"bench.quiet({QUIET_MS})", timeout=PATIENCE_MS)
        box = there.bounding_box()
        assert box is not None
        x, y = box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"]
        self.page.evaluate(f"bench.take('{figure}', '{tool}')")
        mouse.move(x, y)
        before, k = self.received_bytes, 0
        if tool == "PanTool":
            mouse.down()
        self.page.evaluate("bench.count()")
        until = time.monotonic() + DRIVEN_S
        while time.monotonic() < until:
            k += 1
            if tool == "PanTool":
                mouse.move(x + 4 * abs(k % 80 - 40), y)
            else:
                mouse.wheel(0, -60 if k % 24 < 12 else 60)
            self.page.wait_for_timeout(8)
        frames: list[float] = self.page.evaluate("bench.counted()")
        if tool == "PanTool":
            mouse.up()
        self.page.wait_for_function(f"bench.quiet({QUIET_MS})", timeout=PATIENCE_MS)
        return Driven(frames, self.received_bytes - before)

    def _arm(self, event: str, first: str) -> None:
        self.page.wait_for_function(f"bench.quiet({QUIET_MS})", timeout=PATIENCE_MS)
        self.received_bytes = 0
        self.page.evaluate(f"bench.arm('{event}', {first})")

    def _settled(self, quiet_ms: int = QUIET_MS) -> Moved:
        done = "bench.first > 0 || bench.said()"
        self.page.wait_for_function(done, timeout=PATIENCE_MS, polling=50)
        if said := self.page.evaluate("bench.first ? '' : bench.said()"):
            raise RuntimeError(f"the page says: {said}")
        self.page.wait_for_function(f"bench.quiet({quiet_ms})", timeout=PATIENCE_MS, polling=50)
        found: Any = self.page.evaluate("[bench.first - bench.began, bench.last - bench.began]")
        return Moved(found[0], found[1], self.received_bytes)
