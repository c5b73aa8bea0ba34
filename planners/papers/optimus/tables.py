"""The tables of the Optimus comparison as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planners.papers.optimus.array_accelerators import BASELINES
from planners.papers.optimus.array_energy import DATAFLOWS
from planners.papers.optimus.figures import PARTS, ratios
from planners.papers.optimus.paper import TABLE_5
from planners.papers.report import Row, share_saved, table

UNITS = 1e6  # MB: a million bytes


def megabytes(value: float | None) -> str:
    return "does not fit" if value is None else f"{value / UNITS:,.2f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{1000 * value:,.2f}"


def proof(row: Row) -> str:
    """How far a partition is proven."""
    if row["status"] == "infeasible":
        return f"needs {row['need']:,} B"
    if row["status"] == "optimal":
        return "proven"
    cap = f", best of groups up to {row['cap']}" if row.get("cap") else ""
    return f"gap {row['gap']:.0%}{cap}"


def search(rows: Sequence[Row]) -> str:
    """Table 5: counts, then milliseconds."""
    graph = ["network", "most successors", "operators", "paper", "groups", "paper"]
    graph += ["online groups", "paper"]
    chosen = ["network", "fit", "chosen", "by the equations", "paper", "programs are"]
    chosen += ["online moves more"]
    times = ["network", "search", "with costs", "paper, bottom-up", "paper, top-down"]
    times += ["Algorithm 1, bottom-up", "top-down", "online", "with costs", "paper, online"]
    return "\n\n".join(
        [
            table(graph, map(_counts, rows)),
            table(chosen, map(_chosen, rows)),
            "Milliseconds (dashes: the clock ended the search, or groups are too many):",
            table(times, map(_times, rows)),
        ]
    )


def _counts(row: Row) -> list[str]:
    paper = TABLE_5[row["network"]]
    cells = [row["network"], str(row["successors"]), str(row["operators"]), str(paper.operators)]
    cells += [_count(row["groups"]), _count(paper.groups)]
    online = f"{row['online_groups']:,}" if "online_groups" in row else "–"
    return [*cells, online, f"{paper.online_groups:,}"]


def _chosen(row: Row) -> list[str]:
    paper = str(TABLE_5[row["network"]].chosen)
    printed = str(row.get("chosen_printed", "–"))
    if "fit" not in row:
        return [row["network"], "–", "–", printed, paper, row["status"], "–"]
    cells = [row["network"], f"{row['fit']:,}", str(row["chosen"]), printed, paper]
    return [*cells, proof(row), _more(row)]


def _more(row: Row) -> str:
    return f"{row['online_more']:.1%}"


def _count(value: float) -> str:
    return f"{int(value):,}" if value < 1e7 else f"{value:.2g}"


def _times(row: Row) -> list[str]:
    paper = TABLE_5[row["network"]]
    ours = [milliseconds(row.get(name)) for name in ("search_s", "cold_s")]
    printed = [milliseconds(row.get(name)) for name in ("bottom_up_s", "top_down_s")]
    online = [milliseconds(row.get(name)) for name in ("online_s", "online_cold_s")]
    theirs = [f"{paper.bottom_up_ms:,}", f"{paper.top_down_ms:,}"]
    return [row["network"], *ours, *theirs, *printed, *online, f"{paper.online_bottom_up_ms}"]


def traffic(rows: Sequence[Row]) -> str:
    """Figures 14 and 15: megabytes, one column a fuser."""
    about = {"network", "status", "gap", "groups", "cap", "need", "both gap"}
    columns = [name for name in rows[0] if name not in about] if rows else []
    jointly = ["both are"] * ("both" in columns)
    body = [
        [r["network"], *(_moved(r, c) for c in columns), proof(r), *(_joint(r) for _ in jointly)]
        for r in rows
    ]
    return table(["network", *columns, "Optimus is", *jointly], body)


def _moved(row: Row, column: str) -> str:
    return megabytes(row[column]) if column in row else "–"


def _joint(row: Row) -> str:
    if "both" not in row:
        return "–"
    return f"gap {row['both gap']:.1%}" if row["both gap"] else "proven"


def reductions(rows: Sequence[Row], against: Sequence[str]) -> str:
    """What Optimus saves against each column."""
    body = [
        [r["network"], *(percent(share_saved(r["Optimus"], r[name])) for name in against)]
        for r in rows
    ]
    return table(["Optimus saves against", *against], body)


def energy(rows: Sequence[Row]) -> str:
    """Figure 13: shares of the energy, and how many times Optimus's it is."""
    head = ["network", "fuser", *PARTS, "energy ratio", "latency ratio", "DRAM-bound"]
    body = []
    for row in rows:
        if row["traffic"] is None:
            continue
        parts = [f"{row['energy'][part] / 1e9:.2f}" for part in PARTS]
        more = [
            ratios(rows, row["fuser"], what)[row["network"]] for what in ("without MAC", "seconds")
        ]
        idle = 1 - row["computing"] / row["seconds"]
        cells = [row["network"], row["fuser"], *parts, *(f"{x:.2f}" for x in more), percent(idle)]
        body.append(cells)
    return table(head, body, texts=2)


