"""A checked, timed plan as plain data: what a worker sends, so that the server need not replay.

The server draws and explains a plan but never runs it. It gets the plan's own text, packed, which
is also what is saved, and what the check and the times found as columns. Of a program that is drawn
in bundles it gets these; its text comes later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.packed_columns import pack_columns, unpack_columns
from app.model.packing import unpacked
from planners.simulator.records.interval_columns import (
    HeldIntervals,
    IntervalColumns,
    columns_of_intervals,
)
from planners.simulator.records.residency_columns import ResidencyColumns, ResidencyRows

TOTALS = ("loaded_bytes", "stored_bytes", "compulsory_bytes", "peak_bytes", "peak_step")
REPORT = (*TOTALS, "extent_bytes", "macs", "instructions", "occupancy")
COSTS = ("makespan_s", "traffic_bytes", "peak_bytes", "extent_bytes", "energy")
TRACE = ("machine", "serial", *COSTS, "busy_s", "times", "touched_bytes")

_graphs: WeakValueDictionary[bytes, sp.Graph] = WeakValueDictionary()


def to_wire(shown: DisplayedPlan) -> dict[str, Any]:
    """The plan to be drawn, the report of the check, the times, and the plan's own text, packed."""
    data: dict[str, Any] = {
        "packed": shown.packed,
        "report": {name: getattr(shown.report, name) for name in REPORT},
        "stays": pack_columns(shown.residency_columns),
        "trace": {name: getattr(shown.trace, name) for name in TRACE},
        "intervals": pack_columns(columns_of_intervals(shown.trace.intervals)),
    }
    return data if shown.packed else {**data, "drawn": shown.plan.to_json()}


def from_wire(data: Mapping[str, Any]) -> DisplayedPlan:
    """What `to_wire` wrote; the plan is parsed, but neither checked nor timed again.

    Plans of the same network share its graph, a third of what they hold.
    """
    drawn = data["drawn"] if "drawn" in data else json.loads(unpacked(data["packed"]))
    report, trace = dict(data["report"]), dict(data["trace"])
    report["occupancy"] = tuple(report["occupancy"])
    report["residencies"] = ResidencyRows(unpack_columns(ResidencyColumns, data["stays"]))
    trace["intervals"] = HeldIntervals(unpack_columns(IntervalColumns, data["intervals"]))
    plan = sp.Plan.from_json(drawn)
    key = blake2b(json.dumps(drawn["graph"]).encode()).digest()
    plan = replace(plan, graph=_graphs.setdefault(key, plan.graph))
    return DisplayedPlan(plan, sp.CheckReport(**report), sp.Trace(**trace), data["packed"])
