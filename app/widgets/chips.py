"""Names as chips: a tap on one selects it, a tap on its cross takes it away."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.rows import Sender

TAKE, PICK, CLEAR = "take ", "pick ", "clear"


class Chips(Sender):
    """A wrapped list of names; sends `pick NAME`, and `take NAME` or `clear` where they may go."""

    names = param.List(default=[], item_type=str, doc="What is written on the chips.")
    removable = param.Boolean(False, doc="Whether each has a cross.")

    _esm = script("chips")
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 11.5px var(--sw-font);
  color: var(--sw-text); overflow-y: auto; max-height: 84px; }
.chip { display: inline-flex; margin: 0 4px 4px 0; border: 1px solid #D55E00; border-radius: 9px;
  max-width: 100%; overflow: hidden; }
button { font: inherit; color: inherit; background: none; border: none; cursor: pointer;
  padding: 1px 7px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.all { color: var(--sw-faint); text-decoration: underline; }
.cross { padding: 1px 7px 1px 2px; flex: 0 0 auto; }
button:hover, button:focus-visible { background: var(--sw-hover); outline: none; }
"""
    ]
