"""A lecture as a page to print: its items with their notes, and what is on screen at each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from app.captions.verdict import verdict
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.links.lecture import Item, Lecture
from app.model.units import seconds_text
from planners.core.axis_break import drawn_bytes, free_above
from planners.core.units import format_bytes

WIDE, HIGH, MOST = 680, 150, 400
"""Pixels of a map, and how many rectangles it has at most, the largest first."""
COLOURS = {"spill": "#E69F00"}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body {{ font: 11pt/1.45 system-ui, sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em;
  color: #16202a; }}
section {{ break-inside: avoid; border-top: 1px solid #b8c2cc; padding: 6px 0 12px; }}
h2 {{ margin: 0; font-size: 13pt; }}
p {{ margin: 3px 0; white-space: pre-line; overflow-wrap: anywhere; }}
.verdict {{ font-weight: 600; }} .faint {{ color: #5a6672; font-size: 9pt; }}
svg {{ display: block; width: 100%; height: auto; margin: 4px 0; }}
@media print {{ body {{ margin: 0; max-width: none; }} @page {{ margin: 16mm; }} }}
</style></head><body><main><h1>{title}</h1>
{sections}
</main></body></html>
"""


def handout_html(lecture: Lecture, plans: Mapping[str, DisplayedPlan]) -> str:
    """The page; `plans` are those of items by their links, as far as there are any."""
    parts = [
        _section(number, item, plans.get(item.link)) for number, item in enumerate(lecture.items, 1)
    ]
    return PAGE.format(title=escape(lecture.title or "A lecture"), sections="\n".join(parts))


def _section(number: int, item: Item, shown: DisplayedPlan | None) -> str:
    lines = [f"<h2>{number}. {escape(item.title)}</h2>"]
    if item.note:
        lines.append(f"<p>{escape(item.note)}</p>")
    if shown is None:
        lines.append('<p class="faint">There is no plan of this.</p>')
    else:
        kind = kind_of(shown)
        facts = [f"{card.value} {card.label}" for card in kind.cards(shown)]
        step = int(item.fields.get("step", "0")) if item.fields.get("step", "").isdecimal() else 0
        lines.append(f'<p class="verdict">{escape(verdict(shown, {}, kind.manner_of(shown)))}</p>')
        lines.append(map_svg(shown, min(step, shown.steps - 1)))
        took = seconds_text(shown.trace.makespan_s)
        about = f"{shown.graph.name}, {kind.title(shown)}, {shown.steps} steps in {took}"
        lines.append(f'<p class="faint">{escape(" · ".join([about, *facts]))}</p>')
    lines.append(f'<p class="faint">{escape(item.link)}</p>')
    return f"<section>{''.join(lines)}</section>"


def map_svg(shown: DisplayedPlan, step: int) -> str:
    """The address map in small: a rectangle for each stay, addresses upwards, the step marked."""
    in_memory = [
        residency for residency in shown.report.residencies if residency.memory == shown.memories[0]
    ]
    area = {id(s): s.size_bytes * (s.stop_step - s.start_step) for s in in_memory}
    residencies = sorted(in_memory, key=lambda residency: -area[id(residency)])[:MOST]
    used, budget = shown.report.extent_bytes, shown.plan.budget_bytes
    end, top = max(1, shown.steps), max(1, drawn_bytes(used, budget))
    across, up = WIDE / end, (HIGH - 12) / top
    rects = [
        f'<rect x="{s.start_step * across:.1f}" y="{HIGH - span.stop * up:.1f}"'
        f' width="{max(0.4, (s.stop_step - s.start_step) * across):.1f}"'
        f' height="{max(0.4, (span.stop - span.start) * up):.1f}"'
        f' fill="{COLOURS.get(s.ending, "#56B4E9")}" stroke="#fff" stroke-width=".5"/>'
        for s in residencies
        for span in s.spans
    ]
    left_out = len(in_memory) - len(residencies)
    rest = f", the {MOST} largest of {left_out + MOST}" if left_out else ""
    about = f"address map: {len(residencies)} stays{rest}, up to {format_bytes(top)}"
    limit = f'<path d="M0 {HIGH - top * up:.1f}H{WIDE}" stroke="#16202a" stroke-dasharray="4 3"/>'
    words = format_bytes(top)
    if top < budget:
        limit, words = "", f"↑ {free_above(used, budget)}"
    here = (
        f'<path d="M{(step + 0.5) * across:.1f} 0V{HIGH}" stroke="#16202a" stroke-width="1.5"'
        ' stroke-opacity=".6"/>'
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{about}">'
        f'{"".join(rects)}{limit}{here}<text x="4" y="9" font-size="9">{words}</text>'
        "</svg>"
    )
