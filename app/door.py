"""Who is let in: each visitor to a page of their own, and not more than the server can hold.

A page that nobody has come for after a moment waits with what is on it until somebody does: many
requests at once are answered, and those who left cost nothing more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import panel as pn
from bokeh.server.views.session_handler import SessionHandler
from tornado.web import HTTPError

MOST_NAME, MOST_USUAL = "SPILLWAY_SESSIONS", 64
PATIENCE_S = 2.0
"""Seconds in which a page's browser is expected, and what is on the page is made before it asks."""
ID = "bokeh-session-id"
GIVEN_ID = (
    "This address names a session. Sessions are each visitor's own: open the page without "
    "<code>bokeh-session-id</code>."
)
FULL = (
    "All {most} places of this server are taken. A place is free when somebody closes their page: "
    "try again in a minute. (<code>SPILLWAY_SESSIONS</code> is how many there are.)"
)

_inside: set[str] = set()
"""The sessions that have a page."""


def refuse_named_sessions() -> None:
    """Have the server answer 403 to whoever names a session in the address.

    Bokeh lets anybody share any session whose name they know, signed or not: who is sent a link to
    one would be seen by its sender. Nothing of the explorer asks for sessions by name.
    """
    ours = SessionHandler.get_session

    async def get_session(handler: SessionHandler) -> Any:
        if handler.get_argument(ID, None) is not None:
            raise HTTPError(403, reason="Sessions cannot be named in the address")
        return await ours(handler)

    if getattr(ours, "__name__", "") != "get_unnamed_session":
        get_session.__name__ = "get_unnamed_session"
        SessionHandler.get_session = get_session


def most_sessions() -> int:
    """How many visitors may be in at once."""
    given = os.environ.get(MOST_NAME, "")
    return int(given) if given.isdecimal() and int(given) else MOST_USUAL


def refusal() -> str:
    """Why the visitor whose page is asked for is not let in, as HTML; empty for one who is."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    if context is None:
        return ""
    query = str(getattr(context.request, "query", ""))  # Bokeh leaves it out of the arguments
    if ID in parse_qs(query):
        return GIVEN_ID
    if len(_inside) >= most_sessions():
        return FULL.format(most=most_sessions())
    _inside.add(context.id)
    pn.state.on_session_destroyed(lambda gone: _inside.discard(gone.id))
    return ""


def when_wanted(make: Callable[[], Any]) -> None:
    """Make what is on a page: soon, while its browser loads the scripts, or where the server does
    not come to it soon, once that browser is there."""
    asked = time.monotonic()

    def soon() -> None:
        if time.monotonic() - asked < PATIENCE_S or _is_there():
            make()
        else:
            pn.state.onload(make)

    pn.state.execute(soon, schedule=True)


def _is_there() -> bool:
    """Whether the browser of this page is connected."""
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    session = getattr(context, "session", None)
    return session is None or session.connection_count > 0
