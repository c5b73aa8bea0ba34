"""The explorer, served as a person serves it, and pages on which journeys meet it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from playwright.sync_api import Browser, Error, JSHandle, Locator, Page
from playwright.sync_api import expect as playwright_expect

from app.links.url import LOOKED_AT, to_query
from app.model.state import WEIGHED, Look, problem_with

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "tests" / "app" / "extension"
PATIENCE_MS = 180_000
"""What a journey waits for: longer than a busy machine takes, for only what fails waits it out."""
WINDOW: Any = {"width": 1280, "height": 720}
Go = Callable[..., Page]
VIT = "?v=1&model=vit_b_16"
"""What journeys begin with that need spills: a plan of 113 steps, made in a second."""
SMALL = "?v=1&model=squeezenet1_1"
"""What other journeys begin with: a plan of 38 steps."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`panel serve app/main.py`, literally, with planners such as `slow` installed.

    It has a cache of its own. It can be killed and started again.
    """

    def __init__(self, folder: Path) -> None:
        self.port, self.log, self._cache = free_port(), folder / "log.txt", folder / "cache"
        self.address = f"http://localhost:{self.port}/main"
        self.start()

    def start(self) -> None:
        panel = Path(sys.executable).with_name("panel")
        ours = {"PYTHONPATH": str(EXTENSION), "SPILLWAY_CACHE": str(self._cache)}
        with self.log.open("a") as output:
            self._process = subprocess.Popen(
                [str(panel), "serve", "app/main.py", "--port", str(self.port)],
                cwd=ROOT,
                env={**os.environ, **ours},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_for(self.address, self._process, self.log)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait(60)


_logs: list[Path] = []
"""What the server of this process says, for a journey that fails."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the explorer is."""
    made = Server(tmp_path_factory.mktemp("server"))
    _logs.append(made.log)
    yield made.address
    made.end()
    # A page that closes while it is written to makes Tornado complain; only our frames count.
    log = made.log.read_text()
    assert f'File "{ROOT / "app"}' not in log, log[-4000:]


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


class Expectation:
    """What Playwright expects of something, once it is there.

    Until it is, Playwright describes the whole page at each look, which takes a third of a core.
    """

    def __init__(self, actual: Locator | Page) -> None:
        self._actual = actual

    def __getattr__(self, name: str) -> Callable[..., None]:
        def check(*given: Any, **options: Any) -> None:
            waits = {key: options[key] for key in ("timeout",) if key in options}
            if name == "to_be_visible":
                self._actual.first.wait_for(**waits)
            elif name == "to_have_url":
                self._actual.wait_for_url(*given, wait_until="commit", **waits)
            elif isinstance(self._actual, Locator) and name not in EXPECTED_OF_NOTHING:
                self._actual.first.wait_for(state="attached", **waits)
            getattr(playwright_expect(self._actual), name)(*given, **options)

        return check


EXPECTED_OF_NOTHING = {"to_be_hidden", "to_have_count", "not_to_be_visible"}
"""What may be true of something that is not there."""


def expect(actual: Locator | Page) -> Any:
    """Of a locator or a page, what the function of this name in Playwright checks."""
    return Expectation(actual)


def watch(page: Page) -> list[str]:
    """What goes wrong in the browser from now on; a request that leaves the machine is wrong."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: wrong.append(r.url) if outside(r.url) else None)
    playwright_expect.set_options(timeout=PATIENCE_MS)
    page.set_default_timeout(PATIENCE_MS)
    return wrong


def opened(page: Page, address: str) -> Page:
    """Open the explorer at an address, and wait for a plan."""
    page.set_viewport_size(WINDOW)
    page.goto(address)
    is_planned(page)
    page.evaluate(OPEN_SIDEBAR)
    page.locator(".header-button.more button").click()
    page.evaluate("document.dispatchEvent(new CustomEvent('spillway-want', { detail: 'graph' }))")
    expect(page.locator(".header-button.tour")).to_be_visible()
    return page


def is_planned(page: Page) -> None:
    """There is a plan on the page, the one that is asked for, and all that is told of it."""
    page.locator(".status .rest").wait_for()
    page.locator(".status .working, .status .former").first.wait_for(state="detached")
    for part in (".card.peak", ".step-title .now", ".live tr.tap"):
        expect(page.locator(part).first).to_be_visible()


def is_on_screen(page: Page, name: str) -> None:
    """The plan of a network is."""
    expect(page.locator(".card.name")).to_contain_text(name)


def comes_true(page: Page, expression: str, arg: Any = None) -> JSHandle:
    """Wait until a JavaScript expression holds: asked in every frame, it would take a core."""
    return page.wait_for_function(expression, arg=arg, polling=200)


class SharedPage:
    """The page on which journeys go on one after the other: a link is dropped on it.

    That leads to another plan as it does for a visitor, at a fifth of what a page costs that is
    opened. A journey that fails takes the page with it: the next one opens another.
    """

    def __init__(self, browser: Browser, server: str, **context: Any) -> None:
        self._browser, self._server, self._context = browser, server, context
        self._page: Page | None = None
        self._turn = 0
        self.wrong: list[str] = []

    def open(self, link: str = "") -> Page:
        """A new page; without a link in its address it has the first plan."""
        self.close()
        self._page = self._browser.new_context(**self._context).new_page()
        self.wrong, self._turn = watch(self._page), 0
        return opened(self._page, self._server + link)

    def close(self) -> None:
        if self._page is not None:
            self._page.context.close()
        self._page = None

    def words(self) -> str:
        """The address, and what can be read on the page."""
        try:
            return f"{self._page.url}\n{self._page.evaluate(WORDS)}" if self._page else ""
        except Error as error:
            return str(error)

    def words_after_a_step(self) -> str:
        """The same once the cursor has moved: what the server held back may come with that."""
        if self._page:
            with suppress(Error):
                self._page.keyboard.press("Escape")
                self._page.keyboard.press("ArrowRight")
                self._page.wait_for_timeout(2000)
        return self.words()

    def go(self, link: str, *, planned: bool = True) -> Page:
        """Drop a link on the page, which looks as one that nobody has touched.

        Of a plan that is on it already, the step and the opened blocks stay. `planned`: wait until
        the plan is there.
        """
        page = self._page or self.open()
        page.set_viewport_size(WINDOW)
        page.keyboard.press("Escape")
        self._turn += 1  # This field is another in each link: the address tells that it came.
        turn = WEIGHED[self._turn % len(WEIGHED)]
        fields = dict(parse_qsl(link.lstrip("?"), keep_blank_values=True))
        page.evaluate(DROP, "?" + urlencode({**LOOK, **fields, "weighed": turn}))
        expect(page).to_have_url(re.compile(f"weighed={turn}(&|$)"))
        if planned:
            is_planned(page)
        return page


OPEN_SIDEBAR = """() => {
  const button = document.getElementById('sidebar-button');
  if (button.getAttribute('aria-expanded') !== 'true') button.click();
}"""
"""What is one step away is on screen for journeys."""
WHITE = (
    "(white) => [...Bokeh.documents[0]._all_models.values()].filter((m) => m.type === 'Figure')"
    ".every((m) => (m.background_fill_color === '#ffffff') === white)"
)
"""Whether the drawings of the page are white, or those of the dark theme."""
LOOK = {
    name: value
    for name, value in parse_qsl(to_query(problem_with({}), Look())[1:], keep_blank_values=True)
    if name in LOOKED_AT and name not in ("step", "expanded")
}
"""How a page looks that nobody has touched; step and opened blocks are the plan's own."""
DROP = """(link) => {
  document.activeElement.blur();
  document.getElementById('main').scrollTop = 0;
  const dataTransfer = new DataTransfer();
  dataTransfer.setData('text/plain', link);
  const kind = { bubbles: true, composed: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent('drop', { ...kind, dataTransfer }));
}"""


