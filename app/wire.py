"""A checked, timed plan as plain data: what a worker sends, so that the server need not replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import planners as sp
from app.shown import Shown
from planners.program import Piece, Span

REPORT = ("loaded_bytes", "stored_bytes", "compulsory_bytes", "peak_bytes", "peak_step")
REPORT += ("extent_bytes", "macs", "instructions", "occupancy")
TRACE = ("machine", "serial", "makespan_s", "traffic_bytes", "peak_bytes", "extent_bytes")
TRACE += ("energy", "busy_s")
STAY = ("start_step", "stop_step", "start_instruction", "stop_instruction", "origin", "ending")


def to_wire(shown: Shown) -> dict[str, Any]:
    """The plan's text, what the check found, and the times: everything `from_wire` needs."""
    report = {name: getattr(shown.report, name) for name in REPORT}
    report["residencies"] = [_stay_row(stay) for stay in shown.report.residencies]
    trace = {name: getattr(shown.trace, name) for name in TRACE}
    trace["intervals"] = [astuple(interval) for interval in shown.trace.intervals]
    return {"plan": shown.text, "report": report, "trace": trace}


def from_wire(data: Mapping[str, Any]) -> Shown:
    """What `to_wire` wrote; the plan is parsed, but neither checked nor timed again."""
    plan = sp.Plan.from_json(json.loads(data["plan"]))
    report, trace = dict(data["report"]), dict(data["trace"])
    report["occupancy"] = tuple(report["occupancy"])
    report["residencies"] = tuple(map(_stay, report["residencies"]))
    trace["intervals"] = tuple(sp.Interval(*row) for row in trace["intervals"])
    return Shown(plan, sp.CheckReport(**report), sp.Trace(**trace), data["plan"])


def _stay_row(stay: sp.Residency) -> list[Any]:
    spans = [astuple(span) for span in stay.spans]
    rest = [getattr(stay, name) for name in STAY]
    return [stay.piece.tensor, stay.piece.box, stay.memory, spans, *rest]


def _stay(row: list[Any]) -> sp.Residency:
    tensor, box, memory, spans, *rest = row
    piece = Piece(tensor, tuple((start, stop) for start, stop in box))
    return sp.Residency(piece, memory, tuple(Span(*span) for span in spans), *rest)
