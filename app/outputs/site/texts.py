"""Pages and scripts of a site as text. No name in them is ever read as HTML or as a script."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

from app.model.paths import ASSETS
from app.outputs.standalone.page import (
    BOKEH_FILE,
    OWN_FILE,
    Surroundings,
    bokeh_js,
    closed,
    own_script,
    page_css,
    script_from,
    script_json,
)

SITE_DATA = "data/site.js"
SHARED: Mapping[str, Sequence[str]] = {
    "site.js": ("site.js",),
    "overview.js": ("site_overview.js",),
    "compare.js": ("site_compare.js",),
    "tasks.js": ("judge.js", "site_placing.js", "site_tasks.js"),
}
"""Scripts of the site, and what each is made of."""


def shared_files() -> dict[str, str]:
    """The scripts that pages share, by file."""
    scripts = {f"assets/{name}": _joined(parts) for name, parts in SHARED.items()}
    return {
        f"assets/{BOKEH_FILE}": closed(bokeh_js()),
        f"assets/{OWN_FILE}": own_script(),
        **scripts,
    }


def _joined(parts: Sequence[str]) -> str:
    return "\n".join((ASSETS / part).read_text(encoding="utf-8") for part in parts)


def data_script(name: str, data: Any) -> str:
    """Data as a script, because a page from a disk may not fetch."""
    return f"window.{name} = {script_json(data)};\n"


def plan_frame(cell: str) -> Surroundings:
    """What a plan's page has of its site."""
    scripts = (f"../{SITE_DATA}", "../assets/site.js")
    return Surroundings(shared="../assets/", nav=_nav("plan", "../", cell), scripts=scripts)


def _nav(page: str, up: str, of: str = "") -> str:
    """The links of a page, which `site.js` writes; `up` leads to the site's folder."""
    return (
        f'<nav id="site-nav" aria-label="site" data-page="{escape(page)}" data-up="{escape(up)}"'
        f' data-of="{escape(of)}"></nav>'
    )


def site_page(
    page: str,
    title: str,
    scripts: Sequence[str],
    *,
    up: str = "",
    of: str = "",
    inline: str = "",
    data: Any = None,
    body: str = "",
) -> str:
    """A page that `site.js` and `scripts` (addresses) fill; `inline` is a script of figures,
    `body` HTML with their places."""
    nonce = secrets.token_urlsafe(12)
    files = [script_from(address, nonce) for address in (f"{up}{SITE_DATA}", *scripts)]
    if inline:
        files.insert(0, script_from(f"{up}assets/{BOKEH_FILE}", nonce))
        files.insert(1, f'<script nonce="{nonce}">{inline}</script>')
    fields = {
        "nonce": nonce,
        "eval": " 'unsafe-eval'" if inline else "",
        "title": escape(title),
        "css": f"{page_css()}\n{(ASSETS / 'site.css').read_text(encoding='utf-8')}",
        "nav": _nav(page, up, of),
        "data": script_json(data),
        "body": body,
        "scripts": "\n".join(files),
    }
    template = Template((ASSETS / "site.html").read_text(encoding="utf-8"))
    return template.substitute(fields)
