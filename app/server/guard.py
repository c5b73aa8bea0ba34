"""What every request passes before Bokeh sees it."""

from __future__ import annotations

import time
from typing import Any

from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPServerRequest

from app.model.events import tell
from app.model.settings import REQUESTS
from app.model.upload_store import forget_old
from app.server.admin_page import OperatorPage
from app.server.metrics import Health, Metrics
from app.server.origins import refusal_of_host
from app.server.rates import Rates, too_often
from app.server.refusals import Refusal, Refusing
from app.server.sockets import refusal_of_socket

NAMES = ("bokeh-session-id", "bokeh-token")
NAMED = Refusal(
    403,
    "Sessions cannot be addressed",
    "This address names a session. Sessions are each visitor's own: open the page without "
    "<code>bokeh-session-id</code>.",
)


PAGES = {"/health": Health, "/metrics": Metrics, "/operator": OperatorPage}
"""Pages of the door's own, below the server's prefix."""
CLEAN_S = 3600.0
_rates = Rates(lambda: REQUESTS.value)
_cleaned_s = -CLEAN_S


def clean_now_and_then() -> None:
    """Remove what visitors brought and nobody uses, once an hour while there are requests."""
    global _cleaned_s
    if time.monotonic() - _cleaned_s >= CLEAN_S:
        _cleaned_s = time.monotonic()
        if gone := forget_old():
            tell("old files removed", files=gone)


def refusal_of(server: BokehTornado, request: HTTPServerRequest) -> Refusal | None:
    """Why a request is not let in, if it is not.

    Bokeh lets anybody share any session whose name they know, signed or not: who is sent a link to
    one would be seen by its sender. Nothing of the explorer asks for sessions by name.
    """
    if "Bokeh-Session-Id" in request.headers or any(name in request.arguments for name in NAMES):
        return NAMED
    if refusal := refusal_of_host(server.websocket_origins, request.host):
        return refusal
    if wait_s := _rates.wait_s(request.remote_ip or ""):
        return too_often(wait_s, REQUESTS.value)
    return refusal_of_socket(server, request)


def guard() -> None:
    """Have all requests to the server pass here first."""
    theirs = BokehTornado.find_handler
    if theirs.__name__ == "find_guarded":
        return

    def find_guarded(server: Any, request: HTTPServerRequest, **kwargs: Any) -> Any:
        clean_now_and_then()
        page = PAGES.get(request.path.removeprefix(server.prefix))
        if page is Health:  # whatever else there is to do
            return server.get_handler_delegate(request, page)
        if refusal := refusal_of(server, request):
            return server.get_handler_delegate(request, Refusing, {"refusal": refusal})
        if page:
            return server.get_handler_delegate(request, page)
        return theirs(server, request, **kwargs)

    BokehTornado.find_handler = find_guarded
