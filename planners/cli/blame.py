"""`spillway blame`: what a plan's peak is made of, and the cheapest change that lowers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.options import TimeLimit
from planners.cli.output import CommandAnswer, Reporter, size_text
from planners.core.errors import BadInput
from planners.core.files import write_json
from planners.importers.registry import format_of

if TYPE_CHECKING:
    from planners.audits.blame.blame import Blame, BlamedShare

AUDITED = (".tflite", ".json")
"""Files of models that say how they are planned."""
MOST_LINES = 8
"""Tensors and blocks that are printed; `--json` has all."""


@app.command()
def blame(
    plan: Annotated[Path, typer.Argument(help="a plan, or another tool's plan that `audit` reads")],
    plans: Annotated[
        Path | None, typer.Option("--plans", help="a folder for the plans with each change")
    ] = None,
    time_limit: TimeLimit = 30.0,
    as_json: AsJson = False,
) -> None:
    """What is a plan's peak made of? By kind, block and tensor, each with what lowers it.

    Every change is planned and replayed: the new peak is that of a plan, not an estimate.
    """
    if format_of(plan) is not None and plan.suffix.lower() not in AUDITED:
        raise BadInput(
            f"{plan} is a model: run spillway plan {plan} --out plan.json, "
            "then spillway blame plan.json"
        )
    with Reporter(f"blaming {plan.name}") as reporter:
        blamed = sp.blame(plan, time_limit=time_limit, should_stop=lambda: reporter.stop)
    facts = blamed.to_json()
    if plans is not None:
        facts["plans"] = _save(blamed, plans)
    CommandAnswer(as_json).give(facts, _text(blamed))


def _save(blamed: Blame, folder: Path) -> list[str | None]:
    """Write the plan of each change that has one; their paths in the order of the changes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write into {folder}: {error.strerror}") from error
    paths: list[str | None] = []
    for number, change in enumerate(blamed.changes, 1):
        path = folder / f"{number}.plan.json" if change.plan else None
        if path is not None and change.plan is not None:
            write_json(path, change.plan.to_json())
        paths.append(None if path is None else str(path))
    return paths


def _text(blamed: Blame) -> str:
    where = f"in step {blamed.step + 1} ({blamed.operator})" if blamed.operator else ""
    lines = [f"{blamed.name}: a peak of {size_text(blamed.peak_bytes)} {where}".rstrip()]
    for title, shares in (
        ("by kind", blamed.by_kind()),
        ("by block", blamed.by_block()),
        ("by tensor", blamed.by_tensor()),
    ):
        lines += [title, *_lines(shares)]
    lines.append("changes that lower it, one at a time, cheapest first" if blamed.changes else NONE)
    for change in blamed.changes:
        size, share = size_text(change.peak_bytes), change.saved_bytes / blamed.peak_bytes
        cost = f", moves {change.more_bytes:,} bytes more" if change.more_bytes > 0 else ""
        cost += f", {change.more_macs:,} MACs repeated" if change.more_macs > 0 else ""
        proven = ", proven" if change.proven else ""
        wish = f" (--wish '{change.wish}')" if change.wish else ""
        lines.append(f"  {size:<{WIDE}}{change.words:.70}: {share:.1%} less{cost}{proven}{wish}")
    return "\n".join(lines if blamed.finished else [*lines, TIME_OVER])


TIME_OVER = "time ran out before all changes were planned: raise --time-limit"
WIDE = 26
NONE = "none of the planned changes lowers it"


def _lines(shares: Sequence[BlamedShare]) -> list[str]:
    lines = []
    for share in shares[:MOST_LINES]:
        change = share.cheapest
        then = f"; {change.words:.60}: a peak of {change.peak_bytes:,}" if change else ""
        lines.append(f"  {size_text(share.size_bytes):<{WIDE}}{share.name:.60}{then}")
    rest = len(shares) - MOST_LINES
    return [*lines, f"  and {rest} more"] if rest > 0 else lines
