"""A visitor without a browser: speaks Bokeh's protocol, so that twenty cost the machine little."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

PATIENCE_S = 300.0
BUILDS_S = 0.5
"""What a browser takes to build the views of what it was sent, before it says so."""
WAITS = {"connect_timeout": PATIENCE_S, "request_timeout": PATIENCE_S}
Meant = Callable[[str, str], bool]  # of a kind of message and its text
READY = {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}}


class Visitor:
    """A page as far as the server knows of it: its document, and what comes over the web socket."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.received = 0
        self.text_s, self.sees_plan = 0.0, False  # when the page's text is there, and what it shows
        self.cursor = self.typed = self.map = ""
        self._made = asyncio.Event()  # a full server makes a page after it has sent its document
        self._numbers = itertools.count(1)
        self._socket: WebSocketClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[asyncio.Future[str], Meant] = {}
        self._replies: dict[str, asyncio.Future[str]] = {}

    async def open(self) -> float:
        """Ask for the page and its document; seconds until both are there."""
        began = time.perf_counter()
        page = await AsyncHTTPClient().fetch(self.address, **WAITS)
        self.text_s = time.perf_counter() - began
        self.sees_plan = b'id="first-picture"' in page.body
        token = re.search(r'"token":\s*"([^"]+)"', page.body.decode())
        assert token is not None
        self._socket = await websocket_connect(
            HTTPRequest(socket_of(self.address), **WAITS),
            subprotocols=["bokeh", token[1]],
            max_message_size=2**28,
        )
        acknowledged = self._coming(lambda kind, _: kind == "ACK")
        self._reading = asyncio.create_task(self._read_all())
        self._reading.add_done_callback(lambda _task: self._end())
        await acknowledged
        pulled = self._coming(lambda kind, _: kind == "PULL-DOC-REPLY")
        await self._send("PULL-DOC-REQ", {})
        await pulled
        await asyncio.sleep(BUILDS_S)
        await self._event({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": READY})
        made = asyncio.create_task(self._made.wait())
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait({made, self._reading}, timeout=PATIENCE_S, return_when=first)
        if not self._made.is_set():
            raise ConnectionError(f"no page came: {self._reading}")
        return time.perf_counter() - began

    def _find(self, document: Any) -> None:
        """The models that a visitor uses and looks at."""
        for found in models(document):
            attributes = found.get("attributes", {})
            data = attributes.get("data") or {}
            if "pages" in data.get("attributes", {}):
                self.cursor = found["id"]
            elif "budget-typed" in attributes.get("css_classes", []):
                self.typed = found["id"]
            elif found["name"] == "ColumnDataSource":
                names = {entry[0] for entry in data.get("entries", [])}
                if {"tensor", "story"} <= names:
                    self.map = found["id"]
        if self.cursor and self.typed and self.map:
            self._made.set()

    async def step(self, step: int) -> float:
        """Say where the cursor is; seconds until the address has it: views do not wait for that."""
        said = {"model": {"id": self.cursor}, "data": {"type": "map", "entries": [["step", step]]}}
        values = {"type": "map", "entries": list(said.items())}
        event = {"type": "event", "name": "data_event", "values": values}
        data = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
        return await self._timed(data, lambda text: f"step={step}&" in text)

    async def budget(self, size: str) -> float:
        """Ask for a plan; seconds until the address map has it."""
        return await self._change(self.typed, size, lambda text: self._of(self.map, text, "tensor"))

    def _end(self) -> None:
        """Nobody waits for answers that do not come any more."""
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(ConnectionError("the web socket was closed"))

    @property
    def ended(self) -> bool:
        """Whether nothing more is read from the web socket."""
        return self._reading is not None and self._reading.done()

    def close(self) -> None:
        """Leave."""
        if self._reading:
            self._reading.cancel()
        if self._socket:
            self._socket.close()

    def _of(self, model: str, text: str, words: str) -> bool:
        return f'"id":"{model}"' in text and words in text

    async def _change(self, model: str, value: Any, done: Callable[[str], bool]) -> float:
        event = {"kind": "ModelChanged", "model": {"id": model}, "attr": "value", "new": value}
        return await self._timed(event, done)

    async def _timed(self, event: dict[str, Any], done: Callable[[str], bool]) -> float:
        """Seconds from an event to the change that follows from it."""
        began = time.perf_counter()
        changed = self._coming(lambda kind, text: kind == "PATCH-DOC" and done(text))
        await self._event(event)
        await changed
        return time.perf_counter() - began

    async def _event(self, event: dict[str, Any]) -> None:
        await self._send("PATCH-DOC", {"events": [event]})

    async def _send(
        self, kind: str, content: dict[str, Any], buffers: Sequence[tuple[str, bytes]] = ()
    ) -> str:
        """Send a message, and the bytes that its content names; its number."""
        assert self._socket is not None
        number = f"bench-{next(self._numbers)}"
        head: dict[str, Any] = {"msgid": number, "msgtype": kind}
        if buffers:
            head["num_buffers"] = len(buffers)
        for part in (head, {}, content):
            await self._socket.write_message(json.dumps(part))
        for name, data in buffers:
            await self._socket.write_message(json.dumps({"id": name}))
            await self._socket.write_message(data, binary=True)
        return number

    async def _reply(self, number: str) -> None:
        """Wait for the server's answer to a message. Raises `RuntimeError` where it is an error."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._replies[number] = future
        try:
            await asyncio.wait_for(future, PATIENCE_S)
        finally:
            del self._replies[number]

    def _heard(self, kind: str, text: str) -> None:
        """A message came; for those who want to know more of the page."""

    def _coming(self, meant: Meant) -> Awaitable[str]:
        """The first message from now on that is meant."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[future] = meant
        future.add_done_callback(lambda done: self._waiting.pop(done, None))
        return asyncio.wait_for(future, PATIENCE_S)

    async def _read_all(self) -> None:
        """Hand each message to those who wait for it: steps are taken while a plan is made."""
        while True:
            header = json.loads(await self._read())
            await self._read()  # metadata
            text = await self._read()
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._read()
            if not self._made.is_set() and header["msgtype"] in ("PULL-DOC-REPLY", "PATCH-DOC"):
                self._find(json.loads(text))
            self._heard(header["msgtype"], text)
            reply = self._replies.get(header.get("reqid", ""))
            if reply is not None and not reply.done():
                if header["msgtype"] == "ERROR":
                    reply.set_exception(RuntimeError(text[:500]))
                else:
                    reply.set_result(text)
                continue
            for future, meant in list(self._waiting.items()):
                if future.done():
                    continue
                if header["msgtype"] == "ERROR":
                    future.set_exception(RuntimeError(text[:500]))
                elif meant(header["msgtype"], text):
                    future.set_result(text)

    async def _read(self) -> str:
        assert self._socket is not None
        message = await self._socket.read_message()
        if message is None:
            raise ConnectionError("the server has closed the web socket")
        self.received += len(message)
        return message if isinstance(message, str) else ""


def socket_of(address: str) -> str:
    """The address of the web socket of a page."""
    return address.partition("?")[0].rstrip("/").replace("http", "ws", 1) + "/ws"


def models(data: Any) -> Iterator[dict[str, Any]]:
    """All models that a document holds, at any depth."""
    if isinstance(data, dict):
        if data.get("type") == "object" and "id" in data:
            yield data
        for value in data.values():
            yield from models(value)
    elif isinstance(data, list):
        for value in data:
            yield from models(value)
