"""Tables of streamed parameters: what is live by layer, and the facts of a layer."""

from __future__ import annotations

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import Stream
from app.kinds.kind import Row, fact
from app.model.state import operator_selection, tensor_selection
from app.model.units import seconds_text
from planners.core.colours import STREAMED, ink_on
from planners.core.units import format_bytes

MOST = 12
LISTED = 24


def live_stream_rows(shown: DisplayedPlan, stream: Stream, step: int) -> list[Row]:
    """A row for each layer in each ring and for each activation at the cursor, largest first."""
    live: dict[tuple[str, str], tuple[str, str, int, int]] = {}
    for residency in shown.live(step):
        kind, number, ring = stream.acts.get(residency.start_instruction, ("kernel", 0, ""))
        start = min(span.start for span in residency.spans)
        if kind == "kernel":
            live[residency.tensor, ""] = (
                "activation",
                residency.tensor,
                residency.size_bytes,
                start,
            )
            continue
        layer = stream.layers[number]
        role = "running" if number == step else "to be copied" if ring == "cpu" else "read ahead"
        place = next(r for r in stream.rings if r.key == ring)
        name = f"{layer.name}: {role}"
        live[layer.name, ring] = (
            role,
            name,
            layer.size_bytes,
            place.base + layer.offsets[place.key],
        )
    largest = max((size for _, _, size, _ in live.values()), default=1)
    rows = []
    for (name, ring), (role, text, size, at) in live.items():
        operator = name.split(", ")[0]
        key = operator_selection(operator) if ring else tensor_selection(name)
        rows.append(_row(role, text, size, at) | {"key": key, "share": size / largest})
    return sorted(rows, key=lambda row: -float(row["share"]))


def _row(role: str, text: str, size: int, at: int) -> Row:
    colour = STREAMED[role][0]
    cells = [format_bytes(size), f"@{format_bytes(at)}"]
    return {"chip": colour, "mark": "", "ink": ink_on(colour), "text": text, "cells": cells}


def layer_rows(shown: DisplayedPlan, stream: Stream, operator: str) -> list[Row]:
    """Rows on the layers of an operator: times, places, waits."""
    rows: list[Row] = []
    for layer in stream.of_operator(operator)[:LISTED]:
        title = f"step {layer.number + 1}" + (f", {layer.slice}" if layer.slice else "")
        rows.append({**fact(title, ""), "title": True})
        if layer.size_bytes:
            rows.append(fact("parameters streamed", format_bytes(layer.size_bytes)))
            rows.append(fact("read", seconds_text(layer.read_s)))
        if "gpu" in layer.offsets and layer.size_bytes:
            rows.append(fact("copy", seconds_text(layer.copy_s)))
        rows.append(fact("kernel", seconds_text(layer.kernel_s)))
        for ring in stream.rings if layer.size_bytes else ():
            where = "memory" if stream.details.joint else ring.name
            rows.append(fact(f"in the {where}", f"@{format_bytes(layer.offsets[ring.key])}"))
            before = layer.waits.get(ring.key, -1)
            if before >= 0:
                name = stream.layers[before].operator
                row = fact(f"takes bytes of {stream.layers[before].name}", "")
                rows.append({**row, "key": operator_selection(name)})
        for stage in shown.stages:
            if stage.layer == layer.number and stage.wait is not None:
                rows.append(fact(f"{stage.kind} {stage.wait.text}", ""))
    return rows


def largest_rows(stream: Stream) -> list[Row]:
    """The largest layers, which decide how small rings can be."""
    most = sorted(stream.layers, key=lambda layer: (-layer.size_bytes, layer.number))[:MOST]
    colour = STREAMED["read ahead"][0]
    rows = [
        {
            "text": layer.name,
            "chip": colour,
            "cells": [format_bytes(layer.size_bytes)],
            "share": layer.size_bytes / max(1, most[0].size_bytes),
            "key": operator_selection(layer.operator),
        }
        for layer in most
        if layer.size_bytes
    ]
    return [fact("the largest layers decide the least ring; tap one", ""), *rows]


def streams_tensor(graph: sp.Graph, name: str) -> str:
    """The operator that a parameter is streamed for; empty for other tensors."""
    if name not in graph.tensors or graph.tensors[name].kind != "parameter":
        return ""
    return next((op.name for op in graph.operators if name in op.parameters), "")
