"""What `spillway run` says of a plan that streams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

import planners as sp
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text
from planners.core.backends import MEASURE_LAYERS, WRITE_TABLE, StreamedRun
from planners.core.plan import streamed_of


def run_streaming(
    plan: sp.Plan, weights: Path | None, seed: int, repeats: int, device: str, as_json: bool
) -> None:
    """Stream a plan from disk, print what came of it; exit with 1 where outputs differ."""
    threads = threads_of_kernels()
    with Reporter(f"streaming {plan.graph.name}"):
        done = sp.stream(
            plan, weights=weights, seed=seed, device=device, repeats=repeats, threads=threads
        )
    facts = _facts(plan, done)
    sizes = {
        key: size_text(value) for key, value in facts.items() if value and key.endswith("_bytes")
    }
    lines = [print_table({**facts, **sizes})]
    lines += [f"note: {note}" for note in done.notes]
    layers = [_row(layer) for layer in done.layers]
    notes = list(done.notes)
    CommandAnswer(as_json).give({**facts, "notes": notes, "layers": layers}, "\n".join(lines))
    if not done.equal and (done.max_abs_error is None or not done.max_abs_error <= 1e-3):
        raise typer.Exit(1)


def time_layers(graph: sp.Graph, out: Path, repeats: int, as_json: bool) -> None:
    """Time a network's layers on this machine, one after the other, into a table."""
    with Reporter(f"timing the layers of {graph.name}"):
        done = MEASURE_LAYERS.function()(graph, repeats=repeats, threads=threads_of_kernels())
    WRITE_TABLE.function()(out, done)
    facts = {
        "model": graph.name,
        "layers": len(done.layers),
        "repeats": repeats,
        **_engine_seconds(done),
        "direct_io": done.direct_io,
        "out": str(out),
    }
    text = [print_table(facts), *(f"note: {note}" for note in done.notes)]
    CommandAnswer(as_json).give({**facts, "notes": list(done.notes)}, "\n".join(text))


def threads_of_kernels() -> int:
    """A processor is left to the thread that reads, where there are several."""
    return max(1, (os.cpu_count() or 1) - 1)


ENGINES = ("read", "copy", "kernel")
MEASURED = (
    "weight_bytes ring_planned_bytes ring_allocated_bytes ring_resident_bytes held_bytes "
    "staging_bytes activation_planned_bytes activation_peak_bytes rss_growth_bytes delay_s "
    "predicted_delay_s scheduled_delay_s preload_s"
).split()


def _facts(plan: sp.Plan, done: StreamedRun) -> dict[str, Any]:
    return {
        "model": plan.graph.name,
        "bit_exact": done.equal,
        "max_abs_error": done.max_abs_error,
        "pipeline": streamed_of(plan).pipeline,
        **{name: getattr(done, name) for name in MEASURED},
        **_engine_seconds(done),
        "direct_io": done.direct_io,
    }


def _engine_seconds(done: StreamedRun) -> dict[str, float]:
    """What reads, copies and kernels take, of all layers together."""
    return {
        f"{engine}_s": _seconds([getattr(layer, engine) for layer in done.layers])
        for engine in ENGINES
    }


def _seconds(spans: Sequence[tuple[float, float] | None]) -> float:
    return sum(span[1] - span[0] for span in spans if span)


def _row(layer: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"layer": layer.name, "size_bytes": layer.size_bytes}
    for name, planned in zip(ENGINES, layer.planned_s, strict=True):
        span = getattr(layer, name)
        row |= {name: None if span is None else list(span), f"planned_{name}_s": planned}
    return row
