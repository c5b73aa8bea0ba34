"""A network's layers timed on this machine: a table of times that plans are made with."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planners.backends.disk.session import stream_model
from planners.core.backends import LayerRun, StreamedRun
from planners.core.files import write_text
from planners.core.graph import Graph
from planners.core.layer_times import COLUMNS
from planners.core.machine import load_machine
from planners.streaming.planner import plan

MACHINE = "jetson_xavier"
"""Any machine with a storage would do: of its plan only the order is used."""


def measure_layers(
    graph: Graph,
    module: Any = None,
    inputs: Sequence[Any] | None = None,
    weights: str | Path | None = None,
    *,
    repeats: int = 5,
    seed: int = 0,
    threads: int | None = None,
    device: str = "cpu",
) -> StreamedRun:
    """Read, copy and run a graph's layers one after the other, nothing overlapped.

    The first of `repeats + 1` rounds does not count. `layer_rows` makes a table of the rest. The
    graph is taken with four bytes an element. Raises `BadInput` as streaming does.
    """
    graph = graph.with_bytes_per_element(4)
    largest = max((sum(map(graph.size_bytes, op.parameters)) for op in graph.operators), default=0)
    budget = 2 * largest + sum(graph.size_bytes(t) for t in graph.tensors)
    options = {"pipeline": "seq", "times": "roofline", "time_limit": 10.0}
    sequential = plan(graph, load_machine(MACHINE), max(1, budget), options)
    return stream_model(
        sequential,
        module,
        inputs,
        weights,
        seed=seed,
        threads=threads,
        device=device,
        repeats=repeats,
        warm=1,
    )


def layer_rows(run: StreamedRun) -> list[tuple[str, str, str, str]]:
    """Rows of a table of times (`planners.streaming.model.table`), a sample of each repeat."""
    return [_row(layer) for layers in run.runs for layer in layers]


def _row(layer: LayerRun) -> tuple[str, str, str, str]:
    spans = (layer.read, layer.copy, layer.kernel)
    cells = ["" if span is None else f"{span[1] - span[0]:.9f}" for span in spans]
    return (layer.name, *cells)  # type: ignore[return-value]


def write_table(path: str | Path, run: StreamedRun) -> None:
    """Save the times of a run's layers as CSV. Raises `BadInput` where it cannot be written."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(layer_rows(run))
    write_text(path, text.getvalue())
