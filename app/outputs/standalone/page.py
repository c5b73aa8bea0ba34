"""The page itself: one HTML text that fetches nothing. No name in it is ever read as HTML."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from string import Template
from typing import Any

from bokeh.resources import Resources

from app.captions.notes import assumptions
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.model.machines import title_of
from app.model.paths import ASSETS
from app.views.panels.cards import CSS, badge, cards_html, scope
from app.views.timing.timeline import timeline_legend_html, timeline_title
from app.widgets.legends import (
    heading,
    map_legend_html,
    pool_legend_html,
)
from app.widgets.palette import DARK, LIGHT
from app.widgets.style import variables
from planners.core.caveats import caveats
from planners.core.units import format_bytes

KEYS = (
    ("← →", "previous, next step"),
    ("Home End", "first, last step"),
    ("[ ]", "previous, next peak of occupancy"),
    ("e", "open all blocks of the graph, or close them"),
    ("g", "next fused group or run, or kernel that waits"),
    ("/", "find an operator or a tensor"),
    ("Esc", "clear the selection"),
    ("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a page of a site has around its plan; a page for itself has nothing.

    `shared`: the address of the folder with the scripts that all pages of the site share; `nav`:
    HTML in the header; `scripts`: addresses of further scripts.
    """

    shared: str = ""
    nav: str = ""
    scripts: Sequence[str] = ()


ALONE = Surroundings()
OWN_SCRIPTS = ("rows.js", "follow.js", "select.js", "standalone.js")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a page: the figures' script and places, data, texts."""

    script: str
    places: Mapping[str, str]
    data: Mapping[str, Any]
    plan: str
    python: str
    query: str
    left_out: Sequence[str]
    serial: bool
    theme: str
    around: Surroundings = ALONE


@cache
def bokeh_js() -> str:
    """The scripts of BokehJS and its WebGL support."""
    scripts = Resources(mode="inline", components=["bokeh", "bokeh-gl"]).js_raw
    return "\n".join(text for text in scripts if text.strip())


def page_text(shown: DisplayedPlan, parts: Parts) -> str:
    """The whole page."""
    nonce = secrets.token_urlsafe(12)
    fields = {
        "nonce": nonce,
        "theme": parts.theme,
        "name": escape(shown.graph.name),
        "budget": escape(format_bytes(shown.plan.budget_bytes)),
        "planner": escape(shown.plan.planner),
        "css": page_css(),
        "cards": cards_html(shown),
        "assumptions": escape(assumptions(shown)),
        "steps": str(shown.steps - 1),
        "dag": _dag(shown, parts),
        "own": _own(shown, parts),
        "map": _map(shown, parts),
        "lanes": _lanes(shown, parts),
        "pareto": _box("pareto", parts, "Pareto"),
        "left_out": _left_out(parts.left_out),
        "about": _about(shown, parts),
        "keys": "".join(f"<tr><td><kbd>{k}</kbd></td><td>{escape(v)}</td></tr>" for k, v in KEYS),
        "python": escape(parts.python),
        "query": escape(parts.query),
        "save": "" if parts.plan else "hidden",
        "plan": parts.plan,
        "data": script_json(parts.data),
        "nav": parts.around.nav,
        "scripts": _scripts(parts, nonce),
    }
    page = Template((ASSETS / "standalone.html").read_text(encoding="utf-8"))
    return page.substitute(fields)


def _scripts(parts: Parts, nonce: str) -> str:
    """BokehJS, the figures and our own scripts: within the page, or by their addresses."""
    around = parts.around
    if not around.shared:
        texts = [closed(bokeh_js()), parts.script, own_script()]
        return "\n".join(f'<script nonce="{nonce}">{text}</script>' for text in texts)
    files = (f"{around.shared}{BOKEH_FILE}", "", f"{around.shared}{OWN_FILE}", *around.scripts)
    return "\n".join(
        script_from(address, nonce)
        if address
        else f'<script nonce="{nonce}">{parts.script}</script>'
        for address in files
    )


BOKEH_FILE, OWN_FILE = "bokeh.js", "page.js"


def script_from(address: str, nonce: str) -> str:
    """A script of another file; of a folder on a disk too, which is why it is no module."""
    return f'<script nonce="{nonce}" charset="utf-8" src="{escape(address)}"></script>'


def own_script() -> str:
    """Our own scripts of a plan's page, one after the other."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in OWN_SCRIPTS)


def script_json(data: Any) -> str:
    """JSON that cannot close the script element that contains it."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def closed(script: str) -> str:
    """A library's text, safe within a script element."""
    return script.replace("</script", "<\\/script")


