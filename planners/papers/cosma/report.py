"""The COSMA comparison as Markdown: what its rows come to, its tables, and what it shows first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean, median
from typing import Any

from planners.papers.cosma import paper
from planners.papers.cosma.study import BASELINES, PAPERS, REPLACEMENTS, CosmaStudy, CosmaTables
from planners.papers.report import Column, ReportTable, Row, report_of
from planners.study.long_tables import ReportPage, TextTable

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


# ---- what rows come to ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Saving:
    """The mean share of a scheme's bytes that joint plans save; None where it never moves any.

    `count`: rows in which the scheme moves anything, which the mean is over.
    """

    share: float | None
    count: int


def groups(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows that are averaged together, by title; those that there are.

    Human-designed networks without and with parameters, and searched ones.
    """
    human = [row for row in rows if row["model"] in paper.HUMAN]
    candidates = {
        "human": [row for row in human if not row["parameters"]],
        "human, with parameters": [row for row in human if row["parameters"]],
        "searched": [row for row in rows if row["model"] in paper.SEARCHED],
    }
    return {title: some for title, some in candidates.items() if some}


def saving(rows: Iterable[Row], scheme: str) -> Saving:
    """What joint plans save against a scheme (a row's key).

    The mean over rows of 1 − joint / scheme, each network and budget with the same weight. Rows
    where the scheme moves nothing are left out: joint moves nothing there either.
    """
    shares = [1 - row["joint optimal"] / row[scheme] for row in rows if row[scheme]]
    return Saving(mean(shares) if shares else None, len(shares))


def mean_saving(rows: Sequence[Row], replacements: Sequence[str] = PAPERS) -> float | None:
    """The mean of the means against the schemes with these replacements: the paper's by default."""
    shares = [saving(rows, f"{s} {r}").share for s, r in BASELINES if r in replacements]
    moving = [share for share in shares if share is not None]
    return mean(moving) if moving else None


def unproven(rows: Iterable[Row]) -> list[Row]:
    """The rows whose joint plan is not proven optimal."""
    return [row for row in rows if row["joint gap"]]


def moving_at_mp(rows: Iterable[Row]) -> list[Row]:
    """The rows at MP whose joint plan moves anything; the paper has none."""
    return [row for row in rows if row["budget"] == "MP" and row["joint optimal"]]


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of joint plans: how many, their median, mean and worst seconds, and which that was."""

    count: int
    median_s: float
    mean_s: float
    worst_s: float
    worst: Row


def seconds(rows: Sequence[Row]) -> Seconds | None:
    """None where there are no rows."""
    if not rows:
        return None
    taken = [float(row["joint s"]) for row in rows]
    worst = max(rows, key=lambda row: float(row["joint s"]))
    return Seconds(len(rows), median(taken), mean(taken), max(taken), worst)


def nine(rows: Iterable[Row]) -> list[Row]:
    """The human-designed networks but DeepLabV3, for which the paper states one mean."""
    return [row for row in rows if row["model"] in paper.HUMAN and row["model"] != paper.DEEPLAB]


# ---- tables --------------------------------------------------------------------------------------


def _pair(text: Callable[[Row, str], str]) -> Callable[[Row], str]:
    """What holds for the default order and for MPMF; one where they are alike."""
    return lambda row: " / ".join(dict.fromkeys(text(row, way) for way in ("default", "mpmf")))


def _moved(row: Row, schedule: str) -> str:
    gap = row[f"{schedule} gap"]
    return f"{row[f'{schedule} optimal']:,}" + (f" (gap {gap:.1%})" if gap else "")


def _scheme(replacement: str) -> Callable[[Row], str]:
    return _pair(lambda row, schedule: f"{row[f'{schedule} {replacement}']:,}")


def _seconds_here(schedule: str) -> Column:
    titles = {"default": "fixed, default", "mpmf": "fixed, MPMF", "dnc": "DnC"}
    return Column(titles[schedule], f"{schedule} s", "{:.2f}")


def _seconds_there(schedule: str) -> Column:
    def stated(row: Row) -> float:
        return paper.TABLE_II[row["model"]][schedule][paper.LABELS.index(row["budget"])]

    return Column("paper", stated)


def _traffic(rows: Sequence[Row]) -> TextTable | None:
    """Bytes of each scheme; consecutive rows that are the same problem are one."""
    has_dnc = any("dnc optimal" in row for row in rows)
    dnc = [Column("DnC", "dnc optimal", "{:,}")] * has_dnc
    columns = ReportTable(
        "traffic",
        Column("network", "model"),
        Column("budget", "labels"),
        Column("bytes", "bytes", "{:,}"),
        Column("joint", lambda row: _moved(row, "joint")),
        Column("s", "joint s", "{:.2f}"),
        *dnc,
        Column("fixed", _pair(_moved)),
        *(Column(NAMES[replacement], _scheme(replacement)) for replacement in REPLACEMENTS),
        texts=2,
    )
    same = (list(alike) for _, alike in groupby(rows, key=_problem))
    merged = (alike[0] | {"labels": " = ".join(r["budget"] for r in alike)} for alike in same)
    return columns.table(merged, bare=False)


def _problem(row: Row) -> tuple[str, bool, int]:
    return row["model"], row["parameters"], row["bytes"]


def _table_2(rows: Sequence[Row]) -> TextTable | None:
    """Seconds beside the paper's, for the networks of its Table II."""
    rows = [row for row in rows if row["model"] in paper.TABLE_II]
    kinds = [k for k in ("default", "mpmf", "dnc") if any(f"{k} s" in row for row in rows)]
    return ReportTable(
        "table_2",
        Column("network", "model"),
        Column("budget", "budget"),
        *(column for kind in kinds for column in (_seconds_here(kind), _seconds_there(kind))),
        Column("joint", "joint s", "{:.2f}"),
        texts=2,
    ).table(rows, bare=False)


