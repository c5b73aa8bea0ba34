"""The step bar: one cursor for all views, which the browser moves (`app.views.cursor`)."""

from __future__ import annotations

from typing import Any

import panel as pn
from bokeh.models import Slider

from app.session.session import Session
from app.views.panels.teaching import CURSOR, HEIGHT, LARGE, TeachingBar
from app.widgets.button_bar import ButtonBar
from app.widgets.following import follow
from app.widgets.rows import BarRows, Words
from app.widgets.style import BOX, PLAIN, TIP

ONE_LINE = """
:host { white-space: nowrap; width: max-content !important; min-width: 105px;
  padding-right: 10px; flex: none !important; }
.words { width: max-content !important; }
"""
STEPS = (
    ("⇤", "peak-before", "previous peak: ["),
    ("◀", "step-before", "previous step: ←"),
    ("▶", "step-after", "next step: →"),
    ("⇥", "peak-after", "next peak: ]"),
)
"""Signs, names on which `cursor.js` acts, and what they do by which key."""


class Stepper(pn.viewable.Viewer):
    """Previous and next, a slider, and sentences on what happened in the step."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.slider = Slider(
            name=CURSOR,
            start=0,
            end=1,
            value=0,
            step=1,
            show_value=False,
            sizing_mode="stretch_width",
            syncable=False,
        )
        self.title = Words(
            part="now",
            css_classes=["step-title"],
            margin=(7, 4),
            width=105,
            stylesheets=[TIP, PLAIN, ONE_LINE],
        )
        self.steps = ButtonBar(margin=(2, 2))
        for sign, name, about in STEPS:
            self.steps.add(name, sign, about, None)
        self.story = BarRows(
            part="story",
            selects=True,
            css_classes=["story"],
            sizing_mode="stretch_width",
            margin=(0, 4),
            height=HEIGHT,
        )
        self.story.stylesheets = [LARGE]
        self.told = pn.Column(
            self.story,
            sizing_mode="stretch_width",
            css_classes=["story-box", "box"],
            stylesheets=[BOX],
            margin=0,
        )
        self.teaching = TeachingBar(session)
        follow(session.work, "shown", lambda: self._fit())
        follow(session.look, "presenting", lambda: self._enlarge())
        self._enlarge()

    def _enlarge(self) -> None:
        """Enlarge the text for the last row of a lecture hall."""
        large = bool(self.session.look.presenting)
        self.story.css_classes = ["story", "large"] if large else ["story"]

    def _fit(self) -> None:
        self.slider.end = max(1, self.session.work.shown.steps - 1)

    def __panel__(self) -> pn.Row:
        """One line, which stays in sight; `told` is what happened in the step."""
        return pn.Row(
            self.steps,
            self.title,
            pn.pane.Bokeh(
                self.slider,
                css_classes=["cursor"],
                sizing_mode="stretch_width",
                margin=(6, 20, 6, 8),
            ),
            self.teaching,
            sizing_mode="stretch_width",
            css_classes=["stepper", "box"],
            stylesheets=[BOX],
            margin=0,
        )
