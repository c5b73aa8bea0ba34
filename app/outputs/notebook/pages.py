"""What a notebook shows of each kind of object: cards, drawings and tables in one piece of HTML.

It holds its own style and a short script and fetches nothing, so that it works in JupyterLab, VS
Code and exported pages alike, and weighs tens of kilobytes where a Bokeh figure brings a megabyte.
Without scripts the drawings stay, their hovers are the browser's; without styles the tables do.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

import planners as sp
from app.captions.notes import assumptions
from app.display.displayed_plan import DisplayedPlan
from app.display.instruction_names import InstructionNames
from app.kinds.registry import kind_of
from app.kinds.timeline_bars import Bars
from app.kinds.whole_tensors import engines_of
from app.model.paths import ASSETS
from app.model.units import joules_text, seconds_text
from app.outputs.notebook.memory import EDGE, held_svg, memory_html
from app.outputs.notebook.network import needs_svg, network_svg, operator_table, quick_budgets
from app.outputs.notebook.replay_cache import known, replayed, too_long
from app.outputs.notebook.timeline import lanes_html, stall_rows
from app.views.panels.cards import badge, cards_html, proof_text
from app.widgets.palette import DARK, FONT, LIGHT, Theme
from planners.core.display import Displayed, table
from planners.core.svg import LEFT, WIDTH, Paints, Scale, drawing, folded, rows_table
from planners.core.units import format_bytes

LISTED = 12


def html(thing: Displayed) -> str:
    """What a notebook shows of an object: drawings of what can be drawn, else a table of facts."""
    pages: list[tuple[type[Any], Callable[[Any, Paints], str]]] = [
        (sp.Graph, graph_page),
        (sp.Plan, plan_page),
        (sp.Trace, trace_page),
        (sp.CheckReport, report_page),
    ]
    for kind, page in pages:
        if isinstance(thing, kind):
            return framed(lambda paints, page=page: page(thing, paints))  # type: ignore[misc]
    return table(thing.facts())


def shown_html(shown: DisplayedPlan) -> str:
    """What a notebook shows of a plan that was already replayed."""
    return framed(lambda paints: shown_page(shown, paints))


def framed(draw: Callable[[Paints], str]) -> str:
    """A drawing with its style and script."""
    name = f"sw-{secrets.token_hex(4)}"
    paints = Paints(name)
    inside = draw(paints)
    style, script = _assets()
    return (
        f'<div id="{name}" class="sw">{paints.definitions}<style>{style}</style>{inside}'
        f'<div class="sw-tip" hidden></div></div>'
        f"<script>{script}({json.dumps(name)});</script>"
    )


def styled(inside: str, kind: str = "") -> str:
    """A piece of HTML in the same style, for a widget, where no script runs."""
    return f'<style>{_assets()[0]}</style><div class="sw {kind}">{inside}</div>'


@cache
def _assets() -> tuple[str, str]:
    style, script = (
        (ASSETS / name).read_text(encoding="utf-8") for name in ("still.css", "still.js")
    )
    return f"{_theme()}\n{style}", script.strip()


def _theme() -> str:
    """The palette's colours as variables; the notebook says whether it is dark."""
    dark = 'body[data-jp-theme-light="false"] .sw,body.vscode-dark .sw,[data-theme="dark"] .sw'
    return f".sw{{{_variables(LIGHT)}}}\n{dark}{{{_variables(DARK)}}}"


def _variables(theme: Theme) -> str:
    return (
        f"--sw-text:{theme.text};--sw-faint:{theme.faint};--sw-grid:{theme.grid};"
        f"--sw-panel:{theme.panel};--sw-page:{theme.page};--sw-cursor:{theme.cursor};"
        f"--sw-font:{FONT}"
    )


def graph_page(graph: sp.Graph, paints: Paints) -> str:
    """The network, what it needs at each operator, and its operators."""
    limits = quick_budgets(graph) if graph.operators else []
    cards = [(str(value), name) for name, value in graph.facts()[1:4]]
    cards += [(format_bytes(size), ABOUT_BUDGET[name[:2]]) for name, size in limits]
    title = f"<h3>{escape(graph.name)} <small>{escape(graph.granularity)} operators</small></h3>"
    needed = f"<h4>Bytes held in the default order</h4>{needs_svg(graph, limits)}" if limits else ""
    network = f"<h4>Graph{READ_GRAPH}</h4>{network_svg(graph, paints)}"
    listed = folded(f"{len(graph.operators)} operators", operator_table(graph))
    return title + _cards(cards) + network + needed + _told() + listed


ABOUT_BUDGET = {
    "MR": "MR, largest need of an operator",
    "MP": "MP, least peak of any order",
}
READ_GRAPH = '<span class="sw-note">hatched: a block of several operators</span>'


def plan_page(plan: sp.Plan, paints: Paints) -> str:
    """A plan, checked; or what is wrong with it; or only its claims, where it is very long."""
    if too_long(plan) and not known(plan):
        return _claimed(plan, LONG)
    try:
        return shown_page(replayed(plan), paints)
    except sp.SpillwayError as error:
        return _claimed(plan, f"It is not shown, because it is not valid: {error}", wrong=True)


LONG = (
    "This program is too long to replay here: app.notebook.show(plan) "
    "replays and draws it, app.explore(plan) opens it."
)


