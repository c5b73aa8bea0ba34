"""Web sockets: how many, who may open a session by one, and that all that is to be sent is."""

from __future__ import annotations

import socket
from typing import Any

import panel.io.document as panel_documents
from bokeh.document import Document
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import get_session_id
from panel.io.server import WSHandler
from tornado.httputil import HTTPServerRequest

from app.model.settings import SOCKETS
from app.server.messages import TRY_LATER
from app.server.refusals import Refusal
from app.server.sessions import AGAIN_S, refusal_if_full, turn

SLOW_MS = 60_000
"""For so long a browser may take nothing of what is sent to it."""


def refusal_of_socket(server: BokehTornado, request: HTTPServerRequest) -> Refusal | None:
    """Why no other socket is opened, where one is asked for and there are too many."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        return None
    if len(server._clients) < SOCKETS.value:
        return None
    why = f"All {SOCKETS.value} connections of this server are taken: try again in a minute."
    return Refusal(503, "The server is full", why, AGAIN_S)


def end_if_slow(line: socket.socket) -> None:
    """Have the system end a connection whose other end takes nothing any more, so that what is sent
    to it does not pile up in memory. Systems other than Linux wait for longer."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SLOW_MS)


def bound_sockets() -> None:
    """Have sockets make sessions in their turn and while there are places."""
    opened = WSHandler._async_open
    if opened.__name__ == "open_in_turn":
        return

    async def open_in_turn(handler: Any, token: str) -> None:
        if handler.ws_connection:  # it has the line from the request that became a socket
            end_if_slow(handler.ws_connection.stream.socket)
        session_ids = {session.id for session in handler.application_context.sessions}
        if get_session_id(token) in session_ids:
            await opened(handler, token)
            return
        async with turn():
            if refusal_if_full(handler.application):
                handler.close(TRY_LATER, "the server is full")
            else:
                await opened(handler, token)

    WSHandler._async_open = open_in_turn  # type: ignore[method-assign, assignment]


def send_to_the_last() -> None:
    """Have Panel send what it is asked for at the moment when it has sent all that was there, which
    would otherwise wait for the next change of the page: of a plan's last there is none."""
    sent: Any = panel_documents._dispatch_msgs
    if sent.__name__ == "send_until_none_is_left":
        return

    async def send_until_none_is_left(document: Document) -> None:
        await sent(document)
        while document in panel_documents._WRITE_MSGS and (
            document not in panel_documents._WRITE_BLOCK
        ):
            panel_documents._WRITE_BLOCK[document] = True
            await sent(document)

    panel_documents._dispatch_msgs = send_until_none_is_left
