"""Times that were measured: every planner takes them, and both scoreboards and floors agree."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import torch
from torch import nn

import planners as sp
from app.outputs.scripts import plan_as_python
from planners.core.bounds.floors import latency_floor_s
from planners.core.compute_seconds import ComputeSeconds
from planners.core.errors import BadInput
from planners.core.layer_times import with_times
from planners.simulator.timing import schedule
from tests.cases import cases
from tests.random_modules import random_case


def table(graph: sp.Graph, path: Path, random: Random) -> Path:
    rows = (f"{op.name},{random.uniform(1e-6, 1e-4)}" for op in graph.operators)
    path.write_text("\n".join(["layer,kernel_s", *rows, ""]))
    return path


@pytest.mark.parametrize(
    ("side", "budget"), [(32, "10KiB"), pytest.param(64, "40KiB", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("machine", ["npu_small", "npu_ideal"])
@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "joined", "auto"])
def test_every_planner_takes_them(
    planner: str, machine: str, side: int, budget: str, tmp_path: Path
) -> None:
    chain = [nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3, groups=16)]
    chain += [nn.Conv2d(16, 32, 1), nn.Sigmoid(), nn.Conv2d(32, 8, 3), nn.MaxPool2d(2)]
    graph = sp.from_torch(nn.Sequential(*chain), (torch.zeros(1, 3, side, side),))
    path = table(graph, tmp_path / "layers.csv", Random(planner))
    plan = sp.plan(graph, planner, budget, machine, time_limit=0.4, times=path)
    sp.check(plan)
    trace, least_s = sp.simulate(plan), sum(op.seconds or 0.0 for op in plan.graph.operators)
    assert trace.times.startswith("operators as given by table layers.csv")
    assert trace.makespan_s >= (latency_floor_s(plan) or 0.0) >= least_s
    assert trace.busy_s["compute"] >= least_s * (1 - 1e-9)
    intervals = schedule(plan.program, plan.machine, plan.graph)
    assert trace.makespan_s == max(each.stop_s for each in intervals)
    again = sp.Plan.from_json(plan.to_json())
    assert sp.simulate(again).makespan_s == trace.makespan_s


@pytest.mark.parametrize("seed", range(cases(8)))
def test_random_modules(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    path = table(graph, tmp_path / "layers.csv", Random(seed))
    if not graph.operators:
        pytest.skip("nothing to plan")
    for planner, machine, budget in (("cosma", "npu_small", "MR"), ("fusion", "npu_ideal", "1MiB")):
        options = {"objective": "latency", "times": str(path)}
        plan = sp.plan(graph, planner, budget, machine, 0.3, **options)  # type: ignore[arg-type]
        trace = sp.simulate(plan)
        intervals = schedule(plan.program, plan.machine, plan.graph)
        assert trace.makespan_s == max((each.stop_s for each in intervals), default=0.0)
        assert trace.makespan_s >= (latency_floor_s(plan) or 0.0) * (1 - 1e-9)


def test_a_part_takes_what_its_steps_are_of_all_of_it(tmp_path: Path) -> None:
    """32 channels are two steps of 16: 16 of them half, 17 and 24 all, and 4 no less than one."""
    graph = sp.from_torch(nn.Conv2d(16, 32, 1), (torch.zeros(1, 16, 8, 8),))
    (path := tmp_path / "layers.csv").write_text(
        f"layer,read_s,copy_s,kernel_s\n{graph.operators[0].name},1,1,8e-3\n"
    )
    compute = ComputeSeconds(with_times(graph, path), sp.load_machine("npu_small"))
    (op,) = compute.graph.operators if compute.graph else ()
    for channels, seconds in ((32, 8e-3), (24, 8e-3), (17, 8e-3), (16, 4e-3), (4, 4e-3)):
        box = ((0, 1), (0, channels), (0, 8), (0, 8))
        assert compute.parts_s(op, box, 1) == pytest.approx(seconds)
    ideal = ComputeSeconds(compute.graph, sp.load_machine("npu_ideal"))
    assert ideal.parts_s(op, ((0, 1), (0, 4), (0, 8), (0, 8)), 1) == pytest.approx(1e-3)


def test_layers_that_look_alike_and_take_other_times_are_no_twins(tmp_path: Path) -> None:
    layers = (nn.Conv2d(8, 8, 3, padding=1) for _ in range(4))
    graph = sp.from_torch(nn.Sequential(*layers), (torch.zeros(1, 8, 16, 16),))
    timed = with_times(graph, table(graph, tmp_path / "layers.csv", Random(0)))
    assert len({op.look for op in graph.operators}) == 1
    assert len({op.look for op in timed.operators}) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("layer,kernel_ms\n", "layers.csv: the first line must be layer,read_s,copy_s,kernel_s or"),
        ("layer,kernel_s\nconv,1\n", "layers.csv, line 2: .* has no layer 'conv'; did you mean"),
        ("layer,kernel_s\nconv2d,-1\n", "line 2: kernel_s must be seconds, zero or above"),
        ("layer,kernel_s\nconv2d,1,2\n", "line 2: 3 cells, not 2"),
        ("layer,kernel_s\n", "layer 'conv2d' is missing"),
        (None, "cannot read times from"),
    ],
)
def test_a_table_that_is_wrong_is_one_line(text: str | None, said: str, tmp_path: Path) -> None:
    graph = sp.from_torch(nn.Conv2d(16, 32, 1), (torch.zeros(1, 16, 8, 8),))
    path = tmp_path / "layers.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInput, match=said) as wrong:
        sp.plan(graph, "cosma", "1MiB", times=str(path))
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", True, 1e10])
def test_a_graph_s_seconds_are_seconds(seconds: object) -> None:
    graph = sp.from_torch(nn.Conv2d(16, 32, 1), (torch.zeros(1, 16, 8, 8),))
    data = graph.to_json()
    data["operators"][0]["seconds"] = seconds
    with pytest.raises(BadInput, match="malformed graph: expected seconds"):
        sp.Graph.from_json(data)


def test_a_table_as_a_spreadsheet_writes_it(tmp_path: Path) -> None:
    """With a mark of its encoding in front, other ends of lines, spaces and empty lines."""
    graph = sp.from_torch(nn.Conv2d(16, 32, 1), (torch.zeros(1, 16, 8, 8),))
    (path := tmp_path / "layers.csv").write_bytes(
        b"\xef\xbb\xbflayer, kernel_s\r\nconv2d, 2e-3\r\nconv2d, 4e-3\r\n\r\n"
    )
    assert with_times(graph, path).operators[0].seconds == pytest.approx(3e-3)


@pytest.mark.parametrize("told", [["a"], "two\nlines", "\x1b[31m", "long" * 40, ""])
def test_what_a_file_says_of_its_times_is_a_line_or_is_not_told(told: object) -> None:
    graph = sp.from_torch(nn.Conv2d(16, 32, 1), (torch.zeros(1, 16, 8, 8),))
    data = graph.to_json()
    data["operators"][0]["seconds"], data["source"]["times"] = 1e-3, told
    assert sp.Graph.from_json(data).timed_by == "the graph"


def test_a_script_of_a_plan_with_times_reads_the_plan(tmp_path: Path) -> None:
    """The catalogue's network has none of them."""
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 32))
    path = str(table(graph, tmp_path / "layers.csv", Random(0)))
    plan = sp.plan(graph, "cosma", "MP", times=path)
    assert "graph = kept.graph" in plan_as_python(plan)
    assert "sp.load(" in plan_as_python(sp.plan(graph, "cosma", "MP"))
