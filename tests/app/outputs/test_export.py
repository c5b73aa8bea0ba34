"""What is taken away: other tools read it, and it says what the plan says."""

from __future__ import annotations

import io
import json

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.file_names import file_stem
from app.outputs.export import lifetimes_csv, trace_json
from planners.allocation import pack
from planners.allocation.csv_io import read_lifetimes
from tests.random_graphs import random_graph


def test_lifetimes_are_read_by_pack_and_fit_where_the_plan_fits(shown: DisplayedPlan) -> None:
    found = read_lifetimes(io.StringIO(lifetimes_csv(shown)))
    assert len(found) == len(shown.report.residencies)
    assert len({item.id for item in found}) == len(found)
    assert any(item.id.endswith("#2") for item in found)
    assert pack(found, shown.plan.budget_bytes).status == "packed"


def test_no_cell_of_the_lifetimes_is_a_formula() -> None:
    plan = sp.plan(random_graph(1, 5, largest=30), budget="MP")
    name = plan.graph.outputs[0]
    text = json.dumps(plan.to_json()).replace(json.dumps(name), '"-2+3+cmd"')
    cells = {line.split(",")[0] for line in lifetimes_csv(show(text)).splitlines()}
    assert "'-2+3+cmd" in cells
    assert "-2+3+cmd" not in cells


@pytest.mark.parametrize("serial", [False, True])
def test_the_trace_has_every_interval_and_ends_with_the_plan(
    shown: DisplayedPlan, serial: bool
) -> None:
    trace = shown.serial_trace if serial else shown.trace
    events = json.loads(trace_json(shown, serial))["traceEvents"]
    runs = [e for e in events if e["ph"] == "X"]
    assert len(runs) == len(trace.intervals)
    assert max(e["ts"] + e["dur"] for e in runs) == pytest.approx(trace.makespan_s * 1e6)
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {e["cat"] for e in runs} == set(named.values())
    assert max(e["args"]["bytes"] for e in events if e["ph"] == "C") == shown.report.peak_bytes


def test_file_names_are_plain(shown: DisplayedPlan) -> None:
    assert file_stem(shown) == f"vit_b_16-{shown.plan.budget_bytes}"
