"""A server with the door, as tests ask it."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tornado.ioloop import IOLoop


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

    def ask(self, path: str, method: str = "GET", **headers: str) -> Said:
        """One request from this machine; `Host` is as it comes unless it is given."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        line.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
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
