"""The tables of the Demand Layering comparison as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planners.papers.demand_layering.claims import MIB
from planners.papers.demand_layering.fronts import LEVELS
from planners.papers.demand_layering.paper import PIPELINES, TITLES
from planners.papers.demand_layering.pipelines import QUANTILES
from planners.papers.report import Claim, Row, some_of, table, yes

MOST_POINTS = 12
PARTS = ("compute", "scratchpad", "host", "storage", "baseline")


def size(value: float | None) -> str:
    """MB as the paper has them, of 1024² bytes."""
    return "–" if value is None else f"{value / MIB:,.1f}"


def milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:,.1f}"


def percent(value: float) -> str:
    return f"{value:+.1f}"


def claims(found: Iterable[Claim]) -> str:
    head = ["the paper states", "paper", "ours", "agrees", "remark"]
    return table(head, [[c.what, c.paper, c.ours, yes(c.agrees), c.remark] for c in found], 5)


def table_1(rows: Sequence[Row]) -> str:
    """Sizes and layers, ours and the paper's."""
    head = ["network", "size, MB", "paper", "layers", "paper", "largest layer, MB", "paper"]
    body = []
    for row in rows:
        stored, layers, largest = row["printed"]
        ours = [size(row["size_bytes"]), str(row["layers"]), size(row["largest_bytes"])]
        both = zip(ours, (f"{stored:.1f}", str(layers), f"{largest:.1f}"), strict=True)
        body.append([row["name"], *(cell for pair in both for cell in pair)])
    return table(head, body)


def table_2(rows: Sequence[Row], key: str) -> str:
    """One half of Table II, ours / the paper's: `saved` or `added`."""
    sign = -1 if key == "saved" else 1
    body = []
    for row in rows:
        ways = [row["pipelines"][way] for way in PIPELINES]
        cells = [f"{sign * way[key]:+.1f} / {sign * way[f'paper_{key}']:+.1f}" for way in ways]
        body.append([row["network"], *cells])
    return table(["network", *(TITLES[way] for way in PIPELINES)], body)


def pipelines(rows: Sequence[Row]) -> str:
    """Figure 12: memory and delay."""
    ways = ("pre", *PIPELINES)
    body = []
    for row in rows:
        cells = [row["pipelines"][way] for way in ways]
        told = [f"{size(c['memory_bytes'])} MB, {milliseconds(c['delay_s'])} ms" for c in cells]
        body.append([row["network"], *told])
    return table(["network", *(TITLES[way] for way in ways)], body)


def energy(rows: Sequence[Row]) -> str:
    """Figure 16: joules of one inference by where they go."""
    head = ["network", "pipeline", "arithmetic", "GPU's DRAM", "CPU's DRAM", "drive"]
    body = []
    for row in rows:
        sums = {way: sum(c["energy"].values()) for way, c in row["pipelines"].items()}
        for way, values in row["pipelines"].items():
            cells = [f"{values['energy'].get(part, 0.0):.3f}" for part in PARTS]
            more = percent(100 * (sums[way] / sums["pre"] - 1))
            body.append([row["network"], TITLES[way], *cells, f"{sums[way]:.2f}", more])
    return table([*head, "baseline", "sum, J", "% more"], body, texts=2)


def fronts(rows: Sequence[Row]) -> str:
    """The exact search beside the sweep."""
    head = ["network", "pipeline", "breakpoints", "front", "delay rises at", "s", "sweep's steps"]
    head += ["s", "same or better", "least delay at, MB", "sweep at, MB", "most saved, MB"]
    head += ["most saved, points"]
    body = []
    for row in rows:
        for way in ("2s", "async"):
            it = row[way]
            body.append(
                [
                    row["network"],
                    TITLES[way],
                    str(it["breakpoints"]),
                    str(len(it["front"])),
                    str(it["rises"]),
                    f"{it['seconds']:.2f}",
                    str(it["steps"]),
                    f"{it['step_seconds']:.2f}",
                    yes(it["no_worse"]),
                    size(it["least"][0]),
                    size(it["step_least"][0]),
                    f"{it['less_bytes'] / MIB:.1f}",
                    f"{it['less_added']:.2f}",
                ]
            )
    return table(head, body, texts=2)


def curves(rows: Sequence[Row]) -> str:
    """Points of the exact front of 2S and Async, MB at percent of delay added."""
    body = []
    for row in rows:
        for way in ("2s", "async", "separate"):
            title = TITLES.get(way, "Async, two sizes")
            points = [
                f"{size(memory)}: {added:+.1f}"
                for memory, added in some_of(row[way]["front"], MOST_POINTS)
            ]
            body.append([row["network"], title, ", ".join(points)])
    return table(["network", "rings", "MB: % of delay added"], body, texts=3)


