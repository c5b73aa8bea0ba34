"""`spillway audit`: another tool's plan, judged, and a better one written."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.audits.readers.by_format import write_table
from planners.audits.verdict.audit import Audit
from planners.audits.verdict.judge import BlamedTensor, MemoryAudit
from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import TimeLimit
from planners.cli.output import CommandAnswer, Reporter, fail, print_table, size_text
from planners.core.files import write_json, write_text

MOST_LINES = 8
"""Tensors of a list that are printed; `--json` has them all."""
PLAN = "a .tflite, .pte or .csv file, or a listing of Vela or XLA"


@app.command()
def audit(
    file: Annotated[Path, typer.Argument(help=PLAN)],
    memory: Annotated[str | None, typer.Option("--memory", help="audit only this memory")] = None,
    max_peak: Annotated[
        str | None,
        typer.Option(
            "--max-peak",
            help="exit with 3 if the plan needs more (of an arena: its head) or has conflicts, "
            "e.g. 64KiB",
        ),
    ] = None,
    max_arena: Annotated[
        str | None,
        typer.Option(
            "--max-arena",
            help="exit with 3 if TensorFlow Lite Micro's arena, head and tail, needs more "
            "(requires the wheel tflite-micro)",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="write the better placement there, as CSV")
    ] = None,
    as_plan: Annotated[
        Path | None, typer.Option("--as-plan", help="write the audited plan for the explorer")
    ] = None,
    better_as_plan: Annotated[
        Path | None, typer.Option("--better-as-plan", help="write the better placement as a plan")
    ] = None,
    time_limit: TimeLimit = 60.0,
    as_json: AsJson = False,
) -> None:
    """Audit another tool's plan: conflicts, its peak, the proven least, and what binds."""
    shown = {"--as-plan": as_plan, "--better-as-plan": better_as_plan}
    require_distinct([file], {"--out": out, **shown})
    limit = None if max_peak is None else sp.parse_size(max_peak)
    most = None if max_arena is None else sp.parse_size(max_arena)
    with Reporter(f"auditing {file.name}") as reporter:
        verdict = sp.audit(
            file,
            memory=memory,
            changes=limit is None and most is None,
            time_limit=time_limit,
            should_stop=lambda: reporter.stop,
        )
    if out is not None:
        text = StringIO()
        write_table(text, verdict.better().tensors)
        write_text(out, text.getvalue())
    for better, path in enumerate(shown.values()):
        if path is not None:
            write_json(path, verdict.as_plan(better=bool(better), memory=memory).to_json())
    facts = verdict.facts()
    if most is not None:
        _require_arena(verdict, most, facts, as_json)
    if limit is None or not (verdict.broken or verdict.judged_bytes > limit):
        CommandAnswer(as_json).give(facts, _text(verdict))
        return
    high = verdict.to_blame(limit)
    named = ", ".join(f"{verdict.name(b.id)!r:.60} ends at {b.stop:,}" for b in high[:3])
    over = f"{verdict.judged_bytes:,} bytes are more than {limit:,}"
    if verdict.least_bytes > limit:
        over += f"; no placement of these lifetimes needs less than {verdict.bound_bytes:,}"
    why = verdict.sentence() if verdict.broken else over
    message = f"{file.name}: {why}" + (f": {named}" if named and not verdict.broken else "")
    if not as_json:
        print(_text(verdict))
    status = {"status": "broken" if verdict.broken else "over", "max_peak_bytes": limit}
    to_blame = [{"id": b.id, "name": verdict.name(b.id), "stop": b.stop} for b in high]
    raise typer.Exit(fail(message, {**facts, **status, "blame": to_blame}, as_json, 3))


