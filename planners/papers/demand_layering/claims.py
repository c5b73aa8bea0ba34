"""What the Demand Layering paper states in words and numbers, each beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any

from planners.catalogue.networks.darknet import NETWORKS as BUILD
from planners.papers.demand_layering import paper
from planners.papers.demand_layering.pipelines import BASELINE_W
from planners.papers.report import Claim, Row

if TYPE_CHECKING:
    from planners.papers.demand_layering.study import StreamingTables


MIB = 2**20
WITHIN = 3.0
"""Points of a percentage: what a delay of the model may be off. Memories may be 1 point off."""
SIGNIFICANT = 20.0
"""Percent of energy; the paper has no number."""


@dataclass(frozen=True, slots=True)
class Error:
    """How far ours is from a percentage of Table II, in points."""

    network: str
    pipeline: str
    points: float


def errors(rows: Sequence[Row], key: str) -> list[Error]:
    """Errors of `added` (delay) or `saved` (memory), one a network and pipeline."""
    return [
        Error(row["network"], way, values[key] - values[f"paper_{key}"])
        for row in rows
        for way, values in row["pipelines"].items()
        if way != "pre"
    ]


def rms(found: Sequence[Error]) -> float:
    return sqrt(sum(error.points**2 for error in found) / len(found)) if found else 0.0


def worst(found: Sequence[Error]) -> Error:
    return max(found, key=lambda error: abs(error.points))


def claims(tables: StreamingTables) -> list[Claim]:
    """All statements that these tables can decide."""
    statements: list[Claim] = []
    by_name = {row["network"]: row["pipelines"] for row in tables.pipelines}
    if set(by_name) == set(paper.NETWORKS):
        statements += _means(by_name)
        statements += _orders(by_name)
    if "yolov4" in by_name:
        statements += _yolov4(by_name["yolov4"])
    statements += _sections(tables)
    statements += _resolutions(tables)
    if tables.pipelines:
        statements += _energy(tables.pipelines)
    return statements


def _mean(by_name: dict[str, Row], way: str, key: str) -> float:
    values = [rows[way][key] for rows in by_name.values()]
    return float(sum(values) / len(values))


def _means(by_name: dict[str, Row]) -> Iterator[Claim]:
    saved, added = paper.MEAN_2S
    for what, key, stated in (("memory saved", "saved", saved), ("delay added", "added", added)):
        ours = _mean(by_name, "2s", key)
        margin = 1.0 if key == "saved" else WITHIN
        text = f"2S: {what}, on average (abstract)"
        yield Claim(text, f"{stated:.1f} %", f"{ours:.1f} %", abs(ours - stated) <= margin)
    saved, most_ms = paper.MEAN_2S_MD
    ours = _mean(by_name, "2s-md", "saved")
    yield Claim(
        "2S-MD: memory saved, on average (abstract)",
        f"{saved:.1f} %",
        f"{ours:.1f} %",
        abs(ours - saved) <= 1.0,
        "where the sweep first finds the least delay, which hangs on single layers' times",
    )
    extra = {
        name: 1000 * (rows["2s-md"]["delay_s"] - rows["pre"]["delay_s"])
        for name, rows in by_name.items()
    }
    largest = max(extra, key=lambda name: extra[name])
    beside = [
        1000 * (rows["2s-md"]["kernel_s"] - rows["pre"]["delay_s"]) for rows in by_name.values()
    ]
    yield Claim(
        "2S-MD: delay added, near zero (abstract)",
        f"under {most_ms:g} ms",
        f"{min(extra.values()):.2f} to {extra[largest]:.2f} ms ({largest})",
        extra[largest] < most_ms,
        f"{min(beside):.2f} to {max(beside):.2f} ms of it are kernels that the model slows down "
        "beside reads, which no memory undoes; the rest is the first read, which nothing hides",
    )


def _orders(by_name: dict[str, Row]) -> Iterator[Claim]:
    slower = [n for n, rows in by_name.items() if rows["2s"]["delay_s"] > rows["async"]["delay_s"]]
    yield Claim(
        "2S is slower than Async, at half its memory (VI)",
        "5 of 5 networks",
        f"{len(slower)} of 5",
        len(slower) == 5,
    )
    faster = [n for n, rows in by_name.items() if rows["async"]["added"] < rows["sync"]["added"]]
    printed = sum(row[2][1] < row[1][1] for row in paper.TABLE_2.values())
    yield Claim(
        "Async is faster than Sync, at half its memory (V-C)",
        f"{printed} of 5 networks",
        f"{len(faster)} of 5",
        len(faster) == printed,
        "" if len(faster) == printed else f"not {_others(by_name, faster)}, by the model",
    )


def _others(names: Any, few: Sequence[str]) -> str:
    return ", ".join(name for name in names if name not in few)


def _yolov4(rows: Row) -> Iterator[Claim]:
    for way, (size, ms) in paper.YOLOV4.items():
        memory, delay = rows[way]["memory_bytes"] / MIB, 1000 * rows[way]["delay_s"]
        off = abs(memory / size - 1) <= 0.01 and abs(delay / ms - 1) <= WITHIN / 100
        yield Claim(
            f"YOLOv4, {paper.TITLES[way]} (I, VII-B)",
            f"{size} MB, {ms} ms",
            f"{memory:.1f} MB, {delay:.1f} ms",
            off,
            _memory_remark(way, memory, size),
        )


def _memory_remark(way: str, memory: float, size: float) -> str:
    if abs(memory / size - 1) <= 0.01:
        return ""
    return f"memory {memory - size:+.1f} MB: where the least delay is first reached, by the sweep"


def _sections(tables: StreamingTables) -> Iterator[Claim]:
    for row in tables.sizes:
        if row["network"] != "yolov4":
            continue
        kinds = [layer.kind for layer in BUILD["yolov4"]().layers]
        ours = {kind: kinds.count(kind) for kind in paper.YOLOV4_SECTIONS}
        text = ", ".join(f"{count} {kind}" for kind, count in paper.YOLOV4_SECTIONS.items())
        mine = ", ".join(f"{count} {kind}" for kind, count in ours.items())
        same = ours == paper.YOLOV4_SECTIONS
        yield Claim("YOLOv4's layers (III-A)", text, "the same" if same else mine, same)
        counts = (row["small"], row["largest"])
        yield Claim(
            "YOLOv4: layers under 0.1 MB; of the largest size (III-A)",
            f"{paper.SMALL_LAYERS}; {paper.LARGEST_LAYERS}",
            f"{counts[0]}; {counts[1]}",
            counts == (paper.SMALL_LAYERS, paper.LARGEST_LAYERS),
        )


def _resolutions(tables: StreamingTables) -> Iterator[Claim]:
    rows = tables.resolutions
    for row in rows:
        if row["network"] == "yolov4" and row["resolution"] == 224:
            yield Claim(
                "YOLOv4 at 224: kernels take less than reads (III-A)",
                "yes",
                f"{1000 * row['pre_s']:.1f} against {1000 * row['read_s']:.1f} ms",
                row["pre_s"] < row["read_s"],
            )
    small = [row for row in rows if row["resolution"] == 224]
    if not small:
        return
    far = [row["network"] for row in small if row["2s-md"]["delay_s"] > 1.05 * row["pre_s"]]
    yield Claim(
        "2S-MD fails to be near Pre at 224 (VII-B; P6 has no 224)",
        "all",
        f"{len(far)} of {len(small)}",
        len(far) == len(small),
        "more than 5 % above it",
    )
    yield _falling(rows)


def _falling(rows: Sequence[Row]) -> Claim:
    """Whether 2S-MD's memory falls as images grow, where kernels take longer than reads."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    falls = []
    for name in names:
        of = [r for r in rows if r["network"] == name and r["pre_s"] > r["read_s"]]
        if all(b["near_bytes"] <= a["near_bytes"] for a, b in pairwise(of)):
            falls.append(name)
    return Claim(
        "2S to 2S-MD takes less memory, the larger the image (Figure 15)",
        "a decreasing trend",
        f"so in {len(falls)} of {len(names)}, where kernels take longer than reads",
        len(falls) == len(names),
        "within 1 % of the least delay; on smaller images reads bind, and no memory helps",
    )


def _energy(rows: Sequence[Row]) -> Iterator[Claim]:
    more: dict[str, list[float]] = {}
    for row in rows:
        joules = {
            way: sum(pipeline["energy"].values()) for way, pipeline in row["pipelines"].items()
        }
        for way in paper.PIPELINES:
            more.setdefault(way, []).append(100 * (joules[way] / joules["pre"] - 1))
    least, most = min(map(min, more.values())), max(map(max, more.values()))
    yield Claim(
        "Pre needs the least energy (Figure 16)",
        "yes",
        f"the others {least:.0f} % to {most:.0f} % more",
        least > 0,
        f"a model, and {BASELINE_W:g} W of it are assumed; the figure is an image",
    )
    mean = {way: sum(values) / len(values) for way, values in more.items()}
    text = ", ".join(f"{paper.TITLES[way]} {value:.0f} %" for way, value in mean.items())
    yield Claim(
        "What the others add is not significant (VII-B)",
        "not significant",
        f"on average {text}",
        max(mean.values()) <= SIGNIFICANT,
        f"more than {SIGNIFICANT:g} % is taken for significant here",
    )
