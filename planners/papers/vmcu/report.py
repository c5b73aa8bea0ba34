"""The vMCU comparison as Markdown: its tables as columns, and what it shows first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planners.catalogue.vmcu import MISPRINTS
from planners.papers.report import (
    NETWORK,
    NOTHING,
    Column,
    ReportTable,
    Row,
    blocks_of,
    from_to,
    how,
    in_units,
    report_of,
)
from planners.papers.vmcu.accounts import ACCOUNTINGS, FORMS, SYSTEMS, saved
from planners.papers.vmcu.paper import F411RE_BYTES, PLAN, MeasuredClaim, claims
from planners.papers.vmcu.plans import RULES
from planners.papers.vmcu.study import VmcuStudy, VmcuTables
from planners.study.headroom import AXES
from planners.study.long_tables import ReportPage, some_of

TITLES = {
    "arithmetic": "",
    "tensors": "tensors",
    "workspace": "+ workspace",
    "rows": "+ rows, static",
    PLAN: "our plans",
}
FRAMEWORKS = ("TinyEngine", "HMCOS", "TFLite Micro")
MOST_POINTS = 6
kilobytes, kibibytes = in_units(1000, 1), in_units(1024, 1)


# ---- cells ---------------------------------------------------------------------------------------


def _number(claim: MeasuredClaim, number: float) -> str:
    """A number in the unit of its claim."""
    if claim.unit == "share":
        return f"{number:.1%}"
    if claim.unit == "bytes":
        return f"{kilobytes(number)} KB"
    return f"{number:.2f}" if claim.unit == "ratio" else f"{number:g}"


def _ours(accounting: str) -> Callable[[MeasuredClaim], str]:
    """Our number of a claim in an accounting, and where it is; what depends on none comes first."""

    def text(claim: MeasuredClaim) -> str:
        if "arithmetic" in claim.here:
            first = accounting == ACCOUNTINGS[0]
            return _number(claim, claim.here["arithmetic"]) if first else ""
        if accounting not in claim.here:
            return NOTHING
        where = f" ({claim.where[accounting]})" if accounting in claim.where else ""
        return _number(claim, claim.here[accounting]) + where

    return text


def _verdict(claim: MeasuredClaim) -> str:
    names = [TITLES[k] or k for k in claim.reproduced_by]
    text = "; ".join(names) if names else f"**none**, {_miss(claim)}"
    return text + (f" ({claim.note})" if claim.note else "")


def _miss(claim: MeasuredClaim) -> str:
    """How near the nearest accounting comes."""
    off = claim.off(claim.nearest)
    shown = {"share": f"{100 * off:.2f} points", "bytes": f"{off:.1%}"}
    by = shown.get(claim.unit, f"{off:.2f}")
    return f"nearest *{TITLES[claim.nearest] or claim.nearest}*, {by} off"


def _saved(accounting: str) -> Callable[[Row], float]:
    return lambda row: saved(row[accounting], "TinyEngine")


def _form(form: Mapping[str, Any] | None) -> str:
    """Bytes of a form's program, and the MACs that it computes again where there are any."""
    if form is None:
        return NOTHING
    again = f" (+{form['extra_macs'] / 1e6:,.1f} M)" if form["extra_macs"] else ""
    return f"{form['bytes']:,}{_unchecked(form)}{again}"


def _unchecked(row: Mapping[str, Any]) -> str:
    return "" if row["checked"] else "\\*"


def _relative(form: str) -> Callable[[Row], float | None]:
    """The latency of a form over TinyEngine's."""
    return lambda row: row["ms"][form] / row["ms"]["TinyEngine"] if form in row["ms"] else None


def _measured(row: Row) -> float:
    """The latency of vMCU over TinyEngine's, as the paper measured it."""
    return float(row["paper"]["vMCU"] / row["paper"]["TinyEngine"])


def _network_saved(row: Row) -> float:
    """The share of TinyEngine's RAM that our plan of a network does without."""
    return float(1 - row["ram"] / row["TinyEngine"]["bytes"])


def _segments(row: Row) -> str:
    names = ", ".join(sorted(row["padded"]))
    return f"{row['bytes']:,}" + (f" ({names})" if names else "")


def _agrees(row: Row) -> str:
    need = row["TinyEngine"]["bytes"] / 1024
    return "yes" if round(need) == row["published_kib"] else f"{need:.1f}"


def _ram(row: Row) -> str:
    return kibibytes(row["ram"]) + _unchecked(row) + ("" if row["proven"] else " (not proven)")


