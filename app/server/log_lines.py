"""What others write to the log about messages and connections: a line, and none of who has left."""

from __future__ import annotations

import logging
from typing import Any

from bokeh.core.serialization import DeserializationError
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

LOGGED = 300
"""Letters of a message that a line may have."""
ABOUT_MESSAGES = ("bokeh.server.protocol_handler", "bokeh.server.views.ws")
ABOUT_TASKS = ("asyncio", "tornado.application", "tornado.general")


class OneLine(logging.Filter):
    """Cuts what a line says of a message; tells no way through the code where the message is at
    fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every line."""
        given = record.args if isinstance(record.args, tuple) else ()
        cut = tuple(arg if isinstance(arg, int | float) else Cut(arg) for arg in given)
        record.args = cut or record.args
        if any(isinstance(arg, DeserializationError) for arg in given):
            record.exc_info = None
        return True


class Cut:
    """Something whose words are cut to what a line has room for."""

    def __init__(self, thing: Any) -> None:
        self.text = repr(thing)[:LOGGED] if not isinstance(thing, str) else thing[:LOGGED]

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


class WithoutThoseWhoLeft(logging.Filter):
    """Drops what is said of a connection that was closed while something was written to it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is kept."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, StreamClosedError | WebSocketClosedError)


def keep_log_short() -> None:
    """Have Bokeh cut what it says of messages, and nobody tell of connections that are closed."""
    for names, kind in ((ABOUT_MESSAGES, OneLine), (ABOUT_TASKS, WithoutThoseWhoLeft)):
        for name in names:
            log = logging.getLogger(name)
            if not any(isinstance(each, kind) for each in log.filters):
                log.addFilter(kind())
