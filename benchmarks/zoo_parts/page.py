"""`docs/zoo.md`: the table of all networks, with totals above and what is wrong by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from zoo_parts.case import Family
from zoo_parts.examine import PLANNERS
from zoo_parts.explained import EXPLAINED
from zoo_parts.results import Results

Row = Mapping[str, Any]

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"
FACTS = ("macs", "parameters", "shapes", "computed")
BESIDE = ("opencv-python-headless", "ultralytics-thop")
"""Of these two, other packages need parts."""
_SITE = re.compile(r"\S*/site-packages/|\S*/zoo-\w+/")
_SHORT = {
    "valid": "✓",
    "no time": "…",
    "needs more, then valid": "✓ at its need",
    "needs more, then no time": "… at its need",
}
_HEAD = """# The zoo

Networks from outside: read, compared with independent sources, planned by four planners, each plan
checked, and run where there is a module. `python benchmarks/zoo.py` writes this page from its
results; `--only FAMILY` does a part, `--packages` prints how to install what it needs.

* **read**: the network became a graph. A network that is refused says why, in one line.
* **facts**: MACs against `torch.utils.flop_counter` on a run of the module, or against products by
  the shapes that onnxruntime gives; parameters against those that a run of the module reads, or
  the file's weights; shapes and types of a file's values against onnxruntime's; and for modules the
  graph itself, run operator by operator, against what the module returns.
* **planners**: plans at two budgets, MR and MP (twice MR where MP is no more);
  every plan is replayed by `check`. "✓ at its need": the budget was too small, and what the planner
  then said to need was enough. "…": no plan within the processor seconds that a plan has here.
  ✓✓: two budgets.
* **executed**: the plans of small modules, run in an arena of their bytes: how many of the four
  gave what the module gives.
"""


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
    text = [_HEAD, _totals(rows), _wrong(wrong)]
    for family in families:
        its = [(name, row) for kind, name, row in rows if kind == family.name]
        if its:
            text.append(_table(family.name, its))
    listed = ", ".join(f"{name} {number}" for name, number in packages.items())
    text.append(f"## Versions\n\n{listed}.\n")
    PAGE.write_text("\n".join(text), encoding="utf-8")
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
        f"* {len(rows)} networks: {len(read)} read, {len(refused)} refused in the words below.",
    ]
    for fact in FACTS:
        said = [row["facts"][fact] for row in read if fact in row.get("facts", {})]
        equal = sum(text.startswith("equal") for text in said)
        apart = sum(_differs(text) for text in said)
        lines.append(
            f"* {fact}: {equal} equal, {apart} different (explained, or named below as "
            f"wrong), {len(said) - equal - apart} not compared."
        )
    for planner in PLANNERS:
        count = Counter(_kind(v) for row in read for v in row.get("plans", {}).get(planner, ()))
        ran = Counter(
            row["executed"][planner] for row in read if planner in row.get("executed", {})
        )
        lines.append(
            f"* {planner}: {count['valid']} valid plans; {count['no time']} not within the "
            f"time; {count['refused']} refused; {count['wrong']} wrong; executed: "
            f"{ran['equal']} equal of {_verdicts(ran)}."
        )
    return "\n".join(lines) + "\n"


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
        return "Nothing is wrong in silence, and no plan is invalid.\n"
    return "## Wrong\n\n" + "\n".join(f"* {_clean(line)}" for line in wrong) + "\n"


def _table(family: str, rows: Sequence[tuple[str, Row]]) -> str:
    head = [
        f"## {family}",
        "",
        "| network | operators | MACs | facts | " + " | ".join(PLANNERS) + " | executed |",
        "|---|--:|--:|---|" + "---|" * len(PLANNERS) + "---|",
    ]
    return "\n".join([*head, *(_line(name, row) for name, row in rows)]) + "\n"


def _line(name: str, row: Row) -> str:
    shown = f"`{name}`"
    if row.get("read") != "read":
        return f"| {shown} | | | {row.get('read', 'ended')}: {_clean(row.get('said', ''))} |||||"
    cells = [shown, f"{row['operators']:,}", f"{row['macs']:,}", _facts(row)]
    cells += [_short(row.get("plans", {}).get(planner, ())) for planner in PLANNERS]
    ran = [verdict for verdict in row.get("executed", {}).values() if _ended(verdict)]
    cells.append(f"{ran.count('equal')} of {len(ran)}" if ran else "")
    return "| " + " | ".join(cells) + " |"


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
    return "".join(_SHORT.get(verdict, _clean(verdict)) for verdict in verdicts)


def _clean(text: str) -> str:
    """For a cell of a table: without the folders of this machine."""
    text = _SITE.sub("", text).replace("|", "/").replace("<", "‹").replace(">", "›")
    return text.replace("*", "\\*").replace("_", "\\_")
