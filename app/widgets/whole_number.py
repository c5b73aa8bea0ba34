"""A field for a whole number: one outside its bounds is refused in words, and can be corrected."""

from __future__ import annotations

from typing import Any

import panel as pn

from app.model.sizes import plain_whole
from app.model.state import ProblemFields
from app.session.session import Session
from app.widgets.bound import bind, said_in
from app.widgets.style import PLAIN


class WholeNumber:
    """A field of the problem; `wrong`, below it, says what cannot be used."""

    def __init__(self, session: Session, name: str, label: str, css: str, **look: Any) -> None:
        self.field = pn.widgets.TextInput(label=label, css_classes=[css], **look)
        self.wrong = pn.pane.HTML(
            "", css_classes=[f"{css}-wrong"], margin=(0, 8), stylesheets=[PLAIN]
        )
        low, high = ProblemFields.param[name].bounds
        bind(
            self.field,
            session.problem,
            name,
            to=str,
            back=lambda text: plain_whole(text, low, high),
            change=session.change,
            wrong=said_in(self.wrong),
        )
