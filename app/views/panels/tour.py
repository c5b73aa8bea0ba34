"""The guided tour on the page: a box around its subject, and a callout beside it."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.session.session import Session
from app.widgets.following import follow
from app.widgets.rows import Sender


class TourView(Sender):
    """Draws a callout over the page and sends `next`, `back` or `done`; Esc and arrows do too.

    What is outlined is found by its classes, in whatever shadow tree, and followed while it moves.
    """

    callout = param.Dict(
        default={}, doc="What `app.session.tour.Tour.callout` says; empty for none."
    )

    _esm = script("tour")
    _stylesheets: ClassVar[list[str]] = []


def tour_view(session: Session) -> TourView:
    """The tour of a session on its page; not visible before there is one."""
    view, tour = TourView(width=0, height=0, margin=0, visible=False), session.tour
    acts = {"next": tour.next, "back": tour.back, "done": tour.end}
    view.on_key(lambda key: acts[key]() if key in acts else None)
    follow(tour, "callout", lambda: view.param.update(callout=tour.callout, visible=True))
    return view
