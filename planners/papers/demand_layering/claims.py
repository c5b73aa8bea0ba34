"""What the Demand Layering paper states in words and numbers, each beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import mean
from typing import TYPE_CHECKING

from planners.catalogue.networks.darknet import NETWORKS as BUILD
from planners.papers.demand_layering import paper
from planners.papers.demand_layering.pipelines import BASELINE_W
from planners.papers.report import Claim, Row

if TYPE_CHECKING:
    from planners.papers.demand_layering.study import StreamingTables


MIB = 2**20
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


def rms(misses: Sequence[Error]) -> float:
    return sqrt(sum(error.points**2 for error in misses) / len(misses)) if misses else 0.0


def worst(misses: Sequence[Error]) -> Error:
    return max(misses, key=lambda error: abs(error.points))


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


def _means(by_name: dict[str, Row]) -> Iterator[Claim]:
    for (way, key), stated in paper.MEANS.items():
        yield stated.beside(mean(rows[way][key] for rows in by_name.values()))
    extra, beside = (
        {
            name: 1000 * (rows["2s-md"][what] - rows["pre"]["delay_s"])
            for name, rows in by_name.items()
        }
        for what in ("delay_s", "kernel_s")
    )
    largest = max(extra, key=extra.__getitem__)
    yield Claim(
        "2S-MD: delay added, near zero (abstract)",
        f"under {paper.MOST_ADDED_MS:g} ms",
        f"{min(extra.values()):.2f} to {extra[largest]:.2f} ms ({largest})",
        extra[largest] < paper.MOST_ADDED_MS,
        f"{min(beside.values()):.2f} to {max(beside.values()):.2f} ms of it are kernels that the "
        "model slows down beside reads, which no memory undoes; the rest is the first read, which "
        "nothing hides",
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
    others = [name for name in by_name if name not in faster]
    printed = sum(row[2][1] < row[1][1] for row in paper.TABLE_2.values())
    yield Claim(
        "Async is faster than Sync, at half its memory (V-C)",
        f"{printed} of 5 networks",
        f"{len(faster)} of 5",
        len(faster) == printed,
        f"not {', '.join(others)}, by the model" if len(faster) != printed else "",
    )


def _yolov4(rows: Row) -> Iterator[Claim]:
    for way, (size, ms) in paper.YOLOV4.items():
        memory, delay = rows[way]["memory_bytes"] / MIB, 1000 * rows[way]["delay_s"]
        off = abs(memory / size - 1) <= 0.01 and abs(delay / ms - 1) <= paper.WITHIN / 100
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


def more_energy(row: Row) -> dict[str, float]:
    """Percent of energy that each pipeline of a network takes beyond Pre."""
    joules = {way: sum(results["energy"].values()) for way, results in row["pipelines"].items()}
    return {way: 100 * (results / joules["pre"] - 1) for way, results in joules.items()}


def _energy(rows: Sequence[Row]) -> Iterator[Claim]:
    networks = [more_energy(row) for row in rows]
    more = {way: [network[way] for network in networks] for way in paper.PIPELINES}
    least, most = min(map(min, more.values())), max(map(max, more.values()))
    yield Claim(
        "Pre needs the least energy (Figure 16)",
        "yes",
        f"the others {least:.0f} % to {most:.0f} % more",
        least > 0,
        f"a model, and {BASELINE_W:g} W of it are assumed; the figure is an image",
    )
    means = {way: sum(values) / len(values) for way, values in more.items()}
    text = ", ".join(f"{paper.TITLES[way]} {value:.0f} %" for way, value in means.items())
    yield Claim(
        "What the others add is not significant (VII-B)",
        "not significant",
        f"on average {text}",
        max(means.values()) <= SIGNIFICANT,
        f"more than {SIGNIFICANT:g} % counts as significant here",
    )
