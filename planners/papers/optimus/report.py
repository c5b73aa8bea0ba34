"""The Optimus comparison as Markdown: its tables as columns, and its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from planners.papers.optimus.array_accelerators import BASELINES
from planners.papers.optimus.array_energy import DATAFLOWS
from planners.papers.optimus.claims import claims
from planners.papers.optimus.figures import KEPT, PARTS, PRINTED, SWEPT, ratios
from planners.papers.optimus.paper import TABLE_5
from planners.papers.optimus.study import OptimusStudy, OptimusTables
from planners.papers.report import (
    NETWORK,
    NOTHING,
    Column,
    ReportTable,
    Row,
    blocks_of,
    how,
    in_units,
    report_of,
    share_saved,
)
from planners.study.long_tables import ReportPage, TextTable

megabytes = in_units(1e6, 2, "does not fit")
milliseconds = in_units(1e-3, 2)
giga = in_units(1e9, 2)
percent = "{:.0%}"


# ---- cells ---------------------------------------------------------------------------------------


def _proof(row: Row) -> str:
    """How far a partition is proven."""
    if row["status"] == "infeasible":
        return f"needs {row['need']:,} B"
    if row["status"] == "optimal":
        return "proven"
    cap = f", best of groups up to {row['cap']}" if row.get("cap") else ""
    return f"gap {row['gap']:.0%}{cap}"


def _searched(row: Row) -> str:
    return _proof(row) if "fit" in row else str(row["status"])


def _joint(row: Row) -> str | None:
    if "both" not in row:
        return None
    return f"gap {row['both gap']:.1%}" if row["both gap"] else "proven"


def _count(value: float) -> str:
    return f"{int(value):,}" if value < 1e7 else f"{value:.2g}"


def _paper(what: str, form: str | Callable[[Any], str] = "{}", head: str = "paper") -> Column:
    """A column of the paper's Table 5."""
    return Column(head, lambda row: getattr(TABLE_5[row["network"]], what), form)


def _moved(name: str) -> Column:
    return Column(name, lambda row: megabytes(row[name]) if name in row else NOTHING)


def _saved(against: str, head: str = "") -> Column:
    return Column(head or against, lambda row: share_saved(row["Optimus"], row[against]), percent)


# ---- tables whose columns follow from their rows -------------------------------------------------


def _traffic(rows: Sequence[Row]) -> TextTable | None:
    """Figures 14 and 15: megabytes, one column a fuser."""
    about = {"network", "status", "gap", "groups", "cap", "need", "both gap"}
    names = [name for name in rows[0] if name not in about] if rows else []
    jointly = [Column("both are", _joint)] * ("both" in names)
    return ReportTable(
        "traffic", NETWORK, *map(_moved, names), Column("Optimus is", _proof), *jointly
    ).table(rows)


def _energy(rows: Sequence[Row]) -> TextTable | None:
    """Figure 13: where energy goes, and how many times Optimus's it is; of rows that fit."""
    more, slower = (
        {name: ratios(rows, name, what) for name in dict.fromkeys(row["fuser"] for row in rows)}
        for what in ("without MAC", "seconds")
    )
    return ReportTable(
        "energy",
        NETWORK,
        Column("fuser", "fuser"),
        *(Column(part, ("energy", part), giga) for part in PARTS),
        Column("energy ratio", lambda row: more[row["fuser"]][row["network"]], "{:.2f}"),
        Column("latency ratio", lambda row: slower[row["fuser"]][row["network"]], "{:.2f}"),
        Column("DRAM-bound", lambda row: 1 - row["computing"] / row["seconds"], percent),
        texts=2,
    ).table(row for row in rows if row["traffic"] is not None)


def _dataflows(rows: Sequence[Row]) -> TextTable | None:
    """Figure 17: energy without the MACs, and DRAM, by dataflow and register file."""
    sizes = list(dict.fromkeys(row["register bytes"] for row in rows))
    by = {(row["dataflow"], row["register bytes"]): row for row in rows}

    def without_macs(size: int) -> Column:
        return Column(f"{size} B", lambda name: by[name, size]["without MAC"], giga)

    def array_and_buffer(name: str) -> float:
        energy = by[name, 64]["energy"]
        return float(energy["array"] + energy["buffer"])

    return ReportTable(
        "dataflows",
        Column("dataflow", str),
        Column("DRAM", lambda name: by[name, sizes[0]]["energy"]["DRAM"], giga),
        *map(without_macs, sizes),
        Column("array + buffer at 64 B", array_and_buffer, giga),
    ).table(DATAFLOWS if rows else ())


def _accelerators(rows: Sequence[Row]) -> TextTable | None:
    """Table 4: percent saved, ours beside the paper's, one column a network."""
    by = {(row["accelerator"], row["network"]): row for row in rows}

    def column(network: str) -> Column:
        def cell(line: tuple[str, str]) -> str:
            accelerator, title = line
            return SAVINGS[title].cell(by[accelerator, network])

        return Column(network, cell)

    return ReportTable(
        "accelerators",
        Column("accelerator", ": ".join),
        *(column(network) for network in dict.fromkeys(row["network"] for row in rows)),
    ).table((accelerator, title) for accelerator in BASELINES for title in SAVINGS)


def _replayed(tables: OptimusTables) -> Sequence[Row]:
    """The programs that were replayed, with their seconds in Figure 13."""
    by = {r["network"]: r["seconds"] for r in tables.energy if r["fuser"] == "Optimus"}
    done = [row for row in tables.checked if row.get("traffic") is not None]
    return [row | {"seconds": by[row["network"]]} for row in done]


