"""What stands in the page's text before there are components: style, scripts, first picture."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape

from panel.io.resources import DIST_DIR

from app.model.paths import ASSETS, script
from app.widgets.component import flat

SOURCE = re.compile(r'<script type="text/javascript" src="([^"]+)"></script>')
INLINE = re.compile(r'(?s)<script type="text/javascript">(.*?)</script>')
EXTENSION, THEMES = "extensions/panel/", ("default", "dark")
NOT_USED = "bokeh-gl"
"""Of Bokeh's scripts: no figure draws with WebGL."""


@cache
def head_variables() -> dict[str, object]:
    """Variables of the template `page.html`, by name."""
    return {
        "accessibility_css": (ASSETS / "accessibility.css").read_text("utf-8"),
        "accessibility_js": flat(script("accessibility")),
        "deferred": deferred,
        "early_changes_js": flat(script("early_changes")),
        "one_layout_js": flat(script("one_layout")),
        "inlined": inlined,
        "last_picture_js": flat(script("within", "last_picture")),
    }


def inlined(styles: Mapping[str, str]) -> str:
    """Panel's style sheets, by name and address, as text; of a theme both, of which one counts."""
    return "".join(map(_inlined, styles.values()))


@cache
def _inlined(address: str) -> str:
    _, here, place = address.partition(EXTENSION)
    if not here:  # from a network of servers, as whoever runs this one has wished
        return f'<link rel="stylesheet" href="{escape(address)}">'
    at = DIST_DIR / place.partition("?")[0]
    files = [at.with_stem(theme) for theme in THEMES] if at.stem in THEMES else [at]
    return "".join(
        f"<style data-theme-of={file.stem}>{file.read_text('utf-8')}</style>" for file in files
    )


def deferred(resources: str) -> str:
    """The same scripts, run in their order once the page's text can be seen."""

    def after(found: re.Match[str]) -> str:
        return "" if NOT_USED in found[1] else f'<script defer src="{found[1]}"></script>'

    inside = r"<script>document.addEventListener('DOMContentLoaded', () => {\1});</script>"
    return INLINE.sub(inside, SOURCE.sub(after, resources))
