"""A server that goes away, as a browser sees it; it is one of these journeys' own.

A model dropped on its field · a reload finds the file, and its plan in the cache · the server
killed and started again while a plan is made.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.ui.conftest import (
    DROP_FILE,
    OPEN_SIDEBAR,
    SMALL,
    Server,
    SharedPage,
    expect,
    is_on_screen,
)

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
SLOW = "?v=1&planner=slow&time_limit=3600"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("own"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def visitor(browser: Browser, own: Server) -> Iterator[SharedPage]:
    """A page of that server."""
    made = SharedPage(browser, own.address)
    yield made
    made.close()


def test_a_file_that_is_dropped_is_planned_and_a_reload_finds_it(visitor: SharedPage) -> None:
    page = visitor.open(SMALL)
    field = page.locator(".upload .file-field")
    field.scroll_into_view_if_needed()  # it takes what is dropped where it is seen
    page.evaluate(DROP_FILE, [field.element_handle(), "tiny.cfg", CFG.decode()])
    is_on_screen(page, "tiny")
    expect(page.locator(".model input")).to_have_value("tiny (uploaded)")
    page.wait_for_url("**upload=**")
    page.reload()
    is_on_screen(page, "tiny")
    page.evaluate(OPEN_SIDEBAR)
    expect(page.locator(".status .rest")).to_contain_text("from the cache")
    page.locator(".plan button").click()
    expect(page.locator(".status .rest")).not_to_contain_text("cache")
    assert visitor.wrong == []


def test_a_server_that_comes_back_plans_what_was_asked(visitor: SharedPage, own: Server) -> None:
    page = visitor.go(SLOW, planned=False)
    expect(page.locator(".status .working")).to_be_visible()
    own.end(signal.SIGKILL)
    lost = page.locator(".connection-lost")
    expect(lost).to_contain_text("connection to the server is lost")
    is_on_screen(page, "tiny")
    own.start()
    expect(lost).to_contain_text("can be reached again")
    lost.get_by_role("button").click()
    expect(lost).to_have_count(0)
    expect(page.locator(".status .working")).to_contain_text("vit_b_16")