# ---- tables --------------------------------------------------------------------------------------

SAVINGS = {
    column.head: column
    for column in (
        Column("layer by layer, MB", "layer by layer", megabytes),
        Column("**paper**", "paper saves", percent),
        Column("programs", "program saves", percent),
        Column("programs + own layers", "own layers saves", percent),
        Column("equations + own layers", "printed saves", percent),
    )
}
SWEEPS = {
    "buffers": "KiB",
    "buffers_printed": "KiB",
    "batches": "images",
    "batches_printed": "images",
}
CLAIMS = ReportTable(
    "claims",
    Column("the paper states", lambda claim: claim.what),
    Column("paper", lambda claim: claim.paper),
    Column("here", lambda claim: claim.ours),
    Column("verdict", lambda claim: claim.verdict),
    texts=4,
)
REPLAYED = ReportTable(
    "replayed",
    NETWORK,
    Column("bytes moved", "traffic", "{:,}"),
    Column("instructions", "instructions", "{:,}"),
    Column("scoreboard, ms", lambda row: f"{1000 * row['makespan_s']:.2f}"),
    Column("Figure 13, ms", lambda row: f"{1000 * row['seconds']:.2f}"),
)
TABLES = (
    ReportTable(
        "counts",
        NETWORK,
        Column("most successors", "successors"),
        Column("operators", "operators"),
        _paper("operators"),
        Column("groups", "groups", _count),
        _paper("groups", _count),
        Column("online groups", "online_groups", "{:,}", optional=True),
        _paper("online_groups", "{:,}"),
        rows="search",
    ),
    ReportTable(
        "chosen",
        NETWORK,
        Column("fit", "fit", "{:,}", optional=True),
        Column("chosen", "chosen", optional=True),
        Column("by the equations", "chosen_printed", optional=True),
        _paper("chosen"),
        Column("programs are", _searched),
        Column("online moves more", "online_more", "{:.1%}", optional=True),
        rows="search",
    ),
    ReportTable(
        "times",
        NETWORK,
        Column("search", "search_s", milliseconds, optional=True),
        Column("with costs", "cold_s", milliseconds, optional=True),
        _paper("bottom_up_ms", "{:,}", "paper, bottom-up"),
        _paper("top_down_ms", "{:,}", "paper, top-down"),
        Column("Algorithm 1, bottom-up", "bottom_up_s", milliseconds, optional=True),
        Column("top-down", "top_down_s", milliseconds, optional=True),
        Column("online", "online_s", milliseconds, optional=True),
        Column("with costs", "online_cold_s", milliseconds, optional=True),
        _paper("online_bottom_up_ms", "{}", "paper, online"),
        rows="search",
    ),
    ReportTable(
        "saved",
        Column("Optimus saves against", "network"),
        *(_saved(name) for name in ("no fusion", "fused-layer", "DNNVM", "Efficient-S")),
        *(_saved(name) for name in (*KEPT, "w/o model")),
        rows="traffic",
    ),
    ReportTable(
        "saved_printed",
        Column("Optimus saves against", "network"),
        *(_saved(name) for name in PRINTED if name not in ("online", "Optimus")),
        rows="traffic_printed",
    ),
    ReportTable(
        "arrays",
        NETWORK,
        Column("config", "config"),
        Column("what", "what"),
        Column("DRAM MB", "traffic", megabytes),
        Column("energy without MACs", "without MAC", giga, optional=True),
        Column("with", lambda row: sum(row["energy"].values()) if "energy" in row else None, giga),
        Column("ms", "seconds", milliseconds, optional=True),
    ),
    *(
        ReportTable(
            rows,
            NETWORK,
            Column(by, by),
            *(Column(name, name, megabytes) for name in (*SWEPT, "oracle")),
            _saved("DNNVM", "saves against DNNVM"),
            _saved("Efficient-S"),
        )
        for by, both in (
            ("KiB", ("buffers", "buffers_printed")),
            ("images", ("batches", "batches_printed")),
        )
        for rows in both
    ),
)


# ---- the report ----------------------------------------------------------------------------------


def report(tables: OptimusTables, study: OptimusStudy) -> ReportPage:
    """The whole report of a study."""
    replayed = _replayed(tables)
    blocks = {
        "how": how("optimus", study.quick),
        "claims": CLAIMS.table(claims(tables)),
        "replayed": str(len(replayed)),
        "equal": str(sum(row["equal"] for row in replayed)),
        "checked": REPLAYED.table(replayed, bare=False),
        "same": _same(tables),
        "dataflows": _dataflows(tables.dataflows),
        "accelerators": _accelerators(tables.accelerators),
    }
    for name in ("traffic", "traffic_printed", "traffic_free", "traffic_printed_free"):
        blocks[name] = _traffic(getattr(tables, name))
    for name in ("energy", "energy_printed"):
        blocks[name] = _energy(getattr(tables, name))
    return report_of("optimus", blocks | blocks_of(TABLES, tables, bare=True))


def facts(tables: OptimusTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, and the claims."""
    statements = [
        {"what": c.what, "paper": c.paper, "here": c.ours, "agrees": c.agrees}
        | {"because": c.remark, "verdict": c.verdict}
        for c in claims(tables)
    ]
    return asdict(tables) | {"claims": statements}


def _same(tables: OptimusTables) -> str:
    """Whether the paper's algorithm reaches the traffic of ours, where it was run."""
    both = [row for row in tables.search if "bottom_up" in row]
    same = sum(row["bottom_up"] == row["top_down"] == row["bytes"] for row in both)
    return f": the same traffic in {same} of {len(both)}" if both else ""
