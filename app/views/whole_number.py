"""A field for a whole number: one outside its bounds is refused in words, and can be mended."""

from __future__ import annotations

from typing import Any

import panel as pn

import planners as sp
from app.session import Session
from app.sizes import plain_whole
from app.state import Problem
from app.style import TEXT, wrong_html
from app.views.following import follow


class WholeNumber:
    """A field of the problem; `wrong`, below it, says what cannot be used."""

    def __init__(self, session: Session, name: str, label: str, css: str, **look: Any) -> None:
        self.session, self.name = session, name
        self._shown: int | None = None
        self.field = pn.widgets.TextInput(label=label, css_classes=[css], **look)
        self.wrong = pn.pane.HTML(
            "", css_classes=[f"{css}-wrong"], margin=(0, 8), stylesheets=[TEXT]
        )
        self.field.param.watch(lambda event: self._typed(event.new), "value")
        follow(session.problem, name, lambda: self._mirror())
        self._mirror()

    def _typed(self, text: str) -> None:
        if text == str(self._shown):
            self.wrong.object = ""
            return
        try:
            number = plain_whole(text, *Problem.param[self.name].bounds)
        except sp.SpillwayError as error:
            self.wrong.object = wrong_html(error)
            return
        self.wrong.object = ""
        self.session.change(**{self.name: number})
        self._mirror()

    def _mirror(self) -> None:
        self._shown = getattr(self.session.problem, self.name)
        self.field.value = str(self._shown)
