"""What a page may send: how much in one message, in all, and what is made of it.

Everything is counted as it arrives, before anything is taken apart: who holds it later does not
matter.
"""

from __future__ import annotations

import base64
import logging
import zlib
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.core.serialization import DeserializationError, Deserializer
from bokeh.server.session import ServerSession
from panel.io.server import WSHandler

from app.model.events import tell
from app.model.settings import MESSAGE, UPLOADS, UPLOADS_EACH

TRY_LATER, BROKEN, TOO_BIG = 1013, 1007, 1009  # of RFC 6455 and its registry
TEXT_BYTES = 2 * 2**20
"""How much of a message may be text: files are sent as bytes, what else there is takes thousands.
Text becomes some thirty times as much memory while it is taken apart."""
MODELS = 100
"""How many models of Bokeh's a message may make: ours make none."""

FROM_PAGES = {"PULL-DOC-REQ", "PATCH-DOC", "SERVER-INFO-REQ"}
"""What a browser asks. Bokeh would take a whole document too, in the place of the page's."""

_unfinished: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""By socket: the bytes of its message of which more is to come."""
_sent: WeakKeyDictionary[ServerSession, int] = WeakKeyDictionary()
"""By page: the bytes of all that it has sent."""


def refusal_of_fragment(
    session: ServerSession | None, held: int, fragment: str | bytes
) -> tuple[int, str] | None:
    """Why a part of a message is too much, if it is: a code for its socket, and words.

    `held`: the bytes of the message's parts before.
    """
    size = len(fragment)
    if held + size > MESSAGE.value:
        return TOO_BIG, "the message is too large"
    if isinstance(fragment, str) and size > TEXT_BYTES:
        return TOO_BIG, "the message has too much text"
    if sum(_unfinished.values()) + size > UPLOADS.value:
        return TRY_LATER, "the server has no room for more files"
    if session is not None and _sent.get(session, 0) + size > 2 * UPLOADS_EACH.value:
        return TOO_BIG, "the page has sent too much"
    return None


def bound_messages() -> None:
    """Have sockets closed that send more than they may, or what is no message."""
    received = WSHandler._receive
    if received.__name__ == "receive_bounded":
        return

    async def receive_bounded(handler: Any, fragment: str | bytes) -> Any:
        if handler.close_code is not None or getattr(handler, "_spillway_over", False):
            return None
        session = handler.connection.session if handler.connection else None
        held_bytes = _unfinished.get(handler, 0)
        refusal = refusal_of_fragment(session, held_bytes, fragment)
        if refusal is None:
            _unfinished[handler] = held_bytes + len(fragment)
            if session is not None:
                _sent[session] = _sent.get(session, 0) + len(fragment)
            try:
                message = await received(handler, fragment)
            except Exception as error:  # whatever it is: it is not JSON, too deep, has no header
                refusal, message = (BROKEN, f"no message: {type(error).__name__}"), None
            if message is not None and message.msgtype not in FROM_PAGES:
                refusal, message = (BROKEN, "no message of a page"), None
            if message is not None:
                del _unfinished[handler]
                return message
        if refusal is not None:
            _end(handler, session, *refusal)
        return None

    WSHandler._receive = receive_bounded
    WSHandler.max_message_size = property(lambda _handler: MESSAGE.value)


def _end(handler: Any, session: ServerSession | None, code: int, why: str) -> None:
    """Close a socket; its page ends too where the fault is the page's."""
    handler._spillway_over = True
    _unfinished.pop(handler, None)
    handler.receiver = None  # has the parts before
    handler.close(code, why)
    if session is not None and code != TRY_LATER:
        session.request_expiration()
    tell("socket closed", level=logging.WARNING, why=why)


def bound_what_is_made() -> None:
    """Have no more made of a message than it may hold: packed bytes and models would grow."""
    theirs, decode_reference = Deserializer._decode_bytes, Deserializer._decode_object_ref
    if theirs.__name__ == "decode_bytes_bounded":
        return

    def decode_bytes_bounded(reader: Deserializer, message: Any) -> Any:
        data = message["data"]
        return unpacked(data) if isinstance(data, str) else theirs(reader, message)

    def decode_object_bounded(reader: Any, message: Any) -> Any:
        reader._spillway_made = getattr(reader, "_spillway_made", 0) + 1
        if reader._spillway_made > MODELS:
            raise DeserializationError(f"more than {MODELS} models in a message")
        return decode_reference(reader, message)

    Deserializer._decode_bytes = decode_bytes_bounded
    Deserializer._decode_object_ref = decode_object_bounded


def unpacked(text: str) -> bytes:
    """Bytes that are packed as text. Raises `DeserializationError` for what is none, or too much
    for a message."""
    try:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        data = reader.decompress(base64.b64decode(text), MESSAGE.value)
    except (ValueError, zlib.error) as error:
        raise DeserializationError(f"no packed bytes: {error}") from None
    if reader.unconsumed_tail or not reader.eof:
        raise DeserializationError("packed bytes that are too large, or cut short")
    return data
