"""Result cards: what the plan costs, how good it is known to be, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from app.captions.verdict import verdict
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.model.glossary import marked
from app.model.units import joules_text, seconds_text, share_text
from planners.audits.shown import is_allocation
from planners.core.units import format_bytes

CSS = """
:host { --radius: 6px; }
.cards { display: flex; flex-wrap: wrap; gap: 5px; align-items: stretch;
  font: 11px var(--sw-font);
  color: var(--sw-text); }
.card { background: var(--sw-panel); border: 1px solid var(--sw-grid); border-radius: var(--radius);
  padding: 3px 8px; flex: 1 1 auto; min-width: 0; }
.card b { display: block; font-size: 14px; line-height: 1.3; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.card span { color: var(--sw-faint); white-space: nowrap; }
.card.name { flex: 50 1 110px; max-width: max-content; }
.name b, .name > span { display: block; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
@media (max-width: 1360px) {
  .card { padding: 3px 6px; }
  .card b { font-size: 13px; }
  .card span { font-size: 10.5px; }
}
.former .card { border-style: dashed; border-color: var(--sw-faint); background: var(--sw-page);
  filter: grayscale(1); }
.former .card b { font-weight: 500; }
.verdict { margin: 0 0 4px; padding: 0 9px; font: 600 14px/1.35 var(--sw-font);
  color: var(--sw-text); overflow-wrap: anywhere; }
.former .verdict { color: var(--sw-faint); font-weight: 500; }
.preview .card { border-style: dashed; border-color: #0072B2; }
.badge { flex: 0 1 auto; border-left: 5px solid; }
"""
SCOPE = "bound and status hold "
TERMS = {
    "proven": "proven",
    "heuristic": "heuristic",
    "gap": "gap",
    "spill traffic": "spill traffic",
    "traffic": "traffic",
    "compulsory": "compulsory traffic",
    "peak": "peak",
    "RAM": "circular pool",
    "latency": "latency",
    "floor": "floor",
    "delay": "delay",
    "rings": "ring",
    "energy": "energy",
    "groups": "fused group",
    "tiles": "tile",
    "runs": "run",
}
BADGES = {
    "optimal": ("✓", "proven optimal", "#009E73"),
    "feasible": ("≈", "feasible", "#E69F00"),
    "heuristic": ("○", "heuristic", "#0072B2"),
}


def badge(shown: DisplayedPlan) -> tuple[str, str, str]:
    """Sign, words and colour of how good the plan is known to be, in what was minimised."""
    if is_allocation(shown.plan):
        return "≈", "an allocation", BADGES["heuristic"][2]
    claims, chosen = shown.plan.claims, shown.plan.options
    if (best := shown.plan.details.best) and not shown.moved:
        sign, _, colour = BADGES["optimal" if best.proven else "feasible"]
        return sign, best.badge, colour
    of = "latency " if shown.plan.details.latency else ""
    of = "traffic " if chosen.get("objective") == "traffic_then_latency" else of
    if claims.status == "optimal":
        sign, word, colour = BADGES["optimal"]
        return sign, of + word, colour
    if unproven := kind_of(shown).unproven(shown.plan):
        sign, word, colour = BADGES["heuristic"]
        return sign, f"{word} for {unproven}", colour
    exact = chosen.get("replacement", "optimal") == "optimal" and chosen.get("schedule") != "dnc"
    exact = exact and not (chosen.get("online") or chosen.get("baseline"))
    sign, word, colour = BADGES["feasible" if exact else "heuristic"]
    if of and not shown.moved:  # How much may be gained is said once, in the verdict.
        return sign, f"{of}not proven least", colour
    return sign, f"{of}{word}, gap {share_text(shown.plan.gap)}", colour


def scope(shown: DisplayedPlan) -> str:
    """What the proof or the gap applies to, as the planner's notes say."""
    scopes = [note for note in shown.plan.notes if note.startswith(SCOPE)]
    if (best := shown.plan.details.best) and not shown.moved:
        return "" if best.proven else f"of {best.forms} ways to plan"
    if not scopes:
        return ""
    return "over all orders" if "all schedules" in scopes[0] else "for this order"


def proof_text(shown: DisplayedPlan) -> str:
    """The badge's hover: what was minimised, what is proven of it, by what, in which time."""
    claims = shown.plan.claims
    aim = "latency" if shown.plan.details.latency else kind_of(shown).aim(shown.plan)
    most = f"at most {share_text(shown.plan.gap)} of it could be saved"
    claim_text = most if shown.plan.gap else "proven least"
    best = None if shown.moved else shown.plan.details.best
    words = [*([best.words] if best else []), f"{aim}: {claim_text}", *shown.plan.notes]
    return "\n".join([*words, f"{claims.solver}, {seconds_text(claims.plan_s)}"])


def cards_html(
    shown: DisplayedPlan, former: bool = False, budgets: Mapping[str, Any] | None = None
) -> str:
    """The verdict in words, and the strip of cards above the views; faint where they belong to the
    former choice."""
    trace, claims, plan = shown.trace, shown.plan.claims, shown.plan
    sign, words, colour = badge(shown)
    planned = f"planned in {seconds_text(claims.plan_s)}" if claims.plan_s else ""
    scope_text = " · ".join(filter(None, [scope(shown), planned]))
    energy = max(trace.energy.items(), key=lambda item: item[1], default=("", 0.0))
    kind = kind_of(shown)
    items = [
        _card(
            plan.graph.name,
            kind.title(shown),
            "name",
            title=f"{plan.graph.name}: {len(plan.graph.operators)} operators",
        ),
        _card(
            f"{sign} {words}",
            scope_text,
            "badge",
            f"border-left-color: {colour}",
            proof_text(shown),
        ),
        *(_card(c.value, c.label, c.name, title=c.hover) for c in kind.cards(shown)),
    ]
    if not is_allocation(plan):
        items.append(_card(joules_text(trace.energy_j), f"energy, mostly {energy[0]}", "energy"))
    words = escape(verdict(shown, budgets or {}, kind.manner_of(shown)))
    verdict_html = f'<p class="verdict" role="heading" aria-level="2" title="{words}">{words}</p>'
    cards = f'<div class="cards">{"".join(items)}</div>'
    return f'<div class="{"former" if former else ""}">{verdict_html if words else ""}{cards}</div>'


def preview_html(shown: DisplayedPlan, preview: Mapping[str, Any]) -> str:
    """The cards while the budget moves: what is known before there is a program."""
    budget = format_bytes(preview["budget_bytes"])
    name = _card(shown.graph.name, f"at {budget}", "name")
    if "need_bytes" in preview:
        need = f"an operator needs {format_bytes(preview['need_bytes'])}"
        items = [name, _card("✕ does not fit", need, "badge", "border-left-color: #D55E00")]
        return f'<div class="cards preview">{"".join(items)}</div>'
    traffic, bound = preview["traffic_bytes"], preview["bound_bytes"]
    sign, words, colour = BADGES[preview["status"]]
    gap = f", gap {(traffic - bound) / traffic:.1%}" if traffic > bound else ""
    more = traffic - shown.report.traffic_bytes
    change = f"{'+' if more > 0 else '−'}{format_bytes(abs(more))}" if more else "no change"
    style = f"border-left-color: {colour}"
    items = [
        name,
        _card(f"{sign} {words}{gap}", "while the budget moves", "badge", style),
        _card(format_bytes(traffic), f"traffic, {change}", "traffic"),
        _card(format_bytes(preview["buffer_bytes"]), f"largest buffer of {budget}", "peak"),
        _card(str(len(preview["groups"])), "fused groups", "groups"),
        _card(str(preview["tiles"]), "tiles", "tiles"),
    ]
    return f'<div class="cards preview">{"".join(items)}</div>'


def _card(value: str, label: str, kind: str, style: str = "", title: str = "") -> str:
    words, about = marked(_short(label), TERMS), escape(title or label)
    number = marked(value, TERMS) if kind == "badge" else escape(value)
    hover = "" if "data-tip" in words else f' title="{about}"'
    return (
        f'<div class="card {kind}" style="{style}">'
        f'<b title="{about}">{number}</b><span{hover}>{words}</span></div>'
    )


def _short(text: str, letters: int = 25) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"
