"""A server that goes away, as a browser sees it: the last of the journeys, for it is theirs.

A model dropped on its field · the server killed and started again while a plan of it is made: a
reload finds the file, and a plan in the cache.
"""

from __future__ import annotations

import signal
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.ui.conftest import DROP_FILE, Server, SharedPage, is_on_screen, is_planned

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


def test_a_server_that_comes_back_has_the_file_and_plans_what_was_asked(
    shared_page: SharedPage, running: Server
) -> None:
    page = shared_page.open()
    a_file_that_is_dropped_is_planned(page)
    asked = urlsplit(page.url).query
    shared_page.go(f"{asked}&planner=slow&slow.time_limit=3600", planned=False)
    a_server_that_goes_away_is_said_and_found_again(page, running)
    shared_page.go(asked)
    what_was_planned_before_comes_from_the_cache(page)
    shared_page.close()  # its console says that it was left alone


def a_file_that_is_dropped_is_planned(page: Page) -> None:
    field = page.locator(".upload .filepond--root")
    field.scroll_into_view_if_needed()  # it takes what is dropped where it is seen
    page.evaluate(DROP_FILE, [field.element_handle(), "tiny.cfg", CFG.decode()])
    is_on_screen(page, "tiny")
    expect(page.locator(".model input")).to_have_value("tiny (uploaded)")
    page.wait_for_url("**upload=**")
    is_planned(page)


def a_server_that_goes_away_is_said_and_found_again(page: Page, running: Server) -> None:
    expect(page.locator(".status .working")).to_be_visible()
    running.end(signal.SIGKILL)
    lost = page.locator(".connection-lost")
    expect(lost).to_contain_text("connection to the server is lost")
    is_on_screen(page, "tiny")
    running.start()
    expect(lost).to_contain_text("there again")
    lost.get_by_role("button").click()
    expect(lost).to_have_count(0)
    expect(page.locator(".status .working")).to_contain_text("tiny")


def what_was_planned_before_comes_from_the_cache(page: Page) -> None:
    is_on_screen(page, "tiny")
    expect(page.locator(".model input")).to_have_value("tiny (uploaded)")
    expect(page.locator(".status .rest")).to_contain_text("from the cache")
    page.locator(".plan button").click()
    expect(page.locator(".status .rest")).not_to_contain_text("cache")
