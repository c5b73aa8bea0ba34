"""The page's message when its server is gone: what is on screen stays; and when it is back.

A restarted server knows nothing of the page, so nothing can continue; but the address holds the
problem, and a reload requests its plan again.
"""

from __future__ import annotations

from app.model.paths import script
from app.widgets.component import Component


class Connection(Component):
    """A line over the page from when the connection is lost until it is loaded again."""

    _esm = script("connection")
