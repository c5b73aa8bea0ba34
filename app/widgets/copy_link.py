"""The button that copies a link to all that is on screen."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.component import Component


class CopyLink(Component):
    """Copies the page's address with all fields; where that is not allowed, shows it selected."""

    query = param.String("", doc="The problem and the look, as `app.links.url.link` writes them.")
    left_out = param.String("", doc="What the link does not hold, in words; or nothing.")

    _esm = script("copy_link")
    _stylesheets: ClassVar[list[str]] = [
        """
button { font: 14px/20px var(--sw-font); height: 34px; padding: 6px 14px; border-radius: 4px;
  border: none; background: transparent; color: #fff; cursor: pointer; }
button:hover { background: rgba(127, 160, 190, .28); }
button:focus-visible { outline: 2px solid #56B4E9; outline-offset: 1px; }
"""
    ]
