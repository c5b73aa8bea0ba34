"""A mark at the head of a panel, brought into sight when the panel is opened from elsewhere."""

from __future__ import annotations

import param

from app.model.paths import script
from app.widgets.component import Component


class Reveal(Component):
    """Takes no room; `bring` scrolls to it, below the line that stays; Tab goes on from it."""

    asked = param.Integer(default=0, doc="How often it was to be brought into sight.")

    def __init__(self) -> None:
        super().__init__(width=0, height=0, margin=0)

    def bring(self) -> None:
        """Bring it into sight, as soon as it is there."""
        self.asked += 1

    _esm = script("reveal")
