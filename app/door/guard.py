"""What every request passes before Bokeh sees it."""

from __future__ import annotations

from typing import Any

from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPServerRequest

from app.door.rates import RequestRates, too_often
from app.door.refusals import Refusal, Refusing
from app.door.sockets import refusal_of_socket

NAMES = ("bokeh-session-id", "bokeh-token")
NAMED = Refusal(
    403,
    "Sessions are not named",
    "This address names a session. Sessions are each visitor's own: open the page without "
    "<code>bokeh-session-id</code>.",
)


_rates = RequestRates()


def refusal_of(server: BokehTornado, request: HTTPServerRequest) -> Refusal | None:
    """Why a request is not let in, if it is not.

    Bokeh lets anybody share any session whose name they know, signed or not: who is sent a link to
    one would be seen by its sender. Nothing of the explorer asks for sessions by name.
    """
    if "Bokeh-Session-Id" in request.headers or any(name in request.arguments for name in NAMES):
        return NAMED
    if wait_s := _rates.wait_s(request.remote_ip or ""):
        return too_often(wait_s)
    return refusal_of_socket(server, request)


def guard() -> None:
    """Have all requests to the server pass here first."""
    theirs = BokehTornado.find_handler
    if theirs.__name__ == "find_guarded":
        return

    def find_guarded(server: Any, request: HTTPServerRequest, **kwargs: Any) -> Any:
        if refusal := refusal_of(server, request):
            return server.get_handler_delegate(request, Refusing, {"refusal": refusal})
        return theirs(server, request, **kwargs)

    BokehTornado.find_handler = find_guarded
