"""The tables of the vMCU comparison as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planners.papers.report import Row, some_of, table
from planners.papers.vmcu.accounts import ACCOUNTINGS, SYSTEMS, saved
from planners.papers.vmcu.claims import PLAN, MeasuredClaim

TITLES = {
    "arithmetic": "",
    "tensors": "tensors",
    "workspace": "+ workspace",
    "rows": "+ rows, static",
    PLAN: "our plans",
}
FORMS = ("plain", "line", "window", "columns", "tile")
MOST_POINTS = 6


def kilobytes(value: float) -> str:
    return f"{value / 1000:,.1f}"


def kibibytes(value: float) -> str:
    return f"{value / 1024:,.1f}"


def value(claim: MeasuredClaim, number: float) -> str:
    """A number in the unit of its claim."""
    if claim.unit == "share":
        return f"{number:.1%}"
    if claim.unit == "bytes":
        return f"{kilobytes(number)} KB"
    return f"{number:.2f}" if claim.unit == "ratio" else f"{number:g}"


def claims(found: Iterable[MeasuredClaim]) -> str:
    """The paper's statements, ours in each accounting, and which reproduces each."""
    head = ["the paper states", "paper", *(TITLES[k] for k in ACCOUNTINGS), TITLES[PLAN]]
    body = []
    for claim in found:
        cells = [claim.what, value(claim, claim.paper)]
        if "arithmetic" in claim.here:
            cells += [value(claim, claim.here["arithmetic"]), "", "", ""]
        else:
            cells += [_cell(claim, k) for k in (*ACCOUNTINGS, PLAN)]
        body.append([*cells, _verdict(claim)])
    return table([*head, "reproduced by"], body, texts=1)


def _cell(claim: MeasuredClaim, accounting: str) -> str:
    if accounting not in claim.here:
        return "–"
    where = f" ({claim.where[accounting]})" if accounting in claim.where else ""
    return value(claim, claim.here[accounting]) + where


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


def layers(rows: Sequence[Row]) -> str:
    """Figure 7: KB by accounting, and shares saved."""
    head = ["case", "H/W", "C", "K", "TinyEngine", "vMCU", *(TITLES[k] for k in ACCOUNTINGS)]
    body = []
    for row in rows:
        name = row["layer"] + " (the text's)" * row["stated"]
        ram = [kilobytes(row["tensors"][s]) for s in ("TinyEngine", "vMCU")]
        shares = [f"{saved(row[k], 'TinyEngine'):.2%}" for k in ACCOUNTINGS]
        sizes = [str(row[k]) for k in ("size", "c_in", "c_out")]
        body.append([name, *sizes, *ram, *shares])
    return table(head, body)


def modules(rows: Sequence[Row]) -> str:
    """Figures 9 and 10: KB of the three systems in the three accountings."""
    head = ["module", *(f"{s}: {TITLES[k]}" for k in ACCOUNTINGS for s in SYSTEMS)]
    body = [
        [row["module"], *(kilobytes(row[k][s]) for k in ACCOUNTINGS for s in SYSTEMS)]
        for row in rows
    ]
    return table(head, body)


def forms(rows: Sequence[Row]) -> str:
    """Our forms: bytes of the program, and MACs computed again where there are any."""
    head = ["module", *(f"{form}" for form in FORMS), "TinyEngine", "saved without repeated work"]
    body = []
    for row in rows:
        cells = [_form(row["ours"].get(form)) for form in FORMS]
        share = f"{saved(row[PLAN], 'TinyEngine'):.1%}"
        body.append([row["module"], *cells, f"{row[PLAN]['TinyEngine']:,}", share])
    return table(head, body)


