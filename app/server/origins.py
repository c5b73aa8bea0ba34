"""Whose pages may open a web socket here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bokeh.server.tornado import BokehTornado

LOCAL = "localhost"
SAME = ("127.0.0.1", "[::1]")
"""Other names of the machine itself: who may come as `localhost` may come as these."""


def with_same(origins: Iterable[str]) -> set[str]:
    """Origins (`host:port`) and those that are the same ones by another name."""
    given = set(origins)
    local = [origin for origin in given if origin.partition(":")[0] == LOCAL]
    return given | {name + origin.removeprefix(LOCAL) for origin in local for name in SAME}


def accept_loopback() -> None:
    """Let sockets come from `127.0.0.1` wherever they may come from `localhost`."""

    def websocket_origins(server: Any) -> set[str]:
        return with_same(server._websocket_origins)

    BokehTornado.websocket_origins = property(websocket_origins)
