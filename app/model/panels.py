"""The panels of the page's lower right corner, by name: the only list of them.

A panel is made by a function `module:name` of the session, of what selects a tensor or an operator
by its key (`choose`), and of a height in pixels; it gives what Panel can show. The module is
imported where a page is made: nothing here knows Panel.
"""

from __future__ import annotations

from collections.abc import Mapping

PANELS: Mapping[str, str] = {
    "details": "app.views.panels.details:details",
    "solver": "app.views.panels.solver_panel:solver",
    "compare": "app.views.panels.comparing:ComparePanel",
    "peak": "app.views.panels.peak_panel:PeakPanel",
    "what if": "app.views.panels.what_if:WhatIfPanel",
}
"""A panel more is a line here, and its file. Links call it by its name."""