def _form(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    open_ = "" if found["checked"] else "\\*"
    again = f" (+{found['extra_macs'] / 1e6:,.1f} M)" if found["extra_macs"] else ""
    return f"{found['bytes']:,}{open_}{again}"


def layer_costs(rows: Sequence[Row]) -> str:
    """Figure 8: shares that the model says a pointwise layer saves."""
    body = [
        [row["layer"], f"{row['latency saved']:.1%}", f"{row['energy saved']:.1%}"] for row in rows
    ]
    return table(["case", "latency saved", "energy saved"], body)


def module_costs(rows: Sequence[Row]) -> str:
    """Table 3: milliseconds measured in the paper, and relative to TinyEngine in the model."""
    ours = [form for form in FORMS if form != "plain"]
    head = ["module", "vMCU, ms (paper)", "TinyEngine, ms (paper)", "paper: vMCU"]
    body = []
    for row in rows:
        vmcu, tiny = row["paper"]["vMCU"], row["paper"]["TinyEngine"]
        model = [_relative(row["ms"], form) for form in ours]
        body.append([row["module"], str(vmcu), str(tiny), f"{vmcu / tiny:.2f}", *model])
    return table([*head, *(f"model: {form}" for form in ours)], body)


def _relative(times: Mapping[str, float], form: str) -> str:
    return f"{times[form] / times['TinyEngine']:.2f}" if form in times else "–"


def headroom(rows: Sequence[Row]) -> str:
    """Figures 11 and 12: growth by axis and accounting."""
    axes = [key for key in rows[0] if key != "module"]
    keys = (*ACCOUNTINGS, PLAN)
    head = ["module", *(f"{axis}: {TITLES[k]}" for axis in axes for k in keys)]
    body = [
        [row["module"], *(f"{row[axis][k]:.2f}" for axis in axes for k in keys)] for row in rows
    ]
    return table(head, body)


def published(rows: Sequence[Row]) -> str:
    """TinyEngine's model beside what its authors publish, KiB."""
    head = ["network", "tensors", "all", "published", "agree"]
    body = []
    for row in rows:
        if row["published_kib"] is not None:
            need = row["TinyEngine"]["bytes"] / 1024
            agree = "yes" if round(need) == row["published_kib"] else f"{need:.1f}"
            numbers = [kibibytes(row["TinyEngine"]["tensors"]), f"{need:.2f}"]
            body.append([row["network"], *numbers, str(row["published_kib"]), agree])
    return table(head, body)


def networks(rows: Sequence[Row]) -> str:
    """Whole networks: KiB of each, with what binds."""
    head = ["network", "input", "ours", "least", "extra MACs", "TinyEngine", "HMCOS"]
    head += ["TFLite Micro", "saved against TinyEngine", "s"]
    body = []
    for row in rows:
        shape = "×".join(map(str, row["input"]))
        last = row["front"][-1]
        cells = [row["network"], shape, kibibytes(row["ram"]) + _open(row)]
        cells += [kibibytes(last["ram_bytes"]), f"{last['extra_macs'] / row['macs']:.1%}"]
        cells += [kibibytes(row[s]["bytes"]) for s in ("TinyEngine", "HMCOS", "TFLite Micro")]
        share = 1 - row["ram"] / row["TinyEngine"]["bytes"]
        body.append([*cells, f"{share:.1%}", f"{row['seconds']:.1f}"])
    return table(head, body, texts=2)


def _open(row: Row) -> str:
    return ("" if row["checked"] else "\\*") + ("" if row["proven"] else " (not proven)")


def binding(rows: Sequence[Row]) -> str:
    """The operators that bind each whole network."""
    head = ["network", "ours", "TinyEngine", "HMCOS", "TFLite Micro"]
    body = []
    for row in rows:
        others = [row[s]["binding"] for s in ("TinyEngine", "HMCOS", "TFLite Micro")]
        body.append([row["network"], _block(row["front"][0]["binding"]), *others])
    return table(head, body, texts=5)


def fronts(rows: Sequence[Row]) -> str:
    """RAM against MACs computed again, with the block that binds."""
    head = ["network", "RAM, KiB", "extra MACs", "share", "binding block"]
    body = []
    for row in rows:
        for point in some_of(row["front"], MOST_POINTS):
            again = point["extra_macs"]
            cells = [kibibytes(point["ram_bytes"]), f"{again / 1e6:,.2f} M"]
            share = f"{again / row['macs']:.1%}"
            body.append([row["network"], *cells, share, _block(point["binding"])])
    return table(head, body)


def _block(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
