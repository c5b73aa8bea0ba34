"""Names for those who listen, and the system's theme."""

from __future__ import annotations

import param

from app.model.paths import script
from app.widgets.rows import Sender


class Accessibility(Sender):
    """Names what shows only a sign, for those who listen, and sends `dark` or `light` where the
    browser has another theme than the figures."""

    dark = param.Boolean(default=False, doc="The theme that the figures were made in.")

    _esm = script("names")
