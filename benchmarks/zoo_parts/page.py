"""`docs/zoo.md`: the table of all networks, with totals above and what is wrong by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from planners.core.files import write_text
from planners.study.long_tables import LongTable, ReportPage, TextTable, to_csv
from planners.study.table_charts import TableForm
from zoo_parts.case import Family
from zoo_parts.examine import PLANNERS
from zoo_parts.explained import EXPLAINED
from zoo_parts.results import Results

Row = Mapping[str, Any]

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"
DATA = PAGE.parent / "data"
NAMES = {
    "macs": "MACs",
    "parameters": "parameters",
    "shapes": "shapes and types",
    "computed": "computed values",
}
FACTS = tuple(NAMES)
BESIDE = ("opencv-python-headless", "ultralytics-thop")
"""Of these two, other packages need parts."""
_SITE = re.compile(r"\S*/site-packages/|\S*/zoo-\w+/")
_HEAD = """# The zoo

Are networks from outside read right, does every planner plan them, and do the plans compute what
the networks do? `python benchmarks/zoo.py` reads them, compares what is read with independent
sources, plans them with four planners, checks every plan, runs those of small modules, and writes
this page. `--only FAMILY` does a part, `--packages` prints how to install what it needs; the
[versions](data/zoo_versions.csv) are those that were read."""
NETWORKS = TableForm.parse(
    f"networks: family; network | {'; '.join(PLANNERS)} | what became of the plans; tiles"
)
_COLUMNS = """## Networks

* **facts**: MACs against `torch.utils.flop_counter` or the shapes that onnxruntime gives;
  parameters against those that a run of the module reads, or the file's weights; shapes and types
  of a file's values against onnxruntime's; and for modules (*computed*) the graph itself, run
  operator by operator.
* **planners**: plans at two budgets, MR and MP (twice MR where MP is no more). *Valid*: `check`
  replayed them. *Needs more, then valid*: the budget was too small, and what the planner then
  said to need was enough. *No time*: no plan within the processor seconds that a plan has here.
