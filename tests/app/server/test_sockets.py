"""What Panel is asked to send while it sends something else is sent too."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any

import panel.io.document as panel_documents
import pytest
from bokeh.document import Document

from app.server.install import install_guards
from tests.cases import cases


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


AGAIN_S = 0.011  # Panel looks again at a socket that Bokeh writes to after 10 ms.


class SharedLine(Line):
    """A socket that Bokeh writes to as well: while it has the lock, Panel waits."""

    def __init__(self) -> None:
        super().__init__()
        self.write_lock = SimpleNamespace(_block=SimpleNamespace(_value=1))
        self.open: list[asyncio.Future[None]] = []

    def end(self, number: int = 0) -> None:
        if self.open:
            self.open.pop(number % len(self.open)).set_result(None)


def begin(connection: Connection, msg: str) -> list[asyncio.Future[None]]:
    written = write(connection, msg)
    connection._socket.open += written
    return written


async def sent_by_chance(seed: int) -> tuple[list[str], list[str]]:
    """What is asked for and what goes out, while Bokeh writes and writing ends by chance."""
    random, line, document = Random(seed), SharedLine(), Document()
    connections: Any = [Connection(line)]
    asked: list[str] = []

    def ask() -> None:
        asked.append(f"message {len(asked)}")
        words: Any = asked[-1]
        panel_documents.schedule_write_events(document, connections, words)

    def lock(free: int) -> None:
        line.write_lock._block._value = free

    acts = [
        ask,
        ask,
        lambda: lock(0),
        lambda: lock(1),
        line.end,
        lambda: line.end(random.randint(0, 9)),
    ]
    for _ in range(random.randint(3, 25)):
        random.choice(acts)()
        await asyncio.sleep(random.choice((0, 0, 0, 0, 0, 0, AGAIN_S)))
    lock(1)
    for _ in range(8):
        while line.open:
            line.end()
        await asyncio.sleep(AGAIN_S)
    return asked, line.sent


@pytest.mark.parametrize("seed", range(cases(40, 600)))
def test_all_that_is_asked_for_is_sent_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 by Panel 1.9.4 alone some 90 wait for the page's next change."""
    install_guards()
    monkeypatch.setitem(panel_documents.extra_socket_handlers, SharedLine, begin)
    asked, sent = asyncio.run(sent_by_chance(seed))
    assert sent == asked
