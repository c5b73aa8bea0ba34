"""The comparison as Markdown: what it shows first, then how to read it, then the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from planners.papers.cosma.paper import (
    DEEPLAB,
    DEEPLAB_WITH_PARAMETERS_S,
    HUMAN,
    LABELS,
    MEAN_OF_NINE_S,
    SAVED,
    SEARCHED,
    TABLE_II,
)
from planners.papers.cosma.study import BASELINES, PAPERS, REPLACEMENTS, CosmaStudy, CosmaTables
from planners.papers.cosma.summary import (
    AveragedRows,
    Saving,
    groups,
    mean_saving,
    moving_at_mp,
    nine,
    saving,
    seconds,
    unproven,
)
from planners.papers.report import Row, table, written

# More open proofs than these are counted, not named: the tables have them all.
MOST_NAMED = 6
NAMES = {
    "belady": "Belady",
    "greedy": "greedy",
    "size_ordered": "size-ordered",
    "hill_climb": "hill climb",
    "default": "default",
    "mpmf": "MPMF",
}
READING = """\
## How to read it

*Traffic* is non-compulsory off-chip bytes: what is moved beyond loading each input (and parameter,
where they count) once and storing each output once. One byte an element, batch 1, 224×224.
*MR* is the largest need of one operator, *MP* the least peak over all schedules, *MH* their mean.
Rows with the same bytes are one row in a table, and count once for each label in means.

| column | order of operators | what leaves, and where tensors lie |
|---|---|---|
| **joint** | chosen | chosen together with the order: the least traffic of any plan, where proven |
| **DnC** | divide and conquer | order found part by part between break nodes, or default or MPMF \
where that saves nothing; then as fixed |
| **fixed** | default, MPMF | the least traffic for that order, where proven |
| Belady | default, MPMF | *the paper's*: furthest next use; TFLite's linear arena, online |
| greedy | default, MPMF | *the paper's*: the cheapest window of neighbours; the same arena |
| size-ordered | default, MPMF | *added here*: lifetimes known; furthest next use by sizes, then \
TFLite's offline arena (largest first, smallest gap), one more victim wherever one does not fit, \
none in vain |
| hill climb | default, MPMF | *added here*: from there, victims and placing order are permuted \
as long as traffic falls, as Ethos-U Vela's allocator permutes for space |

*default* is the order in which the model was traced, *MPMF* an order of least peak. Two numbers in
a cell are those two orders; one number holds for both. *Joint* and *fixed* are proven optimal
where no gap is given; a gap of n % says that no plan moves more than n % less. *s* is the seconds
of the joint plan. DnC and the schemes right of *fixed* carry no proof."""


def report(tables: CosmaTables, study: CosmaStudy) -> str:
    """The whole report of a study."""
    parts = [
        "# COSMA, reproduced",
        f"`{_command(study)}` computes all of this anew.",
        _claims(tables, study),
        _savings(groups(tables.rows)),
        READING,
        *(_traffic(group) for group in groups(tables.rows)),
        _table_ii([row for row in tables.rows if row["model"] in TABLE_II]),
        _sweep(tables.sweep),
    ]
    return written(parts)


def facts(tables: CosmaTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, and the mean savings against each scheme."""
    saved = {f"{s} {r}": saving(tables.rows, f"{s} {r}").share for s, r in BASELINES}
    return {"rows": tables.rows, "sweep": tables.sweep, "mean_reduction": saved}


def _command(study: CosmaStudy) -> str:
    default = CosmaStudy()
    words = ["spillway reproduce cosma"]
    if study.models != default.models:
        words.append(f"--models {','.join(study.models)}")
    if study.labels != default.labels:
        words.append(f"--budgets {','.join(study.labels)}")
    words.append(f"--granularity {study.granularity} --time-limit {study.time_limit_s:g}")
    if study.sweep != default.sweep:
        words.append(f"--sweep {study.sweep}")
    return " ".join(words + ["--execute"] * study.execute)


def _claims(tables: CosmaTables, study: CosmaStudy) -> str:
    """What a reader should know first, each beside what the paper states."""
    rows = tables.rows
    items = [_proofs(rows, "Proofs"), _fixed_proofs(rows), _at_mp(rows)]
    for kind, models in (("human", HUMAN), ("searched", SEARCHED)):
        some = [row for row in rows if row["model"] in models]
        if (share := mean_saving(some)) is not None:
            items.append(
                f"**Traffic saved, {kind} networks**: {share:.0%} on average against the paper's "
                f"four schemes; the paper states {SAVED[kind]:.0%}.{_beyond(some)}"
            )
    items += [*_human_seconds(rows), *_searched_seconds(rows)]
    if tables.sweep:
        items.append(_proofs(tables.sweep, "Proofs in the sweep from MR to MP"))
    items.append(_validity(rows, study))
    return "\n".join(["## What it shows", "", *(f"* {item}" for item in items)])