* **executed**: plans of small modules, run in an arena of their bytes."""


def versions(families: Iterable[Family]) -> dict[str, str]:
    """The packages that the families need, as they are installed here."""
    found = {}
    for name in dict.fromkeys(["torch", *(p for f in families for p in f.packages)]):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def commands(families: Iterable[Family]) -> str:
    """How to install what the zoo needs beside the project, which needs none of it."""
    names = [name for family in families for name in family.packages]
    alone = dict.fromkeys(n for n in (*names, *BESIDE) if n not in _WITH_THEIR_NEEDS)
    together = [n for n in _WITH_THEIR_NEEDS if n in names]
    return "\n".join(
        [
            "python3 -m venv zoo-venv",
            "zoo-venv/bin/pip install -c constraints.txt -e '.[timm,test]' " + " ".join(together),
            "zoo-venv/bin/pip install --no-deps " + " ".join(alone),
            "rm -rf zoo-venv/lib/python3*/site-packages/torchaudio/lib  # made for CUDA",
        ]
    )


_WITH_THEIR_NEEDS = ("transformers", "diffusers", "onnxruntime", "onnxscript")


def page(families: Sequence[Family], results: Results, packages: Mapping[str, str]) -> list[str]:
    """Write the page. Returns the networks with something wrong, and what it is."""
    rows = [
        (family.name, name, row)
        for family in families
        for name in family.names()
        if (row := results.row(family.name, name)) is not None and row.get("read") != "not made"
    ]
    wrong = [f"{family}/{name}: {what}" for family, name, row in rows for what in faults(row)]
    parts = [_HEAD, _totals(rows), _wrong(wrong), _refused(rows), _COLUMNS]
    page = ReportPage([*(part for part in parts if part), LongTable(NETWORKS, _table(rows))])
    write_text(PAGE, page.with_files(DATA, DATA.name, PAGE.stem))
    write_text(DATA / "zoo_versions.csv", to_csv([("package", "version"), *packages.items()]))
    return wrong


def faults(row: Row) -> list[str]:
    """What is wrong with a network: an unexplained fact, a plan that does not hold, an end."""
    found = []
    if row.get("read") == "failed":
        found.append(f"no clean refusal: {row['said']}")
    if row.get("lines", 1) > 1:
        found.append("a refusal of several lines")
    if "died" in row:
        found.append(f"its process ended {row['died']}")
    for fact, said in row.get("facts", {}).items():
        if _differs(said) and not _explained(row, fact):
            found.append(f"{fact}: {said}")
    for planner, verdicts in row.get("plans", {}).items():
        found += [f"{planner}: {v}" for v in verdicts if "INVALID" in v or "FAILED" in v]
    for planner, verdict in row.get("executed", {}).items():
        if verdict not in ("equal", "no time") and not verdict.startswith("refused"):
            found.append(f"{planner}, executed: {verdict}")
    return found


def _differs(said: str) -> bool:
    return not said.startswith(("equal", "not compared"))


def _explained(row: Row, fact: str) -> str:
    return EXPLAINED.get((row["family"], row["name"], fact), "")


def _totals(rows: Sequence[tuple[str, str, Row]]) -> str:
    read = [row for _, _, row in rows if row.get("read") == "read"]
    refused = [row for _, _, row in rows if row.get("read") == "refused"]
    lines = [
        "## In all",
        "",
        f"* {len(rows)} networks: {len(read)} read, {len(refused)} refused with the reasons below.",
    ]
    for fact in FACTS:
        said = [row["facts"][fact] for row in read if fact in row.get("facts", {})]
        equal = sum(text.startswith("equal") for text in said)
        apart = sum(_differs(text) for text in said)
        lines.append(
            f"* {NAMES[fact]}: {equal} equal, {apart} different, "
            f"{len(said) - equal - apart} not compared."
        )
    for planner in PLANNERS:
        count = Counter(_kind(v) for row in read for v in row.get("plans", {}).get(planner, ()))
        ran = Counter(
            row["executed"][planner] for row in read if planner in row.get("executed", {})
        )
        lines.append(
            f"* `{planner}`: {count['valid']} valid plans, {count['no time']} not within the "
            f"time, {count['refused']} refused, {count['wrong']} wrong; executed "
            f"{_verdicts(ran)}, {ran['equal']} of them equal."
        )
    lines += ["", "Each difference is explained in the table, or named as wrong."]
    return "\n".join(lines)


def _verdicts(ran: Counter[str]) -> int:
    """Executions that came to an end."""
    return sum(count for said, count in ran.items() if _ended(said))


def _ended(said: str) -> bool:
    return said != "no time" and not said.startswith("refused")


def _kind(verdict: str) -> str:
    for word, kind in (("INVALID", "wrong"), ("FAILED", "wrong"), ("no time", "no time")):
        if word in verdict:
            return kind
    return "valid" if verdict.endswith("valid") else "refused"


def _wrong(wrong: Sequence[str]) -> str:
    if not wrong:
        return "No difference is without an explanation, and no plan is invalid."
    return "\n".join(["## Wrong", "", *(f"* {_clean(line)}" for line in wrong)])


def _refused(rows: Sequence[tuple[str, str, Row]]) -> str:
    lines = [
        f"* `{name}` ({family}): {_clean(row.get('said', ''))}"
        for family, name, row in rows
        if row.get("read") == "refused"
    ]
    return "\n".join(["## Refused", "", *lines]) if lines else ""


def _table(rows: Sequence[tuple[str, str, Row]]) -> TextTable:
    head = ["family", "network", "operators", "MACs", "facts", *PLANNERS, "executed"]
    return TextTable(head, [_cells(*row) for row in rows], 2)


def _cells(family: str, name: str, row: Row) -> list[str]:
    if row.get("read") != "read":
        said = f"{row.get('read', 'ended')}: {_clean(row.get('said', ''))}"
        return [family, f"`{name}`", "", "", said, *[""] * (len(PLANNERS) + 1)]
    ran = [verdict for verdict in row.get("executed", {}).values() if _ended(verdict)]
    return [
        *(family, f"`{name}`", f"{row['operators']:,}", f"{row['macs']:,}", _facts(row)),
        *(_short(row.get("plans", {}).get(planner, ())) for planner in PLANNERS),
        f"{ran.count('equal')} of {len(ran)}" if ran else "",
    ]


def _facts(row: Row) -> str:
    said = []
    facts = row.get("facts", {})
    equal = [fact for fact, text in facts.items() if text == "equal"]
    if equal:
        said.append(f"{', '.join(equal)} equal")
    for fact, text in facts.items():
        if fact not in equal:
            said.append(f"{fact}: {_clean(_explained(row, fact) or text)}")
    if row.get("opaque"):
        said.append(f"opaque: {', '.join(row['opaque'])}")
    if "died" in row:
        said.append(f"ended {row['died']}")
    return "; ".join(said)


def _short(verdicts: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(map(_clean, verdicts)))


def _clean(text: str) -> str:
    """For a cell of a table: without the folders of this machine."""
    text = _SITE.sub("", text).replace("|", "/").replace("<", "‹").replace(">", "›")
    return text.replace("*", "\\*").replace("_", "\\_")