def dataflows(rows: Sequence[Row]) -> str:
    """Figure 17: energy without the MACs, and DRAM, by dataflow and register file."""
    sizes = list(dict.fromkeys(row["register bytes"] for row in rows))
    by = {(row["dataflow"], row["register bytes"]): row for row in rows}
    head = ["dataflow", "DRAM", *(f"{size} B" for size in sizes), "array + buffer at 64 B"]
    body = []
    for name in DATAFLOWS:
        first = by[name, sizes[0]]
        chip = by[name, 64]["energy"]
        cells = [name, f"{first['energy']['DRAM'] / 1e9:.2f}"]
        cells += [f"{by[name, size]['without MAC'] / 1e9:.2f}" for size in sizes]
        body.append([*cells, f"{(chip['array'] + chip['buffer']) / 1e9:.2f}"])
    return table(head, body)


def arrays(rows: Sequence[Row]) -> str:
    """Figure 18: the eight configurations."""
    head = ["network", "config", "what", "DRAM MB", "energy without MACs", "with", "ms"]
    body = []
    for row in rows:
        cells = [row["network"], str(row["config"]), row["what"], megabytes(row["traffic"])]
        if row["traffic"] is not None:
            total = sum(row["energy"].values())
            cells += [f"{row['without MAC'] / 1e9:.2f}", f"{total / 1e9:.2f}"]
            cells.append(milliseconds(row["seconds"]))
        body.append(cells + ["–"] * (len(head) - len(cells)))
    return table(head, body)


def sweep(rows: Sequence[Row], by: str) -> str:
    """Figures 16 and 19: megabytes by buffer or by images."""
    columns = ["no fusion", "DNNVM", "Efficient-S", "Optimus", "oracle"]
    body = []
    for row in rows:
        saves = [share_saved(row["Optimus"], row[name]) for name in ("DNNVM", "Efficient-S")]
        body.append(
            [row["network"], str(row[by]), *(megabytes(row[c]) for c in columns)]
            + [percent(s) for s in saves]
        )
    return table(["network", by, *columns, "saves against DNNVM", "Efficient-S"], body)


def accelerators(rows: Sequence[Row]) -> str:
    """Table 4: percent saved, ours beside the paper's."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    body: list[list[str]] = []
    for accelerator in BASELINES:
        of = {row["network"]: row for row in rows if row["accelerator"] == accelerator}
        lines: list[tuple[str, Any]] = [
            ("layer by layer, MB", lambda r: megabytes(r["layer by layer"])),
            ("**paper**", lambda r: percent(r["paper saves"])),
            ("programs", lambda r: percent(r["program saves"])),
            ("programs + own layers", lambda r: percent(r["own layers saves"])),
            ("equations + own layers", lambda r: percent(r["printed saves"])),
        ]
        body += [[f"{accelerator}: {name}", *(show(of[n]) for n in names)] for name, show in lines]
    return table(["", *names], body)