def _beyond(rows: Sequence[Row]) -> str:
    """The same against the schemes that the paper does not have."""
    means = {name: mean_saving(rows, [name]) for name in REPLACEMENTS if name not in PAPERS}
    texts = [f"{NAMES[n]} {share:.0%}" for n, share in means.items() if share is not None]
    return f" Against stronger ones, added here: {', '.join(texts)}." if texts else ""


def _proofs(rows: Sequence[Row], title: str) -> str:
    still = unproven(rows)
    text = (
        f"**{title}**: {len(rows) - len(still)} of {len(rows)} joint plans, one for each network "
        "and budget, are proven optimal over all orders, replacements and addresses together."
    )
    if len(still) > MOST_NAMED:
        worst = max(still, key=lambda row: float(row["joint gap"]))
        text += f" The largest gap is {worst['joint gap']:.1%} ({_where(worst)})."
    elif still:
        names = (f"{_where(row)} (gap {row['joint gap']:.1%})" for row in still)
        text += f" Not proven: {', '.join(names)}."
    return text


def _fixed_proofs(rows: Sequence[Row]) -> str:
    gaps = [row[f"{schedule} gap"] for row in rows for schedule in ("default", "mpmf")]
    return (
        f"**Proofs for one order**: of the plans for the default and the MPMF order, "
        f"{sum(not gap for gap in gaps)} of {len(gaps)} are proven optimal."
    )


def _at_mp(rows: Sequence[Row]) -> str:
    at = [row for row in rows if row["budget"] == "MP"]
    moving = moving_at_mp(rows)
    if not at:
        return "**No traffic at MP**: MP is not among the budgets of this run."
    text = f"**No traffic at MP**: {len(at) - len(moving)} of {len(at)} joint plans"
    text += ", as in the paper, which states it of all."
    if moving:
        text += " Not so: " + ", ".join(map(_where, moving)) + "."
    open_peaks = [row for row in at if not row["budget proven"]]
    if open_peaks:
        text += " MP itself is the best peak found, not proven least: "
        text += ", ".join(map(_where, open_peaks)) + "."
    return text


def _human_seconds(rows: Sequence[Row]) -> list[str]:
    stats, lines = seconds(nine(rows)), []
    if stats is not None:
        lines.append(
            f"**Seconds, human networks but DeepLabV3**: mean {stats.mean_s:.3f}, median "
            f"{stats.median_s:.3f}, worst {stats.worst_s:.3f} ({_where(stats.worst)}) over "
            f"{stats.count} joint plans; the paper: {MEAN_OF_NINE_S} on average."
        )
    deep = [row for row in rows if row["model"] == DEEPLAB and row["parameters"]]
    if deep:
        ours = ", ".join(f"{row['joint s']:.3f} ({row['budget']})" for row in deep)
        theirs = ", ".join(
            f"{DEEPLAB_WITH_PARAMETERS_S[LABELS.index(row['budget'])]}" for row in deep
        )
        lines.append(f"**Seconds, DeepLabV3 with parameters**: {ours}; the paper: {theirs}.")
    return lines


def _searched_seconds(rows: Sequence[Row]) -> list[str]:
    stats = seconds([row for row in rows if row["model"] in SEARCHED])
    if stats is None:
        return []
    return [
        f"**Seconds, searched networks**: joint plans median {stats.median_s:.2f}, worst "
        f"{stats.worst_s:.2f} ({_where(stats.worst)}); the paper's joint ILP found no optimum for "
        "any of them in 24 hours, and its divide and conquer took 19.1 to 112.8 without a proof."
    ]


def _validity(rows: Sequence[Row], study: CosmaStudy) -> str:
    text = (
        "**Validity**: every plan behind a number here was replayed byte by byte by `check`, "
        "which knows nothing of how it was made, and moved what it claims."
    )
    ran = [row for row in rows if row.get("max error") is not None]
    if study.execute and ran:
        worst = max(row["max error"] for row in ran)
        took = sum({_problem(row): row["execute s"] for row in ran}.values())
        text += (
            f" The joint plans of all {len(ran)} rows ran on random weights in an arena of "
            f"exactly their bytes (times four, in float32); the largest difference from PyTorch's "
            f"own outputs is {worst:g}. That took {took:.0f} s."
        )
    return text


