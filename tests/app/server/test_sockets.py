"""What Panel is asked to send while it sends something else is sent too."""

from __future__ import annotations

import asyncio
from typing import Any

import panel.io.document as panel_documents
import pytest
from bokeh.document import Document

from app.server.install import install_guards


class Protocol:
    """Messages are what they tell of."""

    def create(self, kind: str, events: Any) -> Any:
        return events


class Line:
    """A socket whose writing ends when it is told."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.writing: asyncio.Future[None] | None = None


class Connection:
    protocol = Protocol()

    def __init__(self, line: Line) -> None:
        self._socket = line


def write(connection: Connection, msg: str) -> list[asyncio.Future[None]]:
    line = connection._socket
    line.sent.append(msg)
    line.writing = asyncio.get_running_loop().create_future()
    return [line.writing]


async def sent_by_two(line: Line, pause: bool) -> list[str]:
    """What goes out of two messages, the second of which is asked for as the first has ended."""
    document = Document()
    connections: Any = [Connection(line)]

    def ask(words: Any) -> None:
        panel_documents.schedule_write_events(document, connections, words)

    ask("first")
    while line.writing is None:
        await asyncio.sleep(0)
    line.writing.set_result(None)
    if pause:
        await asyncio.sleep(0)
    ask("second")
    for _ in range(20):
        await asyncio.sleep(0)
    return line.sent


@pytest.mark.parametrize("pause", [True, False])
def test_what_is_asked_for_while_panel_writes_does_not_wait_for_the_next(
    pause: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_guards()
    monkeypatch.setitem(panel_documents.extra_socket_handlers, Line, write)
    assert asyncio.run(sent_by_two(Line(), pause)) == ["first", "second"]
