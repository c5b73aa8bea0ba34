"""What the page's head has for everybody: a style sheet for all components, and its script."""

from __future__ import annotations

from functools import cache

import param

from app.model.paths import ASSETS, script
from app.widgets.component import flat
from app.widgets.rows import Sender


class Accessibility(Sender):
    """Names what shows only a sign, for those who listen, and sends `dark` or `light` where the
    browser has another theme than the figures."""

    dark = param.Boolean(default=False, doc="The theme that the figures were made in.")

    _esm = script("names")


@cache
def head_variables() -> dict[str, str]:
    """Variables of the template `page.html`, by name."""
    return {
        "accessibility_css": (ASSETS / "accessibility.css").read_text("utf-8"),
        "accessibility_js": flat(script("accessibility")),
        "early_changes_js": flat(script("early_changes")),
        "last_picture_js": flat(script("within", "last_picture")),
    }
