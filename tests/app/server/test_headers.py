"""What every answer carries, and who may open a socket."""

from __future__ import annotations

import pytest

from app.server.headers import headers_for
from app.server.origins import with_same
from tests.app.server.house import House


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/nowhere", 404),
        ("/static/js/bokeh.min.js", 200),
        ("/?bokeh-session-id=x", 403),
        ("/ws", 400),
        ("/favicon.ico", 200),
    ],
)
def test_every_answer_carries_the_headers(house: House, path: str, status: int) -> None:
    said = house.ask(path)
    assert said.status == status
    assert said.headers["X-Content-Type-Options"] == "nosniff"
    assert said.headers["X-Frame-Options"] == "DENY"
    assert said.headers["Referrer-Policy"] == "same-origin"
    assert said.headers.get_all("Server") == ["Spillway"]
    policy = said.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert f"connect-src 'self' blob: ws://127.0.0.1:{house.port} wss" in policy


@pytest.mark.parametrize("host", ["x; script-src *", "a b", "", "*"])
def test_a_host_that_is_none_does_not_come_into_the_policy(host: str) -> None:
    assert headers_for(host)["Content-Security-Policy"].endswith("connect-src 'self' blob:")


def test_the_machine_itself_is_one_by_all_its_names() -> None:
    assert with_same({"localhost:5006", "example.org"}) == {
        "localhost:5006",
        "127.0.0.1:5006",
        "[::1]:5006",
        "example.org",
    }
    assert with_same({"localhost.example.org:80"}) == {"localhost.example.org:80"}


@pytest.mark.parametrize(
    ("origin", "status"), [("localhost", 101), ("127.0.0.1", 101), ("example.org", 403)]
)
def test_sockets_from_the_machine_itself_are_let_in(house: House, origin: str, status: int) -> None:
    said = house.ask(
        "/ws",
        Origin=f"http://{origin}:{house.port}",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        Sec_WebSocket_Version="13",
    )
    assert said.status == status
