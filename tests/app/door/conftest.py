"""A server with the door and a page of one word, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import panel as pn
import pytest
from panel.io.server import get_server

from app.door.hung import hang_door
from tests.app.door.house import House


@pytest.fixture
def house() -> Iterator[House]:
    hang_door()
    ready, made = threading.Event(), []

    def serve() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        server = get_server(lambda: pn.pane.HTML("word"), port=0, show=False, start=False)
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
