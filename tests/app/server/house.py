"""A server with its guards, as tests ask it."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import panel as pn
from panel.io.server import get_server
from tornado.ioloop import IOLoop

from app.server.install import install_guards


@dataclass(frozen=True)
class Said:
    """An answer of the server."""

    status: int
    headers: Any
    text: str


@dataclass(frozen=True)
class House:
    """The server, its port, and how it is asked."""

    server: Any
    port: int
    loop: IOLoop

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Said:
        """One request from this machine; `Host` is as it comes unless it is given."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        line.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = line.getresponse()
        said = Said(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
        line.close()
        return said

    def inside(self, act: Callable[[], Any]) -> Any:
        """The result of a function that runs in the server's thread."""
        done, found = threading.Event(), []

        def run() -> None:
            found.append(act())
            done.set()

        self.loop.add_callback(run)
        assert done.wait(20)
        return found[0]


@contextmanager
def serving(**how: Any) -> Iterator[House]:
    """A server with a page of one word, in a thread of its own; `how` as `panel.serve` has it."""
    install_guards()
    ready, made = threading.Event(), []

    def serve() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        server = get_server(lambda: pn.pane.HTML("word"), show=False, start=False, **how)
        server.start()
        made.append(House(server, server.port, server.io_loop))
        server.io_loop.add_callback(ready.set)
        server.io_loop.start()
        server.stop()
        server.io_loop.close(all_fds=True)

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(30)
    yield made[0]
    made[0].loop.add_callback(made[0].loop.stop)
    thread.join(20)
