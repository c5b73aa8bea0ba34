"""The cursor in the browser: all views follow it at once, and the session hears of it later."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import param
from bokeh.model import Model

from app.kinds.registry import kind_of
from app.model.checked_plan import Shown
from app.model.glossary import term
from app.model.places import ASSETS
from app.model.state import moved
from app.session.session import Session
from app.views.cursor.step_pages import step_pages, steps_around, to_bytes
from app.views.memory.pool_layer import PoolLayer, mark_states
from app.views.memory.ring import RingView, ring_states
from app.widgets.component import Component
from app.widgets.films import Film
from app.widgets.following import follow

AT_ONCE = 24
"""The steps that come with a plan; the browser asks for more once they are on screen."""
LATER = 144
"""The steps that come when it asks."""
Ring = Callable[[], RingView]
"""Makes or gives the ring: most plans have none."""

_plans = count(1)


class ClientCursor(Component):
    """What moves the models named in `models`, and tells tables which words to show."""

    models = param.Dict(default={}, doc="What follows, by the names that `follow.js` has.")
    word = param.String(default=term("Step", "step"), doc="Before the number of a step, as HTML.")
    pages = param.Bytes(default=b"", doc="The steps around the cursor: `step_pages`.")
    step = param.Integer(default=0, doc="Where the session has the cursor.")
    selected = param.String(default="", doc="The selection.")
    chosen = param.List(default=[], item_type=str, doc="Keys of live rows that it marks.")

    _esm = "".join((ASSETS / name).read_text("utf-8") for name in ("follow.js", "cursor.js"))


class CursorPages:
    """Keeps the browser's cursor in pages of the plan on screen, and takes what it reports."""

    def __init__(
        self, session: Session, models: dict[str, Model], mark: PoolLayer, ring: Ring
    ) -> None:
        self.session, self.mark, self.ring = session, mark, ring
        names = {name: model.id for name, model in models.items()}
        self.client = ClientCursor(models=names, width=0, height=0, margin=0)
        self.client.on_msg(lambda event: self._hear(event.data))
        self.plan = next(_plans)
        work, look = session.work, session.look
        follow(work, "shown", lambda: self._open())
        follow(look, "step", lambda: self._move())
        follow(look, ["unit", "memory"], lambda: self._turn(AT_ONCE))
        follow(look, "selection", lambda: self._mark())

    def _open(self) -> None:
        """Another plan is on screen."""
        self.plan = next(_plans)
        self._turn(AT_ONCE)
        self._mark()

    def _move(self) -> None:
        self.client.step = self.session.look.step

    def _mark(self) -> None:
        shown, selection = self.session.work.shown, self.session.look.selection
        if shown is not None:
            chosen = kind_of(shown).chosen(shown, selection)
            self.client.param.update(selected=selection, chosen=chosen)

    def _hear(self, said: dict[str, Any]) -> None:
        """The browser's cursor is elsewhere, or near the end of its pages, or wants to jump."""
        shown, look = self.session.work.shown, self.session.look
        if shown is None:
            return
        if "step" in said:
            look.step = moved(int(said["step"]), 0, shown.steps)
        if "pages" in said:
            self._turn(LATER, moved(int(said["pages"]), 0, shown.steps))
        match said.get("key"):
            case "[":
                self.session.cursor.to_peak(-1)
            case "]":
                self.session.cursor.to_peak(1)
            case "n":
                self.session.teaching.to_event(1)

    def _turn(self, most: int, at: int | None = None) -> None:
        """Send so many steps around one, or around the cursor."""
        shown, look = self.session.work.shown, self.session.look
        if shown is None:
            return
        steps = steps_around(shown.steps, look.step if at is None else at, most)
        film = film_of(shown, steps, self.mark, self.ring() if shown.pool else None)
        pages = step_pages(shown, steps, (look.memory, look.unit), film.to_json())
        self.client.step = look.step
        self.client.pages = to_bytes({**pages, "plan": self.plan, "step": look.step})


def film_of(shown: Shown, steps: range, mark: PoolLayer, ring: RingView | None) -> Film:
    """Of each step: the distance that is marked on the address map; of a pool, what is in it."""
    ring = ring if shown.pool else None
    film = Film([*mark.film_models, *(ring.film_models if ring else ())])
    for step in steps:
        more = ring_states(shown, shown.pool, step) if ring and shown.pool else []
        film.add([*mark_states(shown, step), *more])
    return film
