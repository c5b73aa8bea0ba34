"""The Demand Layering comparison as Markdown: its tables as columns, and what it shows first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from planners.papers.demand_layering.claims import (
    MIB,
    claims,
    errors,
    more_energy,
)
from planners.papers.demand_layering.fronts import LEVELS
from planners.papers.demand_layering.paper import PIPELINES, TITLES
from planners.papers.demand_layering.pipelines import QUANTILES, WAYS
from planners.papers.demand_layering.study import StreamingStudy, StreamingTables
from planners.papers.demand_layering.summary import accuracy, summary
from planners.papers.report import (
    NETWORK,
    Column,
    ReportTable,
    Row,
    blocks_of,
    how,
    in_units,
    report_of,
    yes,
)
from planners.streaming.model.times import KERNEL_S
from planners.study.long_tables import ReportPage, some_of

MOST_POINTS = 12
ENERGY = {
    "arithmetic": "compute",
    "GPU's DRAM": "scratchpad",
    "CPU's DRAM": "host",
    "drive": "storage",
    "baseline": "baseline",
}
"""Where energy goes, by the head of its column."""
RINGS = {"2s": "2S", "twice": "2S, no end", "async": "Async, equal", "separate": "separate"}
mebibytes, milliseconds = in_units(MIB, 1), in_units(1e-3, 1)
mebibytes_or_blank = in_units(MIB, 1, "")
percent = "{:+.1f}"


# ---- rows of rows --------------------------------------------------------------------------------


def _ways(*names: str) -> Callable[[Row], Iterator[Row]]:
    """A line for each of these parts of a row."""
    return lambda row: ({"network": row["network"], "way": way} | row[way] for way in names)


def _title(line: Row) -> str:
    return TITLES.get(line["way"], "Async, two sizes")


def _beside(way: str, key: str) -> Callable[[Row], str]:
    """One of Table II, ours / the paper's: `saved` memory is less, `added` delay more."""
    sign = -1 if key == "saved" else 1

    def text(row: Row) -> str:
        values = row["pipelines"][way]
        return f"{sign * values[key]:+.1f} / {sign * values[f'paper_{key}']:+.1f}"

    return text


def _memory_and_delay(pipeline: Row) -> str:
    return f"{mebibytes(pipeline['memory_bytes'])} MB, {milliseconds(pipeline['delay_s'])} ms"


def _energy_lines(row: Row) -> Iterator[Row]:
    """Joules by part, and in all; parts in which none goes have 0."""
    more = more_energy(row)
    for way, results in row["pipelines"].items():
        line = {"network": row["network"], "way": way, "more": more[way]}
        line |= {"sum": sum(results["energy"].values())}
        yield line | {part: results["energy"].get(part, 0.0) for part in ENERGY.values()}


def _points(line: Row) -> str:
    points = some_of(line["front"], MOST_POINTS)
    return ", ".join(f"{mebibytes(memory)}: {added:+.1f}" for memory, added in points)


def _size_lines(row: Row) -> Iterator[Row]:
    for key, what, form in (
        ("size_bytes", "size, MB", in_units(MIB, 2)),
        ("read_s", "read, ms", in_units(1e-3, 2)),
        ("copy_s", "copy, ms", in_units(1e-3, 2)),
        ("kernel_s", "kernel, ms", in_units(1e-3, 2)),
    ):
        cells = zip((*(f"{q:g}" for q in QUANTILES), "all"), map(form, row[key]), strict=True)
        yield {"network": row["network"], "what": what, **dict(cells)}


def _slice_lines(row: Row) -> Iterator[Row]:
    """Fractions of the largest layer, then the planner's own choice and the bound."""
    for way in row["ways"]:
        cut = "whole" if way["slices"] == 1 else f"largest / {way['slices']}"
        within = mebibytes(way["within"])
        yield way | {"network": row["network"], "cut": cut, "within": within}
    blank = {"network": row["network"], "layers": "", "within": ""}
    yield blank | {"cut": "**each operator its own**"} | row["planned"]
    yield blank | {"cut": "*bound on all slices*", "added": row["bound"]}