def page_css() -> str:
    """The style sheet of a page in both themes."""
    light, dark = variables(LIGHT), variables(DARK)
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root[data-theme=auto] {{ {dark} }} }}\n"
        f":root[data-theme=dark] {{ {dark} color-scheme: dark; }}\n"
        ":root[data-theme=light] { color-scheme: light; }\n"
        f"{CSS.replace(':host', ':root')}\n"
        f"{(ASSETS / 'standalone.css').read_text(encoding='utf-8')}"
    )


def _dag(shown: DisplayedPlan, parts: Parts) -> str:
    more = parts.data["scenes"] > 1
    button = '<button id="blocks" aria-pressed="false" title="e">All blocks</button>'
    about = f"{len(shown.graph.operators):,} operators"
    bar = _bar(_title("Graph", about), button if more else "")
    return bar + _plot("dag", parts) + _plot("overview", parts)


def _own(shown: DisplayedPlan, parts: Parts) -> str:
    """The parts that only some planners have."""
    if shown.pool is not None:
        places = "".join(_plot(name, parts) for name in ("ring", "bars", "ram"))
        return (
            f'<section class="box">{pool_legend_html()}<div class="pool">{places}</div></section>'
        )
    return _box("delay", parts, "Delay against memory")


def _map(shown: DisplayedPlan, parts: Parts) -> str:
    kind = kind_of(shown)
    regions = kind.regions(shown)
    chosen = parts.data["region"]
    switch = "".join(
        f'<button data-region="{i}" aria-pressed="{"true" if i == chosen else "false"}">'
        f"{escape(region.name)}</button>"
        for i, region in enumerate(regions if len(regions) > 1 else ())
    )
    return (
        _bar(map_legend_html(kind.looks), switch) + _plot("map", parts) + _plot("occupancy", parts)
    )


def _lanes(shown: DisplayedPlan, parts: Parts) -> str:
    title = heading("Timeline", timeline_title(shown, parts.serial))
    legend = timeline_legend_html(shown, parts.serial)
    return _bar(title, legend) + _plot("timeline", parts)


def _box(name: str, parts: Parts, title: str) -> str:
    if name not in parts.places:
        return ""
    return f'<section class="box">{_bar(_title(title))}{_plot(name, parts)}</section>'


def _bar(*items: str) -> str:
    return f'<div class="bar">{"".join(items)}</div>'


def _title(text: str, about: str = "") -> str:
    return f"<h2>{escape(text)}<span>{escape(about)}</span></h2>"


def _plot(name: str, parts: Parts) -> str:
    return f'<div class="plot {name}">{parts.places[name]}</div>' if name in parts.places else ""


def _left_out(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section class="box left-out"><h2>Left out of this file</h2><ul>{items}</ul></section>'


def _about(shown: DisplayedPlan, parts: Parts) -> str:
    """What was planned, how, and how good it is known to be."""
    plan, claims, graph = shown.plan, shown.plan.claims, shown.graph
    _, words, _ = badge(shown)
    macs = f"{graph.macs / 1e6:,.4g}"
    shapes = ["×".join(map(str, shape)) for shape in graph.source.get("input_shape", ())]
    rows = {
        "network": f"{graph.name}: {len(graph.operators):,} operators, {macs} M MACs",
        "input": " and ".join(shapes),
        "operators": f"{graph.granularity}, {graph.width_words}",
        "machine": title_of(plan.machine),
        "budget": f"{format_bytes(plan.budget_bytes)} ({plan.budget_bytes:,} bytes)",
        "planner": plan.planner,
        "options": ", ".join(f"{name}={value}" for name, value in plan.options.items()),
        "found": f"{words} {scope(shown)}".strip(),
        "objective": f"{claims.objective_bytes:,} bytes, bound {claims.bound_bytes:,} bytes",
        "solver": f"{claims.solver}, {claims.plan_s:.3g} s",
        "checked": "replayed byte by byte before this file was written",
    }
    lines = [
        f"<tr><td>{escape(k)}</td><td>{escape(str(v))}</td></tr>" for k, v in rows.items() if v
    ]
    remarks = (*caveats(graph).lines(), *plan.notes)
    notes = "".join(f"<li>{escape(note)}</li>" for note in remarks)
    return f"<table>{''.join(lines)}</table><ul>{notes}</ul>"
