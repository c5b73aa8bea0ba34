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
        "read_s": _seconds([layer.read for layer in done.layers]),
        "copy_s": _seconds([layer.copy for layer in done.layers]),
        "kernel_s": _seconds([layer.kernel for layer in done.layers]),
        "direct_io": done.direct_io,
        "out": str(out),
    }
    text = [print_table(facts), *(f"note: {note}" for note in done.notes)]
    CommandAnswer(as_json).give({**facts, "notes": list(done.notes)}, "\n".join(text))


def threads_of_kernels() -> int:
    """A processor is left to the thread that reads, where there are several."""
    return max(1, (os.cpu_count() or 1) - 1)


def _facts(plan: sp.Plan, done: StreamedRun) -> dict[str, Any]:
    return {
        "model": plan.graph.name,
        "bit_exact": done.equal,
        "max_abs_error": done.max_abs_error,
        "pipeline": streamed_of(plan).pipeline,
        "weight_bytes": done.weight_bytes,
        "ring_planned_bytes": done.ring_planned_bytes,
        "ring_allocated_bytes": done.ring_allocated_bytes,
        "ring_resident_bytes": done.ring_resident_bytes,
        "held_bytes": done.held_bytes,
        "staging_bytes": done.staging_bytes,
        "activation_planned_bytes": done.activation_planned_bytes,
        "activation_peak_bytes": done.activation_peak_bytes,
        "rss_growth_bytes": done.rss_growth_bytes,
        "delay_s": done.delay_s,
        "predicted_delay_s": done.predicted_delay_s,
        "scheduled_delay_s": done.scheduled_delay_s,
        "preload_s": done.preload_s,
        "read_s": _seconds([layer.read for layer in done.layers]),
        "copy_s": _seconds([layer.copy for layer in done.layers]),
        "kernel_s": _seconds([layer.kernel for layer in done.layers]),
        "direct_io": done.direct_io,
    }


def _seconds(spans: Sequence[tuple[float, float] | None]) -> float:
    return sum(span[1] - span[0] for span in spans if span)


def _row(layer: Any) -> dict[str, Any]:
    names = ("read", "copy", "kernel")
    row: dict[str, Any] = {"layer": layer.name, "size_bytes": layer.size_bytes}
    for name, planned in zip(names, layer.planned_s, strict=True):
        span = getattr(layer, name)
        row |= {name: None if span is None else list(span), f"planned_{name}_s": planned}
    return row