def _savings(found: Sequence[AveragedRows]) -> str:
    """Means against every scheme, over all budgets and at MR alone."""
    if not found:
        return ""
    columns = [(group.title, group.rows) for group in found]
    columns = [
        item
        for title, rows in columns
        for item in (
            (f"{title}", rows),
            ("at MR alone", tuple(row for row in rows if row["budget"] == "MR")),
        )
        if item[1]
    ]
    lines = [
        "## Traffic that joint plans save",
        "",
        "The mean of 1 − joint / scheme over networks and budgets, each with the same weight. "
        "Where a scheme moves nothing, joint moves nothing either, and the row is left out; the "
        "number of rows that remain is in brackets. The paper does not say how it takes its mean. "
        "*At MR alone* is the column to its left, for the tightest budget only.",
        "",
    ]
    body = []
    for schedule, replacement in BASELINES:
        cells = [_share(saving(rows, f"{schedule} {replacement}")) for _, rows in columns]
        body.append([f"{NAMES[replacement]}, {NAMES[schedule]} order", *cells])
    means = [mean_saving(rows) for _, rows in columns]
    texts = ["" if share is None else f"**{share:.0%}**" for share in means]
    body.append(["**mean of the paper's four**", *texts])
    head = ["against", *(title for title, _ in columns)]
    return "\n".join([*lines, table(head, body, tight=True)])


def _share(found: Saving) -> str:
    return "none moves" if found.share is None else f"{found.share:.0%} ({found.count})"


def _traffic(group: AveragedRows) -> str:
    schemes = [NAMES[r] for r in REPLACEMENTS]
    has_dnc = any("dnc optimal" in row for row in group.rows)
    heads = ["joint", "s", *(["DnC"] if has_dnc else []), "fixed", *schemes]
    activations = "" if "parameters" in group.title else ", activations only"
    body = []
    for rows in _merged(group.rows):
        row, labels = rows[0], " = ".join(row["budget"] for row in rows)
        cells = [_optimum(row, "joint"), f"{row['joint s']:.2f}"]
        cells += [_optimum(row, "dnc", proof=False)] if has_dnc else []
        cells.append(_pair(_optimum(row, "default"), _optimum(row, "mpmf")))
        cells += [_pair(f"{row[f'default {r}']:,}", f"{row[f'mpmf {r}']:,}") for r in REPLACEMENTS]
        body.append([row["model"], labels, f"{row['bytes']:,}", *cells])
    lines = table(["network", "budget", "bytes", *heads], body, texts=2, tight=True)
    return f"## Traffic: {group.title}{activations}\n\n{lines}"


def _merged(rows: Iterable[Row]) -> list[list[Row]]:
    """Consecutive rows that are the same problem."""
    return [list(same) for _, same in groupby(rows, key=_problem)]


def _problem(row: Row) -> tuple[str, bool, int]:
    return row["model"], row["parameters"], row["bytes"]


def _optimum(row: Row, schedule: str, proof: bool = True) -> str:
    gap = row[f"{schedule} gap"] if proof else 0.0
    return f"{row[f'{schedule} optimal']:,}" + (f" (gap {gap:.1%})" if gap else "")


def _pair(default: str, mpmf: str) -> str:
    return default if default == mpmf else f"{default} / {mpmf}"


def _table_ii(rows: Sequence[Row]) -> str:
    """Seconds beside the paper's, for the networks of its Table II."""
    if not rows:
        return ""
    kinds = [k for k in ("default", "mpmf", "dnc") if any(f"{k} s" in row for row in rows)]
    titles = {"default": "fixed, default", "mpmf": "fixed, MPMF", "dnc": "DnC"}
    heads = [head for kind in kinds for head in (titles[kind], "paper")]
    lines = [
        "## Seconds beside Table II",
        "",
        "The paper's are Gurobi's on an Apple M1 Pro; ours are those of the machine that ran this, "
        "one plan at a time. MPMF includes finding the order. *joint* has no counterpart there.",
        "",
    ]
    body = []
    for row in rows:
        stated = TABLE_II[row["model"]]
        cells = []
        for kind in kinds:
            cells.append(f"{row[f'{kind} s']:.2f}")
            cells.append(f"{stated[kind][LABELS.index(row['budget'])]}")
        body.append([row["model"], row["budget"], *cells, f"{row['joint s']:.2f}"])
    head = ["network", "budget", *heads, "joint"]
    return "\n".join([*lines, table(head, body, texts=2, tight=True)])


def _sweep(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    lines = [
        "## Searched networks at even budgets from MR to MP",
        "",
        "| network | bytes | joint | proven bound | | s |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for row in rows:
        proof = f"gap {row['joint gap']:.1%}" if row["joint gap"] else "proven"
        lines.append(
            f"| {row['model']} | {row['bytes']:,} | {row['joint optimal']:,} "
            f"| {row['joint bound']:,} | {proof} | {row['joint s']:.2f} |"
        )
    return "\n".join(lines)


def _where(row: Row) -> str:
    size = row["budget"] if "budget" in row else f"{row['bytes']:,} bytes"
    return f"{row['model']} at {size}" + (" with parameters" if row["parameters"] else "")
