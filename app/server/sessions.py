"""How many visitors a server holds, and in which turn their pages are made.

Pages are made one at a time, and the server does other things between two: it answers whatever is
asked for meanwhile. A page that nobody has come for after a moment waits with what is on it until
somebody does: many requests at once are answered, and those who left cost nothing more.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import panel as pn
from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from panel.io.document import with_lock
from panel.io.server import DocHandler
from tornado.web import RequestHandler

from app.model.settings import SESSIONS
from app.server.cleaning import CLEANING
from app.server.refusals import Refusal, answer

PATIENCE_S = 2.0
"""Seconds in which a page's browser is expected, and what is on the page is made before it asks."""
BETWEEN_S, CALM, MOST_BETWEEN_S = 0.01, 3, 1.0
"""Between two pages: what is slept at a time, how often on time before the server counts as idle,
and how long at most."""
AGAIN_S = 60


class Turns:
    """Who goes next: of all who wait, who needs little time before who needs much, else who came
    first."""

    def __init__(self) -> None:
        self._taken, self._count = False, itertools.count()
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []

    async def take(self, *, long: bool) -> None:
        """Wait for the turn."""
        if not self._taken:
            self._taken = True
            return
        come = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (long, next(self._count), come))
        try:
            await come
        except asyncio.CancelledError:
            if come.done() and not come.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Let the next one go, of those who still wait."""
        while self._waiting:
            _, _, come = heappop(self._waiting)
            if not come.done():
                come.set_result(None)
                return
        self._taken = False


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()
_releasing: set[asyncio.Task[None]] = set()


@asynccontextmanager
async def turn(*, long: bool = False) -> AsyncIterator[None]:
    """What whoever makes a page's text, or (`long`) what is on it, waits for; the next turn comes a
    little later, and meanwhile the server reads and answers what it was asked besides. All texts
    come before what is on pages: in a text a plan is seen already."""
    loop = asyncio.get_running_loop()
    turns = _turns.setdefault(loop, Turns())
    await turns.take(long=long)
    try:
        yield
    finally:
        released = loop.create_task(_release(turns))
        _releasing.add(released)
        released.add_done_callback(_releasing.discard)


async def _release(turns: Turns) -> None:
    """Give the next turn once the server has answered what came meanwhile, a page made included:
    once it is idle, or after a moment."""
    loop, idle = asyncio.get_running_loop(), 0
    until = loop.time() + MOST_BETWEEN_S
    while idle < CALM and loop.time() < until:
        slept_from = loop.time()
        await asyncio.sleep(BETWEEN_S)
        idle = idle + 1 if loop.time() - slept_from < 2 * BETWEEN_S else 0
    turns.give()


def sessions(server: BokehTornado) -> int:
    """How many sessions there are, those included that nobody has come for yet."""
    return sum(len(list(context.sessions)) for context in server.applications.values())


def refusal_if_full(server: BokehTornado) -> Refusal | None:
    """Why nobody else is let in, where all places are taken."""
    if sessions(server) < SESSIONS.value:
        return None
    why = (
        f"All {SESSIONS.value} places of this server are taken. A place is free when somebody "
        "closes their page: try again in a minute."
    )
    return Refusal(503, "The server is full", why, AGAIN_S)


def make_pages_in_turn() -> None:
    """Have pages made one at a time, for those who still wait and while there are places."""
    theirs = DocHandler.get
    if theirs.__name__ == "get_in_turn":
        return

    async def get_in_turn(handler: Any, *args: Any, **kwargs: Any) -> None:
        if refusal_if_full(handler.application) is None:
            async with turn():
                if _left(handler):
                    return
                if refusal_if_full(handler.application) is None:
                    page = theirs(handler, *args, **kwargs)
                    if inspect.isawaitable(page):  # it is not where a visitor has to log in first
                        await page
                    return
        if refusal := refusal_if_full(handler.application):
            answer(handler, refusal)

    DocHandler.get = get_in_turn  # type: ignore[method-assign]


def clear_places_in_between() -> None:
    """Have the server answer others between two sessions that it ends: many end in one moment where
    many came for a page in one moment and left."""
    theirs, check = ApplicationContext._discard_session, ApplicationContext._cleanup_sessions
    if theirs.__name__ == "discard_in_between":
        return

    async def discard_in_between(
        context: ApplicationContext, session: ServerSession, unused: Callable[[ServerSession], bool]
    ) -> None:
        await asyncio.sleep(BETWEEN_S)
        if unused(session):
            await theirs(context, session, unused)

    contexts: WeakSet[ApplicationContext] = WeakSet()

    def pages() -> int:
        return sum(len(context._sessions) for context in contexts)

    async def check_and_clean(context: ApplicationContext, linger_ms: int) -> None:
        contexts.add(context)
        before = pages()
        await check(context, linger_ms)
        CLEANING.sessions_were_checked(before, pages())

    ApplicationContext._discard_session = discard_in_between
    ApplicationContext._cleanup_sessions = check_and_clean


def _left(handler: RequestHandler) -> bool:
    """Whether whoever asked has closed the connection."""
    stream = getattr(handler.request.connection, "stream", None)
    return stream is not None and stream.closed()


def when_wanted(make: Callable[[], Any]) -> None:
    """Make what is on a page: in its turn, while its browser loads the scripts, or where the server
    does not come to it soon, once that browser is there and has built what it was sent.

    In between, while a browser builds the empty page, Panel drops what is changed on it: it takes
    the page for one that is still to be sent.
    """
    context = pn.state.curdoc.session_context if pn.state.curdoc else None
    if context is None:
        make()
        return
    requested_s = time.monotonic()

    @with_lock
    async def in_turn() -> None:
        async with turn(long=True):
            is_late = time.monotonic() - requested_s >= PATIENCE_S
            if pn.state.loaded or not (is_late or _is_there(context)):
                make()
            else:
                pn.state.onload(lambda: pn.state.execute(in_turn, schedule=True))

    pn.state.execute(in_turn, schedule=True)


def _is_there(context: Any) -> bool:
    """Whether the browser of this page is connected."""
    session = getattr(context, "session", None)
    return session is not None and session.connection_count > 0
