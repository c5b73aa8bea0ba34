"""Times that a problem gives: typed rows, checked on load, and printed with the makespan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.core.errors import BadInput
from planners.core.program import Compute, Load
from planners.core.times import GivenTimes, LayerTime

TINY = {"input_shape": (1, 3, 64, 64)}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> sp.Plan:
    """Parameters streamed in two stages, with a table of a millisecond for each thing."""
    graph = sp.load("squeezenet1_1", **TINY)
    path = tmp_path_factory.mktemp("times") / "mine.csv"
    rows = [f"{op.name},0.001,0.001,0.001" for op in graph.operators]
    path.write_text("\n".join(["layer,read_s,copy_s,kernel_s", *rows]))
    made = sp.plan(graph, "streaming", "64MiB", "npu_small", pipeline="2s", times=str(path))
    sp.check(made)
    return made


IDEAL = "roofline of jetson_xavier, an ideal machine"


def edited(plan: sp.Plan, change: Any) -> dict[str, Any]:
    """The plan's file after an edit of its times."""
    data = json.loads(json.dumps(plan.to_json()))
    change(data["times"])
    return data


def test_a_trace_says_who_gave_the_times(plan: sp.Plan) -> None:
    said = "given by table mine.csv, not the machine's roofline"
    assert sp.simulate(plan).times == sp.summary(plan)["times"] == said
    assert ("times", said) in sp.simulate(plan).facts()
    assert sp.simulate(plan, "jetson_xavier").times == IDEAL
    assert sp.simulate(replace(plan, times=None)).times == "roofline of npu_small"


def test_times_survive_a_file(plan: sp.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")
    again = sp.Plan.load(tmp_path / "plan.json")
    assert again.times == plan.times
    assert sp.simulate(again).makespan_s == sp.simulate(plan).makespan_s


def drop(times: dict[str, Any]) -> None:
    del times["rows"][0]


def repeat(times: dict[str, Any]) -> None:
    times["rows"].append(times["rows"][0])


def cell(column: str, value: Any) -> Any:
    def change(times: dict[str, Any]) -> None:
        times["rows"][2][column] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop, "operator '.*' has no row"),
        (repeat, "operator '.*' has two rows"),
        (cell("operator", "nowhere"), "has no operator 'nowhere'"),
        (cell("read_s", -1.0), r"times.rows\[2\].read_s is -1.0, not a number of 0 to"),
        (cell("copy_s", float("nan")), r"rows\[2\].copy_s is nan"),
        (cell("kernel_s", float("inf")), r"rows\[2\].kernel_s is inf"),
        (cell("kernel_s", "0"), r"rows\[2\].kernel_s is '0'"),
        (cell("kernel_s", True), r"rows\[2\].kernel_s is True"),
        (lambda times: times["rows"][0].update(part=[[0, 1]]), "has two rows"),
        (lambda times: times.update(source=3), "times.source is 3, not text"),
        (lambda times: times.pop("source"), "times: 'source' is missing"),
    ],
)
def test_rows_that_make_no_sense_are_refused(plan: sp.Plan, change: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        sp.Plan.from_json(edited(plan, change))


def test_rows_of_another_graph_are_refused_where_they_are_used(plan: sp.Plan) -> None:
    other = replace(plan, times=GivenTimes("mine", (LayerTime("conv", 0.0, 0.0, 0.0),)))
    with pytest.raises(BadInput, match="has no operator 'conv'"):
        sp.simulate(other)


def test_loads_that_are_taken_apart_take_no_less(plan: sp.Plan) -> None:
    items = [
        replace(item, joined=False) if isinstance(item, Load) else item
        for item in plan.program.instructions
    ]
    apart = replace(plan, program=replace(plan.program, instructions=tuple(items)))
    trace = sp.simulate(apart)
    streamed = sum(bool(op.parameters) for op in plan.graph.operators)
    assert trace.busy_s["storage"] == pytest.approx(0.001 * streamed)
    assert trace.makespan_s == pytest.approx(sp.simulate(plan).makespan_s)


def test_a_part_that_no_row_speaks_of_is_named(plan: sp.Plan) -> None:
    items = [
        replace(item, parts=(tuple((0, 1) for _ in item.writes[0].piece.box),))
        if isinstance(item, Compute)
        else item
        for item in plan.program.instructions
    ]
    from planners.simulator.given_times import seconds_of

    assert plan.times is not None
    program = replace(plan.program, instructions=tuple(items))
    with pytest.raises(BadInput, match="mine.csv has no row for a part of operator"):
        seconds_of(program, plan.graph, plan.times)


def test_a_plan_with_the_seconds_of_older_versions_opens_and_takes_its_layers_times(
    plan: sp.Plan,
) -> None:
    data = json.loads(json.dumps(plan.to_json()))
    del data["times"]
    data["details"]["seconds"] = [0.0] * len(data["program"]["instructions"])
    older = sp.Plan.from_json(data)
    assert "seconds" not in older.to_json()["details"]
    assert sp.simulate(older).makespan_s == sp.simulate(plan).makespan_s
    assert sp.simulate(older).times == sp.simulate(plan).times
