"""What is over a limit is refused, and told when to come back."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from bokeh.client import pull_session
from bokeh.util.token import generate_jwt_token
from tornado.websocket import websocket_connect

from app.model.settings import REQUESTS, SETTINGS
from app.server import guard
from app.server.rates import WINDOW_S, Rates, household
from tests.app.server.house import House

ROOT = Path(__file__).parents[3]
ASKS = '{"msgid": "1", "msgtype": "SERVER-INFO-REQ"}'


@pytest.fixture(autouse=True)
def nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_rates", Rates(lambda: REQUESTS.value))


def test_who_asks_too_often_is_told_when_to_come_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_REQUESTS", "3")
    assert [house.ask("/favicon.ico").status for _ in range(3)] == [200] * 3
    late = house.ask("/")
    assert late.status == 429
    assert 0 < int(late.headers["Retry-After"]) <= WINDOW_S
    assert f"Come back in {late.headers['Retry-After']} seconds" in late.text
    forged = house.ask("/", X_Forwarded_For="192.0.2.7", X_Real_Ip="192.0.2.7")
    assert forged.status == 429  # this server was not told that a proxy stands before it


def test_the_address_is_the_forwarded_one_where_the_server_was_told_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_REQUESTS", "1")
    house.server._http.xheaders = True
    first, second = ({"X_Real_Ip": f"192.0.2.{n}"} for n in (1, 2))
    assert house.ask("/favicon.ico", **first).status == 200
    assert house.ask("/favicon.ico", **second).status == 200
    assert house.ask("/favicon.ico", **first).status == 429


def test_a_minute_later_an_address_is_let_in_again() -> None:
    rates = Rates(lambda: 2, most_known=3)
    assert [rates.wait_s("a", at) for at in (0, 10, 20.5, 60)] == [0, 0, 40, 0]
    for number in range(100):
        assert rates.wait_s(f"b{number}", 61) == 0
    assert len(rates._known) == 3


def test_one_customer_is_one_address() -> None:
    assert household("2001:db8::1") == household("2001:db8::ffff:2") != household("2001:db9::1")
    assert household("192.0.2.1") != household("192.0.2.2")
    assert household("") == ""


def test_no_more_sockets_than_there_may_be(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_SOCKETS", "1")
    socket = pull_session(url=f"http://localhost:{house.port}/")
    asked = {"Upgrade": "websocket", "Connection": "Upgrade"}
    full = house.ask("/ws", **asked)
    assert (full.status, full.headers["Retry-After"]) == (503, "60")
    assert "All 1 connections" in full.text
    socket.close()
    while house.inside(lambda: len(house.server._tornado._clients)):
        time.sleep(0.01)
    assert house.ask("/ws", **asked).status != 503


@pytest.mark.parametrize(("sent", "code"), [(["x" * 3000], 1009), ([ASKS, "{}", "{}"] * 40, None)])
def test_a_message_that_is_too_large_ends_its_socket(
    house: House, monkeypatch: pytest.MonkeyPatch, sent: list[str | bytes], code: int | None
) -> None:
    monkeypatch.setenv("SPILLWAY_MESSAGE", "2000")
    assert last_code(house, sent) == code


def test_parts_of_a_message_count_together(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_MESSAGE", "2000")
    header = '{"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 1000000}'
    buffers = ['{"id": "1"}', b"y" * 300] * 20
    assert last_code(house, [header, "{}", "{}", *buffers]) == 1009


def test_a_socket_makes_no_session_where_the_server_is_full(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_SESSIONS", "1")
    assert house.ask("/").status == 200
    assert last_code(house, []) == 1013


def last_code(house: House, sent: Sequence[str | bytes]) -> int | None:
    """Open a socket with a session of its own, send that; how it was closed within a second."""
    done, codes = threading.Event(), list[int | None]()

    async def talk() -> None:
        token = generate_jwt_token("anyone", extra_payload={"headers": {}, "cookies": {}})
        line = await websocket_connect(
            f"ws://localhost:{house.port}/ws", subprotocols=["bokeh", token]
        )
        if sent:
            await line.read_message()  # ACK
        for text in sent:
            await line.write_message(text, binary=isinstance(text, bytes))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while await line.read_message() is not None:
                    pass
        codes.append(line.close_code)
        line.close()
        done.set()

    house.loop.add_callback(talk)
    assert done.wait(20)
    return codes[0]


def test_every_limit_is_in_the_documentation_with_its_usual_value() -> None:
    text = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(SPILLWAY_\w+)` \| `([^`]+)` \|", text, re.MULTILINE))
    assert {limit.name: str(limit) for limit in SETTINGS}.items() <= rows.items()
