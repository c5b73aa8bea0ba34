"""Who is let in: a page of one's own, not too many at once, and none made for nobody."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from unittest.mock import Mock

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.server.callbacks import NextTickCallback
from bokeh.server.session import ServerSession
from panel.io.state import set_curdoc

from app.model.settings import Count
from app.server import sessions
from app.server.origins import refusal_of_host
from tests.app.server.house import House


def test_a_session_is_not_named_by_the_address(house: House) -> None:
    for query in ("?model=x&bokeh-session-id=abc", "?bokeh-token=abc"):
        said = house.ask(f"/{query}")
        assert said.status == 403
        assert "names a session" in said.text
    assert house.ask("/", Bokeh_Session_Id="abc").status == 403
    assert house.ask("/autoload.js?bokeh-session-id=abc").status == 403
    assert house.ask("/?model=x").status == 200


def test_a_full_server_says_so_until_somebody_leaves(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_SESSIONS", "2")
    assert [house.ask("/").status for _ in range(2)] == [200, 200]
    full = house.ask("/")
    assert (full.status, full.headers["Retry-After"]) == (503, "60")
    assert "All 2 places" in full.text
    context = house.server._tornado.applications["/"]
    gone = house.inside(lambda: context._sessions.popitem())
    assert gone
    assert house.ask("/").status == 200


@pytest.mark.parametrize("given", ["", "0", "-1", "many"])
def test_a_number_that_is_none_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("SPILLWAY_ANY", given)
    assert Count("SPILLWAY_ANY", 7).value == 7


def test_no_page_is_made_for_those_who_left(house: House) -> None:
    there = asyncio.Event()

    async def hold_turn() -> None:
        async with sessions.turn():
            await there.wait()

    house.inside(lambda: asyncio.ensure_future(hold_turn()))
    for _ in range(20):
        line = socket.create_connection(("127.0.0.1", house.port))
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        line.close()
    time.sleep(0.3)
    house.inside(there.set)
    assert house.ask("/").status == 200
    assert house.inside(lambda: sessions.sessions(house.server._tornado)) == 1


def test_pages_are_made_one_at_a_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of them the server answers what else is asked for."""
    order: list[str] = []
    made = Document.__init__

    def slowly(document: Document, **more: object) -> None:
        time.sleep(0.1)
        order.append("page")
        made(document, **more)

    monkeypatch.setattr(Document, "__init__", slowly)
    visitors = [threading.Thread(target=house.ask, args=("/",)) for _ in range(10)]
    for visitor in visitors:
        visitor.start()
    while not order:
        time.sleep(0.01)
    house.ask("/favicon.ico")
    order.append("icon")
    for visitor in visitors:
        visitor.join()
    assert order.index("icon") < 6, order


def test_sessions_that_end_together_let_others_between(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    destroyed = ServerSession.destroy

    def slowly(session: ServerSession) -> None:
        time.sleep(0.1)
        order.append("end")
        destroyed(session)

    for _ in range(10):
        house.ask("/")
    monkeypatch.setattr(ServerSession, "destroy", slowly)
    context = house.server._tornado.applications["/"]
    house.inside(lambda: asyncio.ensure_future(context._cleanup_sessions(-1)))
    while not order:
        time.sleep(0.01)
    house.ask("/health")
    order.append("health")
    while len(order) < 11:
        time.sleep(0.01)
    assert order.index("health") < 6, order
    assert house.inside(lambda: sessions.sessions(house.server._tornado)) == 0


@pytest.mark.parametrize(("patience_s", "connected"), [(60.0, 0), (-1.0, 0), (60.0, 1), (-1.0, 1)])
def test_what_is_on_a_page_waits_for_a_browser_that_is_late_or_builds_the_page(
    monkeypatch: pytest.MonkeyPatch, patience_s: float, connected: int
) -> None:
    """What changes between a document that was sent and the word that it was built, Panel drops."""
    monkeypatch.setattr(sessions, "PATIENCE_S", patience_s)
    document, context, made = Document(), Mock(), list[int]()
    context.session.connection_count = connected
    document._session_context = lambda: context

    def go_on() -> None:
        for tick in [c for c in document.session_callbacks if isinstance(c, NextTickCallback)]:
            if awaited := tick.callback():
                asyncio.run(awaited)

    with set_curdoc(document):
        sessions.when_wanted(lambda: made.append(1))
        go_on()
        assert bool(made) == (patience_s > 0 and not connected)
        pn.state._schedule_on_load(document, None)  # what the browser asks for
        go_on()
    assert made == [1]


def test_texts_come_before_what_is_on_pages_and_who_left_has_no_turn() -> None:
    order: list[str] = []

    async def wait(name: str, *, long: bool) -> None:
        async with sessions.turn(long=long):
            order.append(name)

    async def all_of_them() -> None:
        async with sessions.turn():
            asked = [("page 1", True), ("page 2", True), ("text 1", False), ("gone", False)]
            tasks = [asyncio.create_task(wait(name, long=long)) for name, long in asked]
            await asyncio.sleep(0)
            tasks.pop().cancel()
            tasks.append(asyncio.create_task(wait("text 2", long=False)))
        await asyncio.gather(*tasks)

    asyncio.run(all_of_them())
    assert order == ["text 1", "text 2", "page 1", "page 2"]


def test_the_next_turn_comes_when_what_follows_from_the_last_is_done() -> None:
    """Else all who come together get their pages with the last of them."""
    order: list[str] = []

    async def both() -> None:
        loop = asyncio.get_running_loop()

        def follow(many: int) -> None:
            time.sleep(0.03)  # a page that is written, a message that is taken
            order.append("follows")
            if many > 1:
                loop.call_soon(follow, many - 1)

        async with sessions.turn():
            loop.call_soon(follow, 8)
        async with sessions.turn():
            order.append("next")

    asyncio.run(both())
    assert order == ["follows"] * 8 + ["next"]


def test_the_server_answers_to_its_own_names_alone(house: House) -> None:
    """A foreign page whose name leads here could have read the page and its numbers."""
    strangers = ("rebound.example", "rebound.example:5006", "localhost.example", "10.1.2.3", "")
    for host in strangers:
        for path in ("/", "/metrics", "/operator", "/ws", "/static/js/bokeh.min.js"):
            refused = house.ask(path, Host=host)
            assert refused.status == 403
            assert "--allow-websocket-origin" in refused.text
        assert house.ask("/health", Host=host).status == 200
    assert house.ask("/", Host="<b>").status == 400


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:5006", "LOCALHOST"])
def test_the_machine_itself_has_several_names(house: House, host: str) -> None:
    assert house.ask("/metrics", Host=host).status == 200


@pytest.mark.parametrize("origins", [["lab.example:8443"], ["*.example"], ["*"]])
def test_names_are_those_from_which_sockets_may_come(origins: list[str]) -> None:
    assert refusal_of_host(origins, "lab.example") is None
    assert refusal_of_host(origins, "lab.example:80") is None
    refusal = refusal_of_host(["lab.example"], "other.example")
    assert refusal is not None
    assert "other.example" in refusal.why