def _require_arena(verdict: Audit, most: int, facts: dict[str, Any], as_json: bool) -> None:
    """End with 3 where a measured arena needs more than `most` bytes. Raises `BadInput` where the
    plan is of no arena with a tail."""
    need = verdict.arena
    if need is None:
        raise sp.BadInput("--max-arena: only TensorFlow Lite Micro's arena has a head and a tail")
    if not need.measured and not as_json:
        print("--max-arena: not checked, because the tail is only estimated")
    if need.total_bytes <= most or not need.measured:
        return
    message = f"{Path(verdict.plan.source).name}: {need.total_bytes:,} bytes are more than {most:,}"
    if not as_json:
        print(_text(verdict))
    status = {"status": "over", "max_arena_bytes": most}
    raise typer.Exit(fail(f"{message}: {need.sentence()}", {**facts, **status}, as_json, 3))


def _text(verdict: Audit) -> str:
    """The verdict for people: the sentence, then a table a memory, then notes."""
    tables = [_table(verdict, memory) for memory in verdict.memories]
    arena = [verdict.arena.sentence()] if verdict.arena else []
    lines = [*arena, *_role_lines(verdict), *_gain_lines(verdict), *verdict.plan.notes]
    return "\n".join([verdict.sentence(), *tables, *lines])


def _role_lines(verdict: Audit) -> list[str]:
    """What the tool keeps that the network does not name, or keeps larger."""
    with_roles = verdict.with_roles
    if not with_roles:
        return []
    lines = [f"  {tensor.called:.90} of {tensor.size_bytes:,} bytes" for tensor in with_roles]
    return ["copies and wider maps", *lines[:MOST_LINES], *_more(len(lines))]


def _gain_lines(verdict: Audit) -> list[str]:
    """What each change would buy by itself."""
    lines = ["what each change alone would need"] if verdict.gains else []
    for gain in verdict.gains:
        share = gain.saved_bytes / verdict.judged_bytes if verdict.judged_bytes else 0.0
        proven = ", proven" if gain.proven else ""
        lines.append(f"  {gain.change:<29}{size_text(gain.extent_bytes)}, {share:.1%} less{proven}")
    return lines


def _table(verdict: Audit, memory: MemoryAudit) -> str:
    own_bytes = memory.own_bytes
    peak = "no addresses" if memory.peak_bytes is None else size_text(memory.peak_bytes)
    if own_bytes is not None and own_bytes != memory.peak_bytes:
        peak += f"; the tool says {own_bytes:,}"
    proof = "proven" if memory.proven else f"not proven; no less than {memory.bound_bytes:,}"
    facts = {
        "memory": memory.memory or "one",
        "tensors": f"{memory.tensors}"
        + (f", {memory.unplaced} without a place" * bool(memory.unplaced)),
        "conflicts": len(memory.conflicts) or "none",
        "peak": peak,
        "floor": f"{size_text(memory.floor_bytes)} in step {verdict.step(memory.worst_step)}",
        "least": f"{size_text(memory.least_bytes)}, {proof}",
        "binds": "their placement: " * memory.packing + _named(verdict, memory.binding),
    }
    if memory.capacity_bytes is not None:
        facts["capacity"] = size_text(memory.capacity_bytes)
    if memory.blame and memory.peak_bytes != memory.least_bytes:
        facts["to blame"] = ""
    lines = [print_table(facts)]
    if "to blame" in facts:
        lines += [f"  {_blame_line(verdict, tensor)}" for tensor in memory.blame[:MOST_LINES]]
        lines += _more(len(memory.blame))
    return "\n".join(lines)


def _named(verdict: Audit, ids: tuple[str, ...]) -> str:
    shown = ", ".join(f"{verdict.name(id):.60}" for id in ids[:MOST_LINES])
    return shown + "".join(_more(len(ids)))


def _more(count: int) -> list[str]:
    return [f"  and {count - MOST_LINES} more"] if count > MOST_LINES else []


def _blame_line(verdict: Audit, tensor: BlamedTensor) -> str:
    return (
        f"{verdict.name(tensor.id):.60} of {tensor.size_bytes:,} bytes ends at {tensor.stop:,}; "
        f"at most {tensor.live_bytes:,} are live while it is"
    )
