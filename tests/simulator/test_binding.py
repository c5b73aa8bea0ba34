"""What binds an operator: by hand on an array, and in all as much as the engine is busy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.simulator.binding import OperatorBinding, seconds_bound, utilisation, what_binds

SMALL = sp.load_machine("npu_small")


def bindings(plan: sp.Plan, machine: str | None = None) -> dict[str, OperatorBinding]:
    on = None if machine is None else sp.load_machine(machine)
    return {each.operator: each for each in what_binds(plan, sp.simulate(plan, on), on)}


def alone(module: nn.Module, *shape: int, **options: Any) -> OperatorBinding:
    """What binds a module of one operator that is computed at once on 16 × 16 multipliers."""
    graph = sp.from_torch(module, (torch.zeros(shape),))
    (found,) = bindings(sp.plan(graph, "cosma", "1GiB", objective="latency", **options)).values()
    return found


@pytest.mark.parametrize(
    ("module", "channels", "binds", "used"),
    [
        (nn.Conv2d(64, 64, 3, padding=1), 64, "MACs", 1.0),
        (nn.Conv2d(3, 16, 3, padding=1), 3, "array", 3 / 16),
        (nn.Conv2d(64, 64, 3, padding=1, groups=64), 64, "array", 1 / 16),
        (nn.Conv2d(64, 17, 3, padding=1), 64, "array", 17 / 32),
        (nn.ReLU(), 64, "vector", 0.0),
        (nn.Sigmoid(), 64, "vector", 0.0),
    ],
)
def test_on_an_array(module: nn.Module, channels: int, binds: str, used: float) -> None:
    found = alone(module, 1, channels, 64, 64)
    assert max(found.by, key=lambda name: found.by[name]) == binds
    assert found.utilisation(SMALL) == pytest.approx(used, rel=0.02)


def test_little_work_is_its_setup_and_much_weight_its_transfers() -> None:
    assert alone(nn.ReLU(), 1, 16, 2, 2).binds == "setup"
    heavy = alone(nn.Linear(512, 512), 1, 512, weights="counted")
    assert heavy.binds == "dma_in"  # A MAC a byte, at 256 MACs and 8 bytes a cycle.
    assert heavy.sentence == "transfers on dma_in that it waits for"


def test_weights_that_are_read_in_place_are_bytes_of_their_memory() -> None:
    graph = sp.from_torch(nn.Linear(512, 512), (torch.zeros(1, 512),))
    (found,) = bindings(
        sp.plan(graph, "overlap", "64KiB", objective="latency", weights="in-place")
    ).values()
    assert found.binds == "host"
    assert found.sentence == "bytes of host that it reads and writes"


@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "streaming"])
@pytest.mark.parametrize("machine", ["npu_small", "npu_ideal", "nvdla_small"])
@pytest.mark.parametrize("side", [32, pytest.param(80, marks=pytest.mark.long)])
def test_seconds_are_those_of_the_engine(planner: str, machine: str, side: int) -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, side, side))
    if planner == "streaming" and machine == "nvdla_small":
        pytest.skip("it has no storage")
    plan = sp.plan(graph, planner, "512KiB", machine, time_limit=2)
    found = bindings(plan)
    busy_s = sp.simulate(plan).busy_s["compute"]
    some = [*found.values()]
    assert sum(seconds_bound(some).values()) == pytest.approx(busy_s)
    assert sum(each.macs for each in some) >= graph.macs
    assert 0 < utilisation(some, sp.load_machine(machine)) <= 1


def test_of_given_times_nothing_is_said(tmp_path: Path) -> None:
    graph = sp.load("mcunet_vww1")
    rows = "\n".join(f"{op.name},1e-5,0,2e-5" for op in graph.operators)
    (path := tmp_path / "layers.csv").write_text(f"layer,read_s,copy_s,kernel_s\n{rows}\n")
    plan = sp.plan(graph, "streaming", "512KiB", times=str(path))
    assert {*seconds_bound([*bindings(plan).values()])} == {"given"}
    assert "given" not in seconds_bound([*bindings(plan, "npu_ideal").values()])
