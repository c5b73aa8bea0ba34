"""Result cards: what the plan costs, how good it is known to be, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from app.glossary import marked
from app.shown import Shown
from app.stream_waits import stalled
from app.streaming import Stream
from app.views.units import joules_text, seconds_text
from planners.units import format_bytes

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
.former .card { opacity: .55; border-style: dashed; }
.preview .card { border-style: dashed; border-color: #0072B2; }
.badge { flex: 0 1 auto; border-left: 5px solid; }
"""
SPILL = "non-compulsory traffic: bytes that leave or come back only for want of memory"
AGAIN = "multiply-accumulates that are done more than once, so that less need be kept"
OWED = "compulsory: each input loaded once, each output stored once"
LATENCY = "from the scoreboard: engines overlap where data and addresses allow it"
DELAY = "from the first read (once all is loaded, where it is preloaded) to the last kernel"
SCOPE = "bound and status hold "
TERMS = {
    "proven": "proven",
    "heuristic": "heuristic",
    "gap": "gap",
    "spill traffic": "spill traffic",
    "traffic": "traffic",
    "owed": "compulsory traffic",
    "peak": "peak",
    "RAM": "circular pool",
    "latency": "latency",
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


def badge(shown: Shown) -> tuple[str, str, str]:
    """Sign, words and colour of how good the plan is known to be, in what was minimised first."""
    claims, chosen = shown.plan.claims, shown.plan.options
    of = "traffic " if chosen.get("objective") == "traffic_then_latency" else ""
    if claims.status == "optimal":
        sign, word, colour = BADGES["optimal"]
        return sign, of + word, colour
    if shown.pool and chosen.get("objective") == "latency":
        sign, word, colour = BADGES["heuristic"]  # bounds are of RAM: of latency none is known
        return sign, f"{word} for latency", colour
    exact = chosen.get("replacement", "optimal") == "optimal" and chosen.get("schedule") != "dnc"
    exact = exact and not (chosen.get("online") or chosen.get("baseline"))
    sign, word, colour = BADGES["feasible" if exact else "heuristic"]
    return sign, f"{of}{word}, gap {claims.gap:.1%}", colour


def scope(shown: Shown) -> str:
    """What the proof or the gap holds for, as the planner's notes tell it."""
    held = [note for note in shown.plan.notes if note.startswith(SCOPE)]
    if not held:
        return ""
    return "over all orders" if "all schedules" in held[0] else "for this order"


def proof_text(shown: Shown) -> str:
    """The badge's hover: what was made least, what is proven of it, by what, in which time."""
    claims = shown.plan.claims
    aim = "peak memory" if shown.plan.options.get("objective") == "peak" else "spill traffic"
    aim = "off-chip traffic" if shown.groups else "RAM" if shown.pool else aim
    aim = "memory of rings and activations" if shown.stream else aim
    most = f"at most {claims.gap:.1%} of it could be saved"
    known = "proven least" if claims.status == "optimal" else most
    words = [f"{aim}: {known}", *shown.plan.notes]
    return "\n".join([*words, f"{claims.solver}, {seconds_text(claims.plan_s)}"])


def cards_html(shown: Shown, former: bool = False) -> str:
    """The strip of cards above the views; faint where they are of the former choice."""
    trace, claims, plan = shown.trace, shown.plan.claims, shown.plan
    sign, words, colour = badge(shown)
    held = " · ".join(filter(None, [scope(shown), seconds_text(claims.plan_s)]))
    energy = max(trace.energy.items(), key=lambda item: item[1], default=("", 0.0))
    hand = ", by hand" if shown.moved else ""
    latency = _card(seconds_text(trace.makespan_s), "latency", "latency", title=LATENCY)
    items = [
        _card(
            plan.graph.name,
            _parts(shown) if shown.stream else f"{plan.planner}{hand} · {_parts(shown)}",
            "name",
            title=f"{plan.graph.name}: {len(plan.graph.operators)} operators",
        ),
        _card(f"{sign} {words}", held, "badge", f"border-left-color: {colour}", proof_text(shown)),
        *(stream_cards(shown, shown.stream) if shown.stream else _of_memory(shown)),
        *([] if shown.stream else [latency]),
        _card(joules_text(trace.energy_j), f"energy, most {energy[0]}", "energy"),
    ]
    return f'<div class="cards{" former" if former else ""}">{"".join(items)}</div>'


def _of_memory(shown: Shown) -> list[str]:
    """What moves, and the most that is held; of a pool, its RAM and the work that is repeated."""
    report, budget = shown.report, shown.plan.budget_bytes
    owed = f"traffic, {format_bytes(report.compulsory_bytes)} owed"
    traffic = _card(format_bytes(report.traffic_bytes), owed, "traffic", title=OWED)
    if shown.pool is not None:
        size, again = shown.pool.size_bytes, report.macs - shown.graph.macs
        share = f"RAM, {size / budget:.0%} of {format_bytes(budget)}"
        more = f"MACs again, {again / shown.graph.macs:.1%} of the work" if again else "MACs again"
        return [
            _card(format_bytes(size), share, "peak", title=f"the pool takes {size:,} bytes"),
            _card(f"{again:,}", more, "extra", title=AGAIN),
            traffic,
        ]
    share = report.peak_bytes / budget
    held = f"peak, {share:.0%} of {format_bytes(budget)}"
    return [
        _card(format_bytes(report.noncompulsory_bytes), "spill traffic", "extra", title=SPILL),
        traffic,
        _card(format_bytes(report.peak_bytes), held, "peak"),
    ]


def stream_cards(shown: Shown, stream: Stream) -> list[str]:
    """Memory by its parts, the delay above all kernels alone, and what kernels waited for."""
    size, budget = stream.memory_bytes, shown.plan.budget_bytes
    rings = " + ".join(f"{format_bytes(ring.size_bytes)} {ring.name}" for ring in stream.rings)
    held = f"{format_bytes(stream.activation_bytes)} activations"
    held = f"{size:,} bytes: {rings}" + ("" if stream.joint else f" + {held}")
    share = f"memory, {size / budget:.0%} of {format_bytes(budget)}"
    late = f"{stream.overhead:+.1%} to all kernels alone"
    about = [f"{DELAY}; {late}, which take {seconds_text(stream.kernel_s)}", stream.times]
    label = f"delay, {stream.overhead:+.1%} to kernels"
    if stream.preload_s:
        about.append(f"preloading before it: {seconds_text(stream.preload_s)}")
    if stream.bound_s is not None:
        label = f"delay, at most {seconds_text(stream.bound_s)}"
        about.append(f"guaranteed: no later than {seconds_text(stream.bound_s)}")
    waits = stalled(shown, stream)
    told = ", ".join(f"{cause} {seconds_text(found)}" for cause, found in waits.items())
    ring_bytes = format_bytes(stream.ring_bytes)
    parts = f"{'both' if stream.joint else 'rings'}, of {format_bytes(model_bytes(stream))} read"
    return [
        _card(format_bytes(size), share, "peak", title=held),
        _card(ring_bytes, parts, "rings", title=held),
        _card(seconds_text(stream.delay_s), label, "latency", title="\n".join(about)),
        _card(seconds_text(sum(waits.values())), "kernels wait", "waits", title=told or "never"),
    ]


def model_bytes(stream: Stream) -> int:
    """All bytes of parameters that are read."""
    return sum(layer.size_bytes for layer in stream.layers)


def _parts(shown: Shown) -> str:
    """How many operators there are, or in how many fused groups."""
    if shown.groups:
        return f"{len(shown.groups)} groups"
    if shown.pool:
        return f"{len(shown.pool.runs)} runs"
    if shown.stream:
        return f"{shown.stream.pipeline} · {len(shown.stream.layers)} layers"
    return f"{len(shown.graph.operators)} operators"


def preview_html(shown: Shown, preview: Mapping[str, Any]) -> str:
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