def rings(rows: Sequence[Row]) -> str:
    """What separate sizes of the two rings gain over equal ones, and a ring without an end."""
    head = ["network", "pairs of sizes", "s", "equal: least delay at, MB", "separate, MB"]
    head += ["most saved, MB", "most saved, points", "no end, 2S: most saved, MB", "points"]
    body = []
    for row in rows:
        apart, endless = row["separate"], row["twice"]
        body.append(
            [
                row["network"],
                f"{apart['pairs']:,}",
                f"{apart['seconds']:.2f}",
                size(row["async"]["least"][0]),
                size(apart["least"][0]),
                f"{apart['less_bytes'] / MIB:.1f}",
                f"{apart['less_added']:.2f}",
                f"{endless['less_bytes'] / MIB:.1f}",
                f"{endless['less_added']:.2f}",
            ]
        )
    return table(head, body)


def levels(rows: Sequence[Row]) -> str:
    """The least MB of rings within so many percent of delay."""
    names = {"2s": "2S", "twice": "2S, no end", "async": "Async, equal", "separate": "separate"}
    head = [f"{title} ≤ {level:g} %" for title in names.values() for level in LEVELS]
    body = [
        [row["network"], *(size(row["levels"][k][f"{n:g}"]) for k in names for n in LEVELS)]
        for row in rows
    ]
    return table(["network", *head], body)


def resolutions(rows: Sequence[Row]) -> str:
    head = ["network", "image", "reads, ms", "copies, ms", "Pre, ms", "2S, ms", "2S-MD, ms"]
    head += ["2S, MB", "2S-MD, MB", "exact, MB", "within 1 %, MB"]
    body = []
    for row in rows:
        cells = [row["read_s"], row["copy_s"], row["pre_s"]]
        cells += [row[way]["delay_s"] for way in ("2s", "2s-md")]
        sizes = [row[way]["memory_bytes"] for way in ("2s", "2s-md", "exact")]
        body.append(
            [
                row["network"],
                str(row["resolution"]),
                *map(milliseconds, cells),
                *map(size, [*sizes, row["near_bytes"]]),
            ]
        )
    return table(head, body, texts=1)


def sizes(rows: Sequence[Row]) -> str:
    """Figure 5: quantiles over layers."""
    ranks = [f"{100 * q:g} %" if q < 1 else "largest" for q in QUANTILES]
    body = []
    for row in rows:
        body.append([row["network"], "size, MB", *(f"{v / MIB:.2f}" for v in row["size_bytes"])])
        for key, title in (("read_s", "read"), ("copy_s", "copy"), ("kernel_s", "kernel")):
            body.append([row["network"], f"{title}, ms", *(f"{1000 * v:.2f}" for v in row[key])])
    return table(["network", "of a layer", *ranks, "all"], body, texts=2)


def bounds(rows: Sequence[Row]) -> str:
    head = ["network", "pipeline", "times", "planned, ms", "median", "95 %", "largest drawn"]
    head += ["bound", "draws", "above", "bound / largest"]
    body = []
    for row in rows:
        for way in ("each", "together", "long-tailed"):
            it = row[way]
            cells = [it[k] for k in ("delay_s", "median_s", "p95_s", "largest_s", "bound_s")]
            ratio = f"{it['bound_s'] / it['largest_s']:.3f}"
            counts = [f"{it['draws']:,}", str(it["above"]), ratio]
            name = [row["network"], TITLES[row["pipeline"]], way]
            body.append([*name, *map(milliseconds, cells), *counts])
    return table(head, body, texts=3)


def slices(rows: Sequence[Row]) -> str:
    """Fractions of the largest layer, then the planner's own choice and the bound."""
    head = ["network", "slices", "layers", "largest, MB", "ring, MB", "% added"]
    head += ["no end, % added", "least ring within 5 %, MB"]
    body = []
    for row in rows:
        for way in row["ways"]:
            cut = "whole" if way["slices"] == 1 else f"largest / {way['slices']}"
            sizes = [size(way["largest_bytes"]), size(way["ring_bytes"])]
            added = [percent(way["added"]), percent(way["twice"])]
            name = [row["network"], cut, str(way["layers"])]
            body.append([*name, *sizes, *added, size(way["within"])])
        made = row["planned"]
        told = [str(made["layers"]), "", size(made["ring_bytes"]), percent(made["added"])]
        body.append([row["network"], "**each operator its own**", *told, "", ""])
        body.append([row["network"], "*bound on all slices*", *[""] * 3, percent(row["bound"])])
        body[-1] += ["", ""]
    return table(head, body, texts=2)


def joint(rows: Sequence[Row]) -> str:
    head = ["network", "activations, MB", "at the delay of", "% added", "ring alone", "beside them"]
    head += ["in one memory", "bound", "proven", "saved", "beyond activations"]
    body = []
    for row in rows:
        for level, it in row["levels"].items():
            least, bound = it["joint_bytes"], it["joint_bound"]
            saved = 1 - (least or bound) / it["apart_bytes"]
            body.append(
                [
                    row["network"],
                    size(row["activation_bytes"]),
                    level,
                    percent(100 * (it["delay_s"] / row["pre_s"] - 1)),
                    size(it["ring_bytes"]),
                    size(it["apart_bytes"]),
                    size(least),
                    size(bound),
                    yes(least == bound),
                    f"{saved:.0%}",
                    "–" if least is None else f"{(least - row['activation_bound']) / MIB:.2f}",
                ]
            )
    return table(head, body)
