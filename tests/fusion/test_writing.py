"""How long programs of groups are: counted before they are written, coarser or refused if long."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.errors import ProgramTooLong
from planners.core.program import Compute
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit import coarser
from planners.fusion.emit.coarser import PlacedGroup, count_of, short_enough
from planners.fusion.emit.laid import LaidGroup, lay_out
from planners.fusion.options import FusionOptions
from planners.fusion.search.exact import best_partition
from planners.fusion.tile.cuts import channel_breaks
from planners.fusion.tile.passes import stretches
from tests.fusion.families import MODULES, family

MACHINE = sp.load_machine("npu_small")


def groups_of(name: str, budget: int) -> tuple[GroupModel, tuple[int, ...], tuple[LaidGroup, ...]]:
    graph = family(name) if name in MODULES else sp.load(name)
    model = GroupModel(graph, MACHINE, FusionOptions().values())
    masks = best_partition(model, graph, budget, Clock(30)).groups
    ways = [model.roomiest(mask, budget) for mask in masks]
    pairs = [(model.group(m), way) for m, way in zip(masks, ways, strict=True) if way is not None]
    return model, masks, lay_out(graph, pairs, budget)


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("fires", 4),
        ("inverted blocks", 2),
        pytest.param("squeezenet1_0", 256, marks=pytest.mark.long),
        pytest.param("mobilenet_v2", 64, marks=pytest.mark.long),
    ],
)
def test_instructions_are_known_before_they_are_written(name: str, kib: int) -> None:
    model, _, laid = groups_of(name, kib * 1024)
    plan = sp.plan(model.graph, "fusion", kib * 1024)
    written = sum(1 for _ in plan.program.instructions)
    assert 0.5 * written < count_of(laid) < 2 * written


def test_a_long_program_is_written_in_coarser_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    model, masks, laid = groups_of("mobilenet_v2", 64 * 1024)
    most = count_of(laid) // 2
    monkeypatch.setattr(coarser, "most_in_time", lambda clock: most)
    clock = Clock(30)
    placed = [PlacedGroup(*pair, 0, 64 * 1024) for pair in zip(laid, masks, strict=True)]
    short = short_enough(model, placed, clock, double_buffer=True)
    assert count_of(short) <= most
    assert clock.ended
    assert sum(g.plan.traffic_bytes for g in short) > sum(g.plan.traffic_bytes for g in laid)
    assert all(each.layout.size_bytes <= 64 * 1024 for each in short)


def test_a_program_that_nothing_makes_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.core.program_size.MOST_WRITTEN", 100)
    with pytest.raises(
        sp.NoPlanFound, match=r"about \d.* instructions, more than the 100 .*channel_tile"
    ):
        sp.plan(sp.load("mcunet_vww1"), "fusion", "64KiB", time_limit=10)


def test_a_concatenation_is_a_loop_over_each_of_its_inputs() -> None:
    graph = sp.load("squeezenet1_0")
    cat = next(op for op in graph.operators if op.kind == "cat")
    first = graph.tensors[cat.inputs[0]].shape[1]
    assert channel_breaks(graph, cat) == (first,)
    convolution = next(op for op in graph.operators if op.kind == "conv2d")
    assert channel_breaks(graph, convolution) == ()
    parts = [(0, 4), (4, 8), (8, 12), (12, 16), (16, 18)]
    assert [*stretches(parts, [8])] == [parts[:2], parts[2:4], parts[4:]]
    assert [*stretches(parts, [6])] == [parts[:1], parts[1:2], parts[2:4], parts[4:]]


def test_a_baseline_ends_with_its_time() -> None:
    """The limit is over before the first group is looked at, whatever the machine."""
    graph = family("inverted blocks")
    plan = sp.plan(graph, "fusion", "4KiB", baseline="efficient_s", time_limit=1e-6)
    longer = sp.plan(graph, "fusion", "4KiB", baseline="efficient_s")
    assert longer.claims.objective_bytes < plan.claims.objective_bytes
    assert any("the time limit of 0.001 s ended" in note for note in plan.notes)
    assert not any("time limit" in note for note in longer.notes)


def test_a_program_that_takes_too_long_to_write_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planners.core.program_size.LEAST_WRITTEN_S", 0.0)
    monkeypatch.setattr("planners.core.program_size.GRACE_S", -1.0)
    with pytest.raises(ProgramTooLong, match=r"more than 0 s to write.*longer time limit"):
        sp.plan(sp.load("mobilenet_v2"), "fusion", "64KiB", time_limit=0.3)


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("inverted blocks", "4KiB"),
        pytest.param("mobilenet_v2", "256KiB", marks=pytest.mark.long),
    ],
)
def test_a_joint_plan_that_takes_too_long_to_write_gives_way_to_groups_alone(
    name: str, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = family(name) if name in MODULES else sp.load(name)
    asked = {"weights": "counted", "time_limit": 60}
    alone = sp.plan(graph, "fusion", budget, **asked)
    joint = sp.plan(graph, "fusion", budget, joint=True, **asked)
    assert joint.claims.offchip_bytes < alone.claims.offchip_bytes
    monkeypatch.setattr("planners.fusion.planner.MOST_SHARE", 0.0)
    slow = sp.plan(graph, "fusion", budget, joint=True, **asked)
    assert slow.claims.offchip_bytes == alone.claims.offchip_bytes
    assert slow.claims.bound_bytes <= joint.claims.offchip_bytes
    assert any("time limit" in note for note in slow.notes)


@pytest.mark.parametrize(
    ("name", "budget", "share"),
    [("fires", "2KiB", 2), pytest.param("mcunet_vww1", "40KiB", 4, marks=pytest.mark.long)],
)
def test_a_route_that_is_too_long_is_written_in_coarser_ways(
    name: str, budget: str, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = family(name) if name in MODULES else sp.load(name)
    asked = {"weights": "counted", "time_limit": 60}
    free = sp.plan(graph, "fusion", budget, joint=True, **asked)
    alone = sp.plan(graph, "fusion", budget, **asked)
    most = sum(1 for _ in free.program.instructions) // share
    monkeypatch.setattr("planners.fusion.joint.planner.most_within", lambda limit_s: most)
    short = sp.plan(graph, "fusion", budget, joint=True, **asked)
    assert sum(1 for _ in short.program.instructions) < 1.5 * most
    assert sp.check(short).traffic_bytes == short.claims.objective_bytes
    assert free.claims.offchip_bytes <= short.claims.offchip_bytes < alone.claims.offchip_bytes


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("inverted blocks", "2KiB"),
        pytest.param("mcunet_vww1", "64KiB", marks=pytest.mark.long),
    ],
)
def test_what_lies_elsewhere_is_made_at_once(name: str, budget: str) -> None:
    graph = family(name) if name in MODULES else sp.load(name)
    plan = sp.plan(graph, "fusion", budget, joint=True, weights="counted", time_limit=60)
    pool = next(op.name for op in graph.operators if op.kind == "adaptive_avg_pool2d")
    computes = (i for i in plan.program.instructions if isinstance(i, Compute))
    assert sum(compute.operator == pool for compute in computes) == 1