def _savings(by_title: dict[str, list[Row]]) -> TextTable | None:
    """Means against every scheme, over all budgets and at MR alone."""
    over: list[tuple[str, list[Row]]] = []
    for title, rows in by_title.items():
        at_mr = [row for row in rows if row["budget"] == "MR"]
        over += [(title, rows), *([("at MR alone", at_mr)] if at_mr else [])]

    def column(title: str, rows: Sequence[Row]) -> Column:
        return Column(title, lambda against: _share(rows, *against))

    return ReportTable(
        "savings",
        Column("against", _against),
        *(column(title, rows) for title, rows in over),
    ).table([*BASELINES, ("", "")] if over else [], bare=False)


def _against(scheme: tuple[str, str]) -> str:
    schedule, replacement = scheme
    if not schedule:
        return "**mean of the paper's four**"
    return f"{NAMES[replacement]}, {NAMES[schedule]} order"


def _share(rows: Sequence[Row], schedule: str, replacement: str) -> str:
    """The mean saved against a scheme, and of how many rows; without one, of the paper's four."""
    if not schedule:
        four = mean_saving(rows)
        return "" if four is None else f"**{four:.0%}**"
    saved = saving(rows, f"{schedule} {replacement}")
    return "none moves" if saved.share is None else f"{saved.share:.0%} ({saved.count})"


def _sweep(rows: Sequence[Row]) -> TextTable | None:
    return ReportTable(
        "sweep",
        Column("network", "model"),
        Column("bytes", "bytes", "{:,}"),
        Column("joint", "joint optimal", "{:,}"),
        Column("proven bound", "joint bound", "{:,}"),
        Column("", _open),
        Column("s", "joint s", "{:.2f}"),
    ).table(rows, bare=False)


def _open(row: Row) -> str:
    return f"gap {row['joint gap']:.1%}" if row["joint gap"] else "proven"


# ---- the report ----------------------------------------------------------------------------------


def report(tables: CosmaTables, study: CosmaStudy) -> ReportPage:
    """The whole report of a study."""
    by_title = groups(tables.rows)
    blocks = {
        "command": _command(study),
        "summary": "\n".join(f"* {line}" for line in _summary(tables, study)),
        "savings": _savings(by_title),
        "human": _traffic(by_title.get("human", [])),
        "parameters": _traffic(by_title.get("human, with parameters", [])),
        "searched": _traffic(by_title.get("searched", [])),
        "table_2": _table_2(tables.rows),
        "sweep": _sweep(tables.sweep),
    }
    return report_of("cosma", blocks)


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


def _summary(tables: CosmaTables, study: CosmaStudy) -> Iterator[str]:
    """What a reader should know first, each beside what the paper states."""
    rows = tables.rows
    yield from (_proofs(rows, "Proofs"), _fixed_proofs(rows), _at_mp(rows))
    for kind, models in (("human", paper.HUMAN), ("searched", paper.SEARCHED)):
        some = [row for row in rows if row["model"] in models]
        if (share := mean_saving(some)) is not None:
            yield (
                f"**Traffic saved, {kind} networks**: {share:.0%} on average against the paper's "
                f"four schemes; the paper states {paper.SAVED[kind]:.0%}.{_beyond(some)}"
            )
    yield from (*_human_seconds(rows), *_searched_seconds(rows))
    if tables.sweep:
        yield _proofs(tables.sweep, "Proofs in the sweep from MR to MP")
    yield _validity(rows, study)


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
            f"{stats.count} joint plans; the paper: {paper.MEAN_OF_NINE_S} on average."
        )
    deep = [row for row in rows if row["model"] == paper.DEEPLAB and row["parameters"]]
    if deep:
        ours = ", ".join(f"{row['joint s']:.3f} ({row['budget']})" for row in deep)
        theirs = ", ".join(
            f"{paper.DEEPLAB_WITH_PARAMETERS_S[paper.LABELS.index(row['budget'])]}" for row in deep
        )
        lines.append(f"**Seconds, DeepLabV3 with parameters**: {ours}; the paper: {theirs}.")
    return lines


def _searched_seconds(rows: Sequence[Row]) -> list[str]:
    stats = seconds([row for row in rows if row["model"] in paper.SEARCHED])
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
        "which knows no planner, and moved what it claims."
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


def _where(row: Row) -> str:
    size = row["budget"] if "budget" in row else f"{row['bytes']:,} bytes"
    return f"{row['model']} at {size}" + (" with parameters" if row["parameters"] else "")
