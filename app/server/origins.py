"""Whose pages may open a web socket here, and by which names the server is asked."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any
from urllib.parse import urlsplit

from bokeh.server.tornado import BokehTornado
from bokeh.server.util import match_host
from bokeh.settings import settings

from app.server.refusals import Refusal

LOCAL = "localhost"
SAME = ("127.0.0.1", "[::1]")
"""Other names of the machine itself: who may come as `localhost` may come as these."""
LOOPBACK = {LOCAL, *(name.strip("[]") for name in SAME)}


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


def name_of(host: str) -> str:
    """The name in `name`, `name:port` or `[address]:port`; empty for what is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def refusal_of_host(origins: Iterable[str], host: str) -> Refusal | None:
    """Why somebody who asks for `host` is not answered, where the server is known by other names.

    A foreign page whose own name leads to this machine is of one origin with what it is answered.
    """
    name = name_of(host)
    hosts = {
        name_of(origin) or origin for origin in {*origins, *(settings.allowed_ws_origin() or ())}
    }
    if name in LOOPBACK or any(match_host(name, pattern) for pattern in hosts if name):
        return None
    why = (
        f"This server does not answer to the name <code>{escape(name[:80]) or '(no name)'}</code>. "
        "On its own machine it is <code>localhost</code>; for another name, start it with "
        "<code>--allow-websocket-origin NAME</code>."
    )
    return Refusal(403, "Not under this name", why)
