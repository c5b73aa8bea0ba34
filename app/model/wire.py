"""A checked, timed plan as plain data: what a worker sends, so that the server need not replay.

The server draws and explains a plan but never runs it. So it gets a program in which each operator
reads one box of each tensor, however many pieces it is in, and the plan itself as packed text, for
saving. Of a hundred thousand instructions that is a tenth of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

import planners as sp
from app.model.checked_plan import Shown
from planners.core.boxes import around
from planners.core.garbage import no_collection
from planners.core.program import Compute, Instruction, Operand, Piece, Program, Region, Span

TOTALS = ("loaded_bytes", "stored_bytes", "compulsory_bytes", "peak_bytes", "peak_step")
REPORT = (*TOTALS, "extent_bytes", "macs", "instructions", "occupancy")
COSTS = ("makespan_s", "traffic_bytes", "peak_bytes", "extent_bytes", "energy")
TRACE = ("machine", "serial", *COSTS, "busy_s", "times")
STAY = attrgetter(
    "start_step", "stop_step", "start_instruction", "stop_instruction", "origin", "ending"
)
INTERVAL, SPAN = (attrgetter(*(f.name for f in fields(kind))) for kind in (sp.Interval, Span))


@no_collection()
def to_wire(shown: Shown) -> dict[str, Any]:
    """The plan to be drawn, the report of the check, the times, and the plan's own text, packed."""
    report = {name: getattr(shown.report, name) for name in REPORT}
    report["residencies"] = [_stay_row(stay) for stay in shown.report.residencies]
    trace = {name: getattr(shown.trace, name) for name in TRACE}
    trace["intervals"] = [INTERVAL(interval) for interval in shown.trace.intervals]
    drawn = replace(shown.plan, program=drawn_program(shown.plan.program))
    return {"packed": shown.packed, "drawn": drawn.to_json(), "report": report, "trace": trace}


@no_collection()
def from_wire(data: Mapping[str, Any]) -> Shown:
    """What `to_wire` wrote; the plan is parsed, but neither checked nor timed again."""
    plan = sp.Plan.from_json(data["drawn"])
    report, trace = dict(data["report"]), dict(data["trace"])
    report["occupancy"] = tuple(report["occupancy"])
    report["residencies"] = tuple(map(_stay, report["residencies"]))
    trace["intervals"] = tuple(sp.Interval(*row) for row in trace["intervals"])
    return Shown(plan, sp.CheckReport(**report), sp.Trace(**trace), data["packed"])


def drawn_program(program: Program) -> Program:
    """The program with one read of each tensor in each compute: the box around its pieces."""
    return replace(program, instructions=tuple(_drawn(program.instructions)))


def _drawn(instructions: Iterable[Instruction]) -> Iterator[Instruction]:
    for item in instructions:
        if isinstance(item, Compute) and len(item.reads) > len(
            {o.piece.tensor for o in item.reads}
        ):
            item = replace(item, reads=tuple(_merged(item.reads)), frees=())
        yield item


def _merged(reads: Iterable[Operand]) -> Iterator[Operand]:
    merged: dict[str, tuple[Any, Region]] = {}
    for (tensor, box), region in reads:
        before, space = merged.get(tensor, (None, region._replace(size_bytes=0)))
        size = space.size_bytes + region.size_bytes
        merged[tensor] = (around(before, box), space._replace(size_bytes=size))
    for tensor, (box, region) in merged.items():
        yield Operand(Piece(tensor, box), region)


def _stay_row(stay: sp.Residency) -> list[Any]:
    spans = [SPAN(span) for span in stay.spans]
    return [stay.piece.tensor, stay.piece.box, stay.memory, spans, *STAY(stay)]


def _stay(row: list[Any]) -> sp.Residency:
    tensor, box, memory, spans, *rest = row
    piece = Piece(tensor, tuple((start, stop) for start, stop in box))
    return sp.Residency(piece, memory, tuple(Span(*span) for span in spans), *rest)