def _claimed(plan: sp.Plan, told: str, *, wrong: bool = False) -> str:
    """The claims as a table: none of them was checked."""
    kind = "sw-notice sw-wrong" if wrong else "sw-notice"
    sign = "✕ not a valid plan" if wrong else "claimed, not replayed here"
    head = f'<p class="{kind}"><b>{sign}.</b> {escape(told)}</p>'
    return head + table(plan.facts()).replace("<table>", '<table class="sw-table">')


def shown_page(shown: DisplayedPlan, paints: Paints) -> str:
    """Cards, address map, held bytes, timeline, what was proven, and totals."""
    kind = kind_of(shown)
    cursor = shown.step_seconds[shown.opening_step] if shown.steps else None
    engines = kind.lanes(shown, shown.trace)
    lanes = lanes_html(
        kind.bars(shown, shown.trace), engines, shown.trace.makespan_s, paints, cursor
    )
    busy = f'<span class="sw-note">{_busy(shown.trace)}</span>'
    return (
        cards_html(shown)
        + f'<p class="sw-rest">{escape(assumptions(shown))}</p>'
        + memory_html(shown, paints)
        + _told()
        + f"<h4>Timeline{busy}</h4>{lanes}"
        + folded("Proof, and what it rests on", _proof(shown))
        + folded("Totals", _sums(shown))
        + (_spilled(shown) if shown.moved_bytes and not kind.streams else "")
    )


def _busy(trace: sp.Trace) -> str:
    share = trace.busy_s.get("compute", 0.0) / (trace.makespan_s or 1.0)
    return f"{seconds_text(trace.makespan_s)}, compute {share:.0%} busy"


def _proof(shown: DisplayedPlan) -> str:
    """How good the plan is known to be, in words."""
    sign, words, _ = badge(shown)
    lines = "".join(f"<li>{escape(item)}</li>" for item in proof_text(shown).split("\n"))
    return f"<p><b>{sign} {escape(words)}</b></p><ul>{lines}</ul>"


def _sums(shown: DisplayedPlan) -> str:
    report, trace, claims = shown.report, shown.trace, shown.plan.claims
    rows = [
        ("off-chip traffic", f"{report.traffic_bytes:,} B"),
        ("compulsory", f"{report.compulsory_bytes:,} B ({format_bytes(report.compulsory_bytes)})"),
        ("not compulsory (spill traffic)", f"{report.noncompulsory_bytes:,} B"),
        ("proven bound on what was minimised", f"{claims.bound_bytes:,} B"),
        ("peak", f"{report.peak_bytes:,} B in step {report.peak_step + 1}"),
        ("extent", f"{report.extent_bytes:,} B"),
        ("MACs", f"{report.macs:,}"),
        ("latency", seconds_text(trace.makespan_s)),
        ("energy", joules_text(trace.energy_j)),
    ]
    return rows_table(["of the replayed program", ""], rows) + _engine_tables(trace)


def _engine_tables(trace: sp.Trace) -> str:
    """Engines with their stalls, and where the energy goes."""
    engines = rows_table(["engine", "works", "of the time", "waits"], stall_rows(trace))
    joules = sorted(trace.energy.items(), key=lambda item: -item[1])
    whole = trace.energy_j or 1.0
    spent = [(name, joules_text(j), f"{j / whole:.1%}") for name, j in joules if j]
    return engines + (rows_table(["energy", "", "share"], spent) if spent else "")


def _spilled(shown: DisplayedPlan) -> str:
    """The tensors with most traffic beyond the compulsory."""
    moved = sorted(shown.moved_bytes.items(), key=lambda item: -item[1])
    rows = [(name, format_bytes(size)) for name, size in moved[:LISTED] if size]
    if not rows:
        return ""
    return folded("Tensors that leave and come back", rows_table(["tensor", "moved"], rows))


def trace_page(trace: sp.Trace, paints: Paints) -> str:
    """The timeline, how busy engines are and what they wait for, and where the energy goes."""
    how = "one after the other" if trace.serial else "overlapped"
    cards = [
        (seconds_text(trace.makespan_s), f"latency, {how}"),
        (joules_text(trace.energy_j), "energy"),
        (format_bytes(trace.traffic_bytes), "off-chip traffic"),
        (format_bytes(trace.peak_bytes), "peak"),
        (seconds_text(trace.stall_s.get("compute", 0.0)), "compute waits"),
    ]
    ran = {item.instruction for item in trace.intervals if item.engine == "compute"}
    names = InstructionNames.of_trace(trace, ran.__contains__)
    engines = engines_of(trace)
    lanes = lanes_html(Bars(names, trace), engines, trace.makespan_s, paints)
    title = f"<h3>Trace <small>on {escape(trace.machine)}</small></h3>"
    return title + _cards(cards) + lanes + _told() + _engine_tables(trace)


def report_page(report: sp.CheckReport, _paints: Paints) -> str:
    """What a replay found, and how many bytes were held in each step."""
    steps = Scale(0, len(report.occupancy), LEFT, EDGE)
    names = [""] * len(report.occupancy)
    occupancy = drawing(
        (WIDTH, 128), "Bytes held in each step", held_svg(report.occupancy, names, steps, 16)
    )
    facts = table(report.facts()).replace("<table>", '<table class="sw-table">')
    return f"{facts}<h4>Bytes held</h4>{occupancy}{_told()}"


def _cards(cards: list[tuple[str, str]]) -> str:
    cards_html = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(label)}</span></div>'
        for value, label in cards
    )
    return f'<div class="cards">{cards_html}</div>'


def _told() -> str:
    """The element in which the script describes the cursor."""
    return '<div class="sw-told" aria-live="polite"></div>'
