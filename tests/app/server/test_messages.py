"""What a page sends is counted as it arrives, and little is made of it."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.core.serialization import DeserializationError, Deserializer
from bokeh.server.session import ServerSession
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from app.server import messages
from app.server.install import install_guards
from app.server.log_lines import LOGGED, OneLine
from app.server.messages import (
    MODELS,
    TEXT_BYTES,
    refusal_of_fragment,
    unpacked,
)
from tests.app.server.house import House
from tests.app.server.test_limits import ASKS, last_code

HEAD = '{"msgid": "1", "msgtype": "PATCH-DOC"}'
BYTES_FOLLOW = '{"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 9}'


@pytest.fixture(autouse=True)
def guarded() -> None:
    install_guards()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ([HEAD, "{}", '{"events": []}' + " " * TEXT_BYTES], 1009),
        ([HEAD, "{}", "[" * 50_000], 1007),
        (["no JSON"] * 3, 1007),
        (["{}", "{}", "{}"], 10001),  # Bokeh's own answer
        ([BYTES_FOLLOW, "{}", '{"events": []}', "[]"], 10001),
        ([HEAD.replace("PATCH", "PUSH"), "{}", '{"doc": {"roots": []}}'], 1007),
        ([ASKS, "{}", "{}"], None),
    ],
)
def test_what_is_no_message_ends_its_socket(
    house: House, caplog: pytest.LogCaptureFixture, sent: list[str | bytes], code: int | None
) -> None:
    assert last_code(house, sent) == code
    assert "Traceback" not in caplog.text


def test_a_page_that_has_sent_too_much_ends(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of files that nobody asked for, or of a file that begins again and again."""
    monkeypatch.setenv("SPILLWAY_UPLOADS_EACH", "2000")
    whole = [BYTES_FOLLOW.replace("9", "1"), "{}", '{"events": []}', '{"id": "1"}', b"x" * 400]
    assert last_code(house, whole * 3) is None
    assert last_code(house, whole * 20) == 1009
    pages = list(next(iter(house.server._tornado.applications.values())).sessions)
    assert [page.expiration_requested for page in pages] == [True]  # both sockets were its own


def test_unfinished_messages_of_all_pages_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS", "3000")
    sockets = [SimpleNamespace() for _ in range(3)]
    others = {id(socket): 900 for socket in sockets}
    monkeypatch.setattr(messages, "_unfinished", others)
    assert refusal_of_fragment(None, 900, b"x" * 200) is None
    code, why = refusal_of_fragment(None, 900, b"x" * 400) or (0, "")
    assert (code, why) == (1013, "the server has no room for more files")


def test_pages_count_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS_EACH", "1000")
    first, second = (ServerSession.__new__(ServerSession) for _ in range(2))
    monkeypatch.setattr(messages, "_sent", {first: 1900, second: 0})
    assert refusal_of_fragment(first, 0, b"x" * 200) == (1009, "the page has sent too much")
    assert refusal_of_fragment(second, 0, b"x" * 200) is None


def packed(data: bytes) -> str:
    return b64encode(gzip.compress(data)).decode()


def test_packed_bytes_have_the_room_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_MESSAGE", "100000")
    read = Deserializer().decode
    fits: Any = {"type": "bytes", "data": packed(b"ab" * 50_000)}
    assert read(fits) == b"ab" * 50_000
    with pytest.raises(DeserializationError, match="too large"):
        unpacked(packed(b"ab" * 50_001))
    for wrong in ("?", b64encode(b"plain").decode(), packed(b"x" * 99)[:-8]):
        with pytest.raises(DeserializationError, match="packed bytes"):
            unpacked(wrong)


def test_a_message_makes_few_models() -> None:
    def ranges(count: int) -> list[Any]:
        return [{"type": "object", "name": "Range1d", "id": f"r{k}"} for k in range(count)]

    install_guards()  # a second time: the limit stays one
    assert len(Deserializer().decode(ranges(MODELS))) == MODELS
    with pytest.raises(DeserializationError, match="100 models"):
        Deserializer().decode(ranges(MODELS + 1))


def test_a_line_of_the_log_has_no_message_and_no_way_through_the_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = logging.getLogger("bokeh.server.protocol_handler")
    assert sum(isinstance(each, OneLine) for each in log.filters) == 1
    for error, told in ((DeserializationError("no such"), False), (KeyError("ours"), True)):
        caplog.clear()
        try:
            raise error
        except Exception as caught:
            what = json.dumps("x" * 10**6)
            log.error(
                "error handling message\n message: %r \n error: %r", what, caught, exc_info=True
            )
        assert ("Traceback" in caplog.text) is told
        assert repr(error)[:20] in caplog.text
        assert len(caplog.messages[0]) < 3 * LOGGED


async def left_behind(error: Exception) -> None:
    """A task that fails, and nobody asks how it went."""

    async def write() -> None:
        raise error

    task = asyncio.ensure_future(write())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task
    gc.collect()


@pytest.mark.parametrize(
    ("error", "told"),
    [(WebSocketClosedError(), False), (StreamClosedError(), False), (KeyError(), True)],
)
def test_the_log_does_not_tell_of_those_who_left(
    caplog: pytest.LogCaptureFixture, error: Exception, told: bool
) -> None:
    asyncio.run(left_behind(error))
    assert ("never retrieved" in caplog.text) is told