def _joint_lines(row: Row) -> Iterator[Row]:
    for level, level_results in row["levels"].items():
        least, bound = level_results["joint_bytes"], level_results["joint_bound"]
        yield (
            row
            | level_results
            | {
                "level": level,
                "added": 100 * (level_results["delay_s"] / row["pre_s"] - 1),
                "proven": least == bound,
                "saved": 1 - (least or bound) / level_results["apart_bytes"],
                "beyond": None if least is None else least - row["activation_bound"],
            }
        )


# ---- tables --------------------------------------------------------------------------------------

PIPELINE = Column("pipeline", _title)
CLAIMS = ReportTable(
    "claims",
    Column("the paper states", lambda claim: claim.what),
    Column("paper", lambda claim: claim.paper),
    Column("ours", lambda claim: claim.ours),
    Column("agrees", lambda claim: claim.agrees, yes),
    Column("remark", lambda claim: claim.remark),
    texts=5,
)
TABLES = (
    ReportTable(
        "table_1",
        Column("network", "name"),
        Column("size, MB", "size_bytes", mebibytes),
        Column("paper", lambda row: row["printed"][0], "{:.1f}"),
        Column("layers", "layers"),
        Column("paper", lambda row: row["printed"][1]),
        Column("largest layer, MB", "largest_bytes", mebibytes),
        Column("paper", lambda row: row["printed"][2], "{:.1f}"),
    ),
    *(
        ReportTable(
            key,
            NETWORK,
            *(Column(TITLES[way], _beside(way, key)) for way in PIPELINES),
            rows="pipelines",
        )
        for key in ("saved", "added")
    ),
    ReportTable(
        "pipelines",
        NETWORK,
        *(Column(title, ("pipelines", way), _memory_and_delay) for way, title in TITLES.items()),
    ),
    ReportTable(
        "energy",
        NETWORK,
        PIPELINE,
        *(Column(head, part, "{:.3f}") for head, part in ENERGY.items()),
        Column("sum, J", "sum", "{:.2f}"),
        Column("% more", "more", percent),
        rows="pipelines",
        texts=2,
        each=_energy_lines,
    ),
    ReportTable(
        "fronts",
        NETWORK,
        PIPELINE,
        Column("breakpoints", "breakpoints"),
        Column("front", lambda line: len(line["front"])),
        Column("delay rises at", "rises"),
        Column("s", "seconds", "{:.2f}"),
        Column("sweep's steps", "steps"),
        Column("s", "step_seconds", "{:.2f}"),
        Column("same or better", "no_worse", yes),
        Column("least delay at, MB", lambda line: line["least"][0], mebibytes),
        Column("sweep at, MB", lambda line: line["step_least"][0], mebibytes),
        Column("most saved, MB", "less_bytes", in_units(MIB, 1)),
        Column("most saved, points", "less_added", "{:.2f}"),
        texts=2,
        each=_ways("2s", "async"),
    ),
    ReportTable(
        "curves",
        NETWORK,
        Column("rings", _title),
        Column("MB: % of delay added", _points),
        rows="fronts",
        texts=3,
        each=_ways("2s", "async", "separate"),
    ),
    ReportTable(
        "rings",
        NETWORK,
        Column("pairs of sizes", ("separate", "pairs"), "{:,}"),
        Column("s", ("separate", "seconds"), "{:.2f}"),
        Column("equal: least delay at, MB", lambda row: row["async"]["least"][0], mebibytes),
        Column("separate, MB", lambda row: row["separate"]["least"][0], mebibytes),
        Column("most saved, MB", ("separate", "less_bytes"), mebibytes),
        Column("most saved, points", ("separate", "less_added"), "{:.2f}"),
        Column("no end, 2S: most saved, MB", ("twice", "less_bytes"), mebibytes),
        Column("points", ("twice", "less_added"), "{:.2f}"),
        rows="fronts",
    ),
    ReportTable(
        "levels",
        NETWORK,
        *(
            Column(f"{title} ≤ {level:g} %", ("levels", way, f"{level:g}"), mebibytes)
            for way, title in RINGS.items()
            for level in LEVELS
        ),
        rows="fronts",
    ),
    ReportTable(
        "resolutions",
        NETWORK,
        Column("image", "resolution"),
        Column("reads, ms", "read_s", milliseconds),
        Column("copies, ms", "copy_s", milliseconds),
        Column("Pre, ms", "pre_s", milliseconds),
        Column("2S, ms", ("2s", "delay_s"), milliseconds),
        Column("2S-MD, ms", ("2s-md", "delay_s"), milliseconds),
        Column("2S, MB", ("2s", "memory_bytes"), mebibytes),
        Column("2S-MD, MB", ("2s-md", "memory_bytes"), mebibytes),
        Column("exact, MB", ("exact", "memory_bytes"), mebibytes),
        Column("within 1 %, MB", "near_bytes", mebibytes),
    ),
    ReportTable(
        "sizes",
        NETWORK,
        Column("of a layer", "what"),
        *(Column(f"{100 * q:g} %" if q < 1 else "largest", f"{q:g}") for q in QUANTILES),
        Column("all", "all"),
        texts=2,
        each=_size_lines,
    ),
    ReportTable(
        "bounds",
        NETWORK,
        Column("pipeline", lambda line: TITLES[line["pipeline"]]),
        Column("times", "way"),
        Column("planned, ms", "delay_s", milliseconds),
        Column("median", "median_s", milliseconds),
        Column("95 %", "p95_s", milliseconds),
        Column("largest drawn", "largest_s", milliseconds),
        Column("bound", "bound_s", milliseconds),
        Column("draws", "draws", "{:,}"),
        Column("above", "above"),
        Column("bound / largest", lambda line: line["bound_s"] / line["largest_s"], "{:.3f}"),
        texts=3,
        each=lambda row: [row | {"way": way} | row[way] for way in WAYS],
    ),
    ReportTable(
        "slices",
        NETWORK,
        Column("slices", "cut"),
        Column("layers", "layers"),
        Column("largest, MB", "largest_bytes", mebibytes_or_blank, optional=True),
        Column("ring, MB", "ring_bytes", mebibytes_or_blank, optional=True),
        Column("% added", "added", percent),
        Column("no end, % added", lambda line: f"{line['twice']:+.1f}" if "twice" in line else ""),
        Column("least ring within 5 %, MB", "within"),
        texts=2,
        each=_slice_lines,
    ),
    ReportTable(
        "joint",
        NETWORK,
        Column("activations, MB", "activation_bytes", mebibytes),
        Column("at the delay of", "level"),
        Column("% added", "added", percent),
        Column("ring alone", "ring_bytes", mebibytes),
        Column("beside them", "apart_bytes", mebibytes),
        Column("in one memory", "joint_bytes", mebibytes),
        Column("bound", "joint_bound", mebibytes),
        Column("proven", "proven", yes),
        Column("saved", "saved", "{:.0%}"),
        Column("beyond activations", "beyond", in_units(MIB, 2)),
        each=_joint_lines,
    ),
)


# ---- the report ----------------------------------------------------------------------------------


def report(tables: StreamingTables, study: StreamingStudy) -> ReportPage:
    """The whole report of a study."""
    statements = claims(tables)
    blocks = {
        "how": how("demand-layering", study.quick) + " This is a cut of it." * study.quick,
        "summary": _listed(summary(statements, tables)),
        "claims": CLAIMS.table(statements, bare=False),
        "accuracy": _listed(accuracy(tables.pipelines)),
        "launch": f"{1000 * KERNEL_S:.3f}",
    }
    return report_of("demand_layering", blocks | blocks_of(TABLES, tables))


def facts(tables: StreamingTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, the claims, and the errors of Table II."""
    differences = {
        key: [asdict(error) for error in errors(tables.pipelines, key)]
        for key in ("saved", "added")
    }
    return asdict(tables) | {"claims": [asdict(c) for c in claims(tables)], "errors": differences}


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
