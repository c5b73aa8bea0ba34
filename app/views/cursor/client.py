"""Cursor and selection in the browser: all views follow at once, the session hears of it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import param
from bokeh.model import Model

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.step_axis import axis_of
from app.model.glossary import term
from app.model.paths import script
from app.model.state import moved
from app.session.session import Session
from app.session.teaching import spoken_tensors
from app.views.cursor.handles import handles_over_time, pool_handles
from app.views.cursor.plan_tables import plan_tables
from app.views.cursor.step_pages import step_pages, steps_around, to_bytes
from app.views.memory.address_map import AddressMap
from app.views.memory.pool_layer import PoolLayer, mark_states
from app.views.memory.ring import RingView, ring_states
from app.views.memory.run_bars import RunBars
from app.views.timing.timeline import TimelineView
from app.widgets.component import Component
from app.widgets.following import follow
from app.widgets.frames import Film

AT_ONCE = 24
"""The steps that come with a plan; the browser asks for more once they are on screen."""
LATER = 144
"""The steps that come when it asks."""
Pool = Callable[[], tuple[RingView, RunBars]]
"""Makes or gives the figures of a pool: most plans have none."""

_plans = count(1)


class ClientCursor(Component):
    """What moves, outlines and listens to the models named in `models`, and tells tables which
    words to show and which rows to mark."""

    models = param.Dict(default={}, doc="Identifiers by the names that the scripts have.")
    below = param.Dict(default={}, doc="The same of a plan beside the one on screen.")
    word = param.String(default=term("Step", "step"), doc="Before the number of a step, as HTML.")
    pages = param.Bytes(default=b"", doc="The steps around the cursor: `step_pages`.")
    tables = param.Bytes(default=b"", doc="What belongs together in the plan: `plan_tables`.")
    pinned = param.Bytes(default=b"", doc="The same of the plan beside the one on screen.")
    step = param.Integer(default=0, doc="Where the session has the cursor.")
    selected = param.String(default="", doc="What the session has selected.")
    heard = param.Integer(default=0, doc="How many reports of the browser the session has heard.")
    picking = param.Boolean(default=False, doc="Whether a wish waits for a tap on an operator.")
    refused = param.Boolean(default=False, doc="Whether a refused move by hand is on screen.")

    _esm = script("follow", "select", "cursor")


class CursorPages:
    """Keeps the browser's cursor in pages of the plan on screen, and takes what it reports.

    `choose` takes a tap that is for a wish.
    """

    def __init__(
        self,
        session: Session,
        models: dict[str, Model],
        mark: PoolLayer,
        pool: Pool,
        choose: Callable[[str], object],
    ) -> None:
        self.session, self.models, self.mark = session, models, mark
        self.pool, self.choose = pool, choose
        self.client = ClientCursor(models=ids_of(models), width=0, height=0, margin=0)
        self.client.on_msg(lambda event: self._hear(event.data))
        self.plan = next(_plans)
        work, look = session.work, session.look
        follow(work, "shown", lambda: self._open())
        follow(work, ["picking", "attempt"], lambda: self._wait())
        follow(look, "step", lambda: self._move())
        follow(look, ["unit", "memory", "axis", "serial"], lambda: self._turn(AT_ONCE))
        follow(look, "presenting", lambda: self._turn(LATER))
        follow(look, "selection", lambda: self._select())

    def compare(self, there: DisplayedPlan, memory: AddressMap, lanes: TimelineView) -> None:
        """Outline what is selected in the views of a plan beside the one on screen too."""
        tables = {**plan_tables(there), "plan": next(_plans)}
        below = ids_of(handles_over_time(memory, lanes))
        self.client.param.update(below=below, pinned=to_bytes(tables))

    def _open(self) -> None:
        """Another plan is on screen."""
        self.plan = next(_plans)
        shown = self.session.work.shown
        pool = pool_handles(*self.pool()) if shown is not None and shown.pool else {}
        self.client.models = ids_of({**self.models, **pool})
        self._turn(AT_ONCE)
        self._select()

    def _move(self) -> None:
        self.client.step = self.session.look.step

    def _select(self) -> None:
        self.client.selected = self.session.look.selection

    def _wait(self) -> None:
        work = self.session.work
        self.client.param.update(picking=bool(work.picking), refused=bool(work.attempt))

    def _hear(self, message: dict[str, Any]) -> None:
        """The browser's cursor or selection is another, or it needs to know more, or a tap or a
        key is for the server."""
        shown = self.session.work.shown
        if shown is None:
            return
        if message.get("plan", self.plan) == self.plan:
            self._take(shown, message)
        match message:
            case {"said": number}:
                self.client.heard = int(number)
            case {"pages": at}:
                self._turn(LATER, moved(int(at), 0, shown.steps))
            case {"tables": _}:
                self.client.tables = to_bytes({**plan_tables(shown), "plan": self.plan})
            case {"tap": selection}:
                self.choose(str(selection))
            case {"open": block}:
                self.session.cursor.open(str(block))
            case {"close": block}:
                self.session.cursor.close(str(block))
            case {"key": "["}:
                self.session.cursor.to_peak(-1)
            case {"key": "]"}:
                self.session.cursor.to_peak(1)
            case {"key": "n"}:
                self.session.teaching.to_event(1)

    def _take(self, shown: DisplayedPlan, message: dict[str, Any]) -> None:
        """Where the cursor is, and what is selected; a tap turns to what is told of that."""
        look, news = self.session.look, dict[str, Any]()
        if "step" in message:
            news["step"] = moved(int(message["step"]), 0, shown.steps)
        if "selection" in message:
            news["selection"] = str(message["selection"])
        if message.get("tapped") and look.panel == "solver":
            news["panel"] = "details"
        look.param.update(**news)

    def _turn(self, most: int, at: int | None = None) -> None:
        """Send so many steps around one, or around the cursor."""
        shown, look = self.session.work.shown, self.session.look
        if shown is None:
            return
        steps = steps_around(shown.steps, look.step if at is None else at, most)
        axis = axis_of(shown, look.axis, serial=look.serial) if shown.pool else Warp()
        ring = self.pool()[0] if shown.pool else None
        film = film_of(shown, steps, axis, self.mark, ring)
        pages = step_pages(shown, steps, (look.memory, look.unit), film.to_json())
        if look.presenting:
            pages["spoken"] = [spoken_tensors(shown, step) for step in steps]
        self.client.step = look.step
        self.client.pages = to_bytes({**pages, "plan": self.plan, "step": look.step})


def ids_of(models: Mapping[str, Model]) -> dict[str, str]:
    """Models by their identifiers."""
    return {name: model.id for name, model in models.items()}


def film_of(
    shown: DisplayedPlan, steps: range, axis: Warp, mark: PoolLayer, ring: RingView | None
) -> Film:
    """Of each step: the distance that is marked on the address map, whose axis that is; of a pool,
    what is in it."""
    ring = ring if shown.pool else None
    film = Film([*mark.film_models, *(ring.film_models if ring else ())])
    for step in steps:
        more = ring_states(shown, shown.pool, step) if ring and shown.pool else []
        film.add([*mark_states(shown, step, axis), *more])
    return film