WORDS = """() => {
  const said = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE && node.data.trim()) said.push(node.data.trim());
    if (node.nodeType === Node.ELEMENT_NODE
        && (/^(STYLE|SCRIPT|OPTION)$/.test(node.tagName)
            || getComputedStyle(node).display === 'none')) return;
    for (const below of [...(node.shadowRoot?.childNodes || []), ...node.childNodes]) walk(below);
  };
  walk(document.body);
  return said.join(' | ').slice(0, 6000);
}"""
"""What is visible of a page, in its shadow roots too."""


DEAF = """() => {
  const to = WebSocket.prototype;
  [to.said, window.unsaid] = [to.send, []];
  to.send = function (...all) { window.unsaid.push([this, all]); };
}"""
"""From now on the server hears nothing that the page says."""
HEARS = """() => {
  WebSocket.prototype.send = WebSocket.prototype.said;
  for (const [socket, all] of window.unsaid) socket.send(...all);
}"""
"""It hears all of it now."""
DROP_FILE = """([node, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const { x, y, width, height } = node.getBoundingClientRect();
  const at = { clientX: x + width / 2, clientY: y + height / 2, dataTransfer: data };
  for (const kind of ['dragenter', 'dragover', 'drop'])
    node.dispatchEvent(
      new DragEvent(kind, { ...at, bubbles: true, composed: true, cancelable: true }));
}"""
"""A file dropped on something."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A journey that fails may leave anything behind: nobody goes on from there."""
    report: Any = yield
    for shared in getattr(item, "funcargs", {}).values() if report.failed else ():
        if isinstance(shared, SharedPage):
            report.sections.append(("Wrong in the browser", "\n".join(shared.wrong)))
            report.sections.append(("On the page", shared.words()))
            told = _logs[-1].read_text(errors="replace") if _logs else ""
            report.sections.append(("In the server's log", told[-6000:]))
            report.sections.append(("After a step", shared.words_after_a_step()))
            shared.close()
    return report


@pytest.fixture(scope="session")
def shared_page(browser: Browser, server: str) -> Iterator[SharedPage]:
    page = SharedPage(browser, server)
    yield page
    page.close()


@pytest.fixture
def go(shared_page: SharedPage) -> Iterator[Go]:
    """Go to a link on the page that journeys share."""
    yield shared_page.go
    assert shared_page.wrong == []


@pytest.fixture(scope="session")
def dark(browser: Browser, server: str) -> Iterator[SharedPage]:
    """The page of another visitor, whose system is dark."""
    page = SharedPage(browser, server, color_scheme="dark")
    yield page
    page.close()


def models(page: Page, expression: str) -> Any:
    """Evaluate a JavaScript expression over `all`, the models of the document."""
    return page.evaluate(over_models(expression))


def over_models(expression: str) -> str:
    return (
        f"() => {{ const all = [...Bokeh.documents[0]._all_models.values()];"
        f" return {expression}; }}"
    )


BANDS = "all.filter(m => m.type === 'BoxAnnotation' && m.fill_alpha === 0.1).map(m => m.left)"
"""Where the cursor stands in each drawing."""


def outside(url: str) -> bool:
    """Whether a request leaves the machine."""
    return re.match(r"(https?|wss?)://(?!localhost[:/])", url) is not None
