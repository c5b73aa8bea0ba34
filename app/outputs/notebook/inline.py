"""The whole explorer in a notebook: a frame with the page of a server that the kernel runs.

The page is that of `spillway serve`; its keys, exports and address stay within its frame. A
separate server answers while a cell runs, which messages through the kernel could not; the plan on
screen is in this process, so code can go on with it. Pages are served only for a random word, which
the notebook knows.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import escape
from importlib import import_module
from queue import SimpleQueue
from typing import Any

import panel as pn
from tornado.ioloop import IOLoop

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.model.packing import packed
from app.model.paths import script
from app.outputs.notebook.pages import styled
from app.outputs.notebook.problem_fields import checked
from app.outputs.notebook.replay_cache import plan_of, replayed, too_long
from app.session.session import Session

HOST = "localhost"
PAGE = "app.page:template"  # by name: the page is above outputs
FOREIGN = (
    "The explorer is at port {port} of the kernel's machine, and this page comes from another: "
    "forward the port, e.g. ssh -L {port}:localhost:{port}, and run the cell again."
)
OPEN = script("inline_frame")
_BEGIN: dict[str, Callable[[Session], None]] = {}


class Inline:
    """The explorer as a cell's value; `plan` is the plan on its page."""

    def __init__(
        self, what: sp.Graph | sp.Plan | str = "", *, height: int = 900, **options: Any
    ) -> None:
        self.what, self.height = what, height
        self.asked = checked(what, options)
        self.word = secrets.token_urlsafe(16)
        self.sessions: list[Session] = []
        self._plan: tuple[Any, sp.Plan] | None = None
        self._left: DisplayedPlan | None = None
        _BEGIN[self.word] = self._begin

    @property
    def session(self) -> Session:
        """The session of the page that was opened last. Raises `BadInput` before there is one."""
        if not self.sessions:
            raise sp.BadInput("the explorer is not open yet: show it as the value of a cell")
        return self.sessions[-1]

    @property
    def plan(self) -> sp.Plan:
        """The plan on screen, or that was on the last page that is gone. Raises `BadInput` before
        there is one."""
        shown = self._left if self._left and not self.sessions else self.session.work.shown
        if self._plan is None or self._plan[0] is not shown:
            self._plan = shown, plan_of(shown)
        return self._plan[1]

    @property
    def address(self) -> str:
        """Where the page is, for a tab of its own."""
        return f"http://{HOST}:{server()}/?given={self.word}"

    def close(self) -> None:
        """Serve no more pages for this word, and stop what its pages run."""
        _BEGIN.pop(self.word, None)
        for session in self.sessions:
            session.close()

    def _begin(self, session: Session) -> None:
        """Open a page's session with what is to be explored; from then on it is to be had."""
        self._open(session)
        self.sessions.append(session)
        pn.state.on_session_destroyed(lambda _context: self._leave(session))

    def _leave(self, session: Session) -> None:
        """A page is gone: nothing is left of its session but the plan that was on screen."""
        if session in self.sessions:
            self._left = session.work.shown or self._left
            self.sessions.remove(session)

    def _open(self, session: Session) -> None:
        what = self.what
        if isinstance(what, str):
            session.open({"model": what, **self.asked} if what else self.asked, {})
            return
        session.open({}, {})
        if isinstance(what, sp.Plan):
            text = json.dumps(what.to_json())
            if not too_long(what):
                shown = replace(replayed(what), packed=packed(text))
                session.uploads.adopt(shown)
                session.work.shown_for = session.fields()
                session.show(shown)
            session.check(text)  # also computes the budgets of its graph
            return
        given: dict[str, Any] = {"name": what.name, "text": json.dumps(what.to_json())}
        given |= {"bytes_per_element": what.bytes_per_element, "granularity": what.granularity}
        session.uploads.take_graph(given)
        session.problem.param.update(**self.asked)
        session.plan()

    def _repr_html_(self) -> str:
        name, port = f"sw-{secrets.token_hex(4)}", server()
        notice = '<span class="sw-opening">The explorer is opening; it needs the kernel. </span>'
        notice += f'<span class="sw-foreign" hidden>{FOREIGN.format(port=port)}</span>'
        link = f'<a href="{escape(self.address)}" target="_blank">Open in a tab of its own</a>'
        frame = (
            f'<iframe id="{name}" title="Spillway explorer" width="100%" height="{self.height}" '
            'style="border: 1px solid var(--sw-grid); border-radius: 6px"></iframe>'
        )
        script = f"<script>{OPEN.strip()}({json.dumps(name)}, {json.dumps(self.address)});</script>"
        return styled(f'<p class="sw-rest">{link} {notice}</p>{frame}', "sw-whole") + script

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": f"<explorer at http://{HOST}:{server()}/>"}


@cache
def server() -> int:
    """The port of this process's server, which runs in a thread until the process ends."""
    ports: SimpleQueue[int | Exception] = SimpleQueue()
    threading.Thread(target=_serve, args=(ports,), name="explorer", daemon=True).start()
    answer = ports.get()
    if isinstance(answer, Exception):
        raise sp.BadInput(f"the explorer's server does not start: {answer}") from answer
    return answer


def _serve(ports: SimpleQueue[int | Exception]) -> None:
    """Serve pages on a free port, in an event loop of this thread's own."""
    try:
        asyncio.set_event_loop(asyncio.new_event_loop())
        new_server = pn.io.server.get_server(
            {"/": _page},
            port=0,
            address=HOST,
            loop=IOLoop.current(),
            start=False,
            show=False,
            verbose=False,
            title="Spillway",
            websocket_max_message_size=100 * 2**20,
        )
        new_server.start()
    except Exception as error:  # raised where the server was requested
        ports.put(error)
        return
    ports.put(int(new_server.port or 0))
    new_server.io_loop.start()


def _page() -> Any:
    """The page for a word that was issued."""
    words = pn.state.session_args.get("given", [b""])
    begin = _BEGIN.get(words[0].decode(errors="replace"))
    if begin is None:
        return pn.pane.HTML("This page was of a notebook's cell: run the cell again.")
    module, _, name = PAGE.partition(":")
    return getattr(import_module(module), name)(begin)
