"""A small component: an address that is typed, or moved with the arrow keys."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.rows import Sender


class Address(Sender):
    """A field for an address: Enter moves there, up and down move by the alignment."""

    text = param.String(default="", doc="The address as it stands.")
    name_of = param.String(default="", doc="Whose address it is.")
    nudge = param.Integer(default=64, doc="Bytes of a nudge.")
    locked = param.Boolean(default=False, doc="Whether it cannot be moved.")

    _esm = script("address_field")
    _stylesheets: ClassVar[list[str]] = [
        """
input { width: 88px; height: 24px; box-sizing: border-box; font: 12px ui-monospace,
  "DejaVu Sans Mono", monospace; padding: 1px 6px; border: 1px solid var(--sw-faint);
  border-radius: 4px; background: var(--sw-page); color: var(--sw-text); }
input:focus { outline: 2px solid #0072B2; }
input:disabled { opacity: .5; }
"""
    ]