def _block(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


# ---- tables --------------------------------------------------------------------------------------

KINDS = (*ACCOUNTINGS, PLAN)
CLAIMS = ReportTable(
    "claims",
    Column("the paper states", lambda claim: claim.what),
    Column("paper", lambda claim: _number(claim, claim.paper)),
    *(Column(TITLES[k], _ours(k)) for k in KINDS),
    Column("reproduced by", _verdict),
)
TABLES = (
    ReportTable(
        "layers",
        Column("case", lambda row: row["layer"] + " (the text's)" * row["stated"]),
        Column("H/W", "size"),
        Column("C", "c_in"),
        Column("K", "c_out"),
        *(Column(s, ("tensors", s), kilobytes) for s in ("TinyEngine", "vMCU")),
        *(Column(TITLES[k], _saved(k), "{:.2%}") for k in ACCOUNTINGS),
    ),
    ReportTable(
        "modules",
        Column("module", "module"),
        *(Column(f"{s}: {TITLES[k]}", (k, s), kilobytes) for k in ACCOUNTINGS for s in SYSTEMS),
    ),
    ReportTable(
        "forms",
        Column("module", "module"),
        *(Column(form, ("ours", form), _form, optional=True) for form in FORMS),
        Column("TinyEngine", (PLAN, "TinyEngine"), "{:,}"),
        Column("saved without repeated work", _saved(PLAN), "{:.1%}"),
        rows="modules",
    ),
    ReportTable(
        "segments",
        Column("case", "name"),
        *(Column(rule, rule, _segments) for rule in RULES),
        *(Column(f"{rule}, 1000s", (rule, "modulos"), kilobytes) for rule in RULES),
    ),
    ReportTable(
        "networks",
        NETWORK,
        Column("input", lambda row: "×".join(map(str, row["input"]))),
        Column("ours", _ram),
        Column("least", lambda row: row["front"][-1]["ram_bytes"], kibibytes),
        Column("extra MACs", lambda row: row["front"][-1]["extra_macs"] / row["macs"], "{:.1%}"),
        *(Column(name, (name, "bytes"), kibibytes) for name in FRAMEWORKS),
        Column("saved against TinyEngine", _network_saved, "{:.1%}"),
        Column("s", "seconds", "{:.1f}"),
        texts=2,
    ),
    ReportTable(
        "binding",
        NETWORK,
        Column("ours", lambda row: _block(row["front"][0]["binding"])),
        *(Column(name, (name, "binding")) for name in FRAMEWORKS),
        rows="networks",
        texts=5,
    ),
    ReportTable(
        "fronts",
        NETWORK,
        Column("RAM, KiB", "ram_bytes", kibibytes),
        Column("extra MACs", lambda point: point["extra_macs"] / 1e6, "{:,.2f} M"),
        Column("share", lambda point: point["extra_macs"] / point["macs"], "{:.1%}"),
        Column("binding block", "binding", _block),
        rows="networks",
        each=lambda row: [row | point for point in some_of(row["front"], MOST_POINTS)],
    ),
    ReportTable(
        "published",
        NETWORK,
        Column("tensors", ("TinyEngine", "tensors"), kibibytes),
        Column("all", ("TinyEngine", "bytes"), in_units(1024, 2)),
        Column("published", "published_kib"),
        Column("agree", _agrees),
        rows="networks",
        each=lambda row: [] if row["published_kib"] is None else [row],
    ),
    ReportTable(
        "layer_costs",
        Column("case", "layer"),
        *(Column(what, what, "{:.1%}") for what in ("latency saved", "energy saved")),
    ),
    ReportTable(
        "module_costs",
        Column("module", "module"),
        *(Column(f"{s}, ms (paper)", ("paper", s)) for s in ("vMCU", "TinyEngine")),
        Column("paper: vMCU", _measured, "{:.2f}"),
        *(Column(f"model: {form}", _relative(form), "{:.2f}") for form in FORMS[1:]),
    ),
    ReportTable(
        "headroom",
        Column("module", "module"),
        *(Column(f"{axis}: {TITLES[k]}", (axis, k), "{:.2f}") for axis in AXES for k in KINDS),
    ),
)


# ---- the report ----------------------------------------------------------------------------------


def report(tables: VmcuTables, study: VmcuStudy) -> ReportPage:
    """The whole report of a study."""
    measured = _claims(tables)
    blocks = {
        "how": how("vmcu", study.quick),
        "summary": "\n".join([*_reproduced(measured), *_saved_in_all(tables)]),
        "claims": CLAIMS.table(measured),
        "misprints": ", ".join(f"{text} in {name}" for name, text in MISPRINTS.items()),
    }
    return report_of("vmcu", blocks | blocks_of(TABLES, tables))


def facts(tables: VmcuTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, and the claims."""
    measured = _claims(tables)
    statements = [asdict(claim) | {"reproduced_by": claim.reproduced_by} for claim in measured]
    return asdict(tables) | {"claims": statements}


def _claims(tables: VmcuTables) -> list[MeasuredClaim]:
    return claims(tables.layers, tables.modules, tables.layer_costs, tables.headroom)


def _reproduced(statements: Sequence[MeasuredClaim]) -> Iterator[str]:
    done = sum(bool(claim.reproduced_by) for claim in statements)
    yield (
        f"* Of {len(statements)} numbers that the paper states, {done} are reproduced by at least "
        f"one accounting, {len(statements) - done} by none."
    )
    for key in ACCOUNTINGS:
        of = [claim for claim in statements if key in claim.here]
        hits = sum(key in claim.reproduced_by for claim in of)
        yield f"  *{TITLES[key]}* reproduces {hits} of {len(of)}."


def _saved_in_all(tables: VmcuTables) -> Iterator[str]:
    """What our plans of modules and of whole networks save."""
    if tables.modules:
        yield (
            f"* Our plans of the modules, without repeated work, need "
            f"{from_to(list(map(_saved(PLAN), tables.modules)))} less than TinyEngine, workspace "
            "counted in both."
        )
    rows = [row for row in tables.networks if row["published_kib"] is not None]
    if rows:
        few = sum(row["ram"] <= F411RE_BYTES for row in rows)
        theirs = sum(row["TinyEngine"]["bytes"] <= F411RE_BYTES for row in rows)
        yield (
            f"* Whole MCUNet networks, without repeated work: "
            f"{from_to(list(map(_network_saved, rows)))} less than TinyEngine; "
            f"{few} of {len(rows)} fit 128 KiB, {theirs} with TinyEngine."
        )
