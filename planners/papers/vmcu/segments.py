"""RAM and modulo operations of the paper's layers and modules, by the size of a segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.catalogue import load
from planners.catalogue.vmcu import PREFIX
from planners.core.progress import Clock
from planners.overlap.cost.work import KernelStyle, work
from planners.overlap.options import SEGMENTS
from planners.overlap.place.padding import placed_anew
from planners.overlap.planner import tractable_distances
from planners.overlap.search.chain import turned
from planners.papers.table import table
from planners.papers.vmcu.ways import ways

BYTE = "byte"
"""Segments of one byte: the RAM of whole pixels, which lie at any byte too."""
RULES = (*SEGMENTS, BYTE)


def segment_row(name: str) -> dict[str, Any]:
    """A layer or module in the form of least RAM without repeated work: bytes and modulos."""
    graph = load(PREFIX + name)
    least = min((w for w in ways(graph).values() if not w.extra_macs), key=lambda w: w.size_bytes)
    plain = turned(graph, (least,), least.size_bytes)
    row: dict[str, Any] = {"name": name}
    for rule in RULES:
        layout = placed_anew(graph, plain, rule, Clock(60), tractable_distances(graph))
        row[rule] = {
            "bytes": layout.pool_bytes,
            "modulos": work(graph, layout).modulos,
            "padded": dict(layout.pitches),
        }
    finest = work(graph, plain, KernelStyle(segment_bytes=1)).modulos
    return row | {BYTE: {"bytes": plain.pool_bytes, "modulos": finest, "padded": {}}}


def segments_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Bytes by rule, then thousands of modulo operations."""
    head = ["", *RULES, *(f"{rule}, 1000s" for rule in RULES)]
    body = []
    for row in rows:
        sizes = [f"{row[rule]['bytes']:,}{_padded(row[rule]['padded'])}" for rule in RULES]
        counts = [f"{row[rule]['modulos'] / 1000:,.1f}" for rule in RULES]
        body.append([row["name"], *sizes, *counts])
    return table(head, body, texts=1)


def _padded(pitches: Mapping[str, int]) -> str:
    return f" ({', '.join(sorted(pitches))})" if pitches else ""
