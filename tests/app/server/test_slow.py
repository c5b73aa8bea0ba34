"""A browser that takes nothing of what it is sent costs the server a minute, and no more."""

from __future__ import annotations

import base64
import os
import re
import socket
import time

import pytest

from app.server import sockets
from tests.app.server.house import House


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="of Linux")
def test_a_connection_that_takes_nothing_is_ended(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "SLOW_MS", 500)
    token = re.search(r'"token":\s*"([^"]+)"', house.ask("/").text)
    assert token is not None
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", house.port))
        lines = (
            "GET /ws HTTP/1.1",
            f"Host: localhost:{house.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            f"Sec-WebSocket-Protocol: bokeh, {token[1]}",
        )
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        assert line.recv(12) == b"HTTP/1.1 101"
        clients = house.server._tornado._clients
        end = time.monotonic() + 30
        while not house.inside(lambda: len(clients)) and time.monotonic() < end:
            time.sleep(0.05)
        assert house.inside(lambda: len(clients)) == 1
        (one,) = clients
        house.inside(lambda: one._socket.ws_connection.write_message("x" * 10**7))
        while house.inside(lambda: len(clients)) and time.monotonic() < end:
            time.sleep(0.05)
        assert house.inside(lambda: len(clients)) == 0
