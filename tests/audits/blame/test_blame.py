"""Peaks taken apart: nothing is left over, and each new peak is that of a plan."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import planners as sp
from planners.audits.blame.changes import ADDRESSES, AWAY, ORDER, TYPE
from planners.cli.commands import app
from planners.cosma.order.peak import Footprints, order_peak
from tests.random_graphs import random_graph

HIGH = "id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,16\nc,2,4,8,0\n"


def sums_to_its_peak(found: object) -> None:
    for shares in (found.by_kind(), found.by_block(), found.by_tensor()):
        padding = sum(p.size_bytes for p in found.parts if p.kind == "padding")
        total = sum(share.size_bytes for share in shares)
        assert total in (found.peak_bytes, found.peak_bytes - padding)
    assert sum(part.size_bytes for part in found.parts) == found.peak_bytes
    for change in found.changes:
        if change.plan is not None:
            report = sp.check(change.plan)
            assert report.extent_bytes == change.peak_bytes < found.peak_bytes
            assert sum(part.size_bytes for part in change.parts) == change.peak_bytes
        assert change.saved_bytes == found.peak_bytes - change.peak_bytes


def least_of_orders(graph: sp.Graph) -> int:
    orders = itertools.permutations(range(len(graph.operators)))
    return min(order_peak(graph, order) for order in orders if can_run(graph, order))


def can_run(graph: sp.Graph, order: tuple[int, ...]) -> bool:
    place = {position: at for at, position in enumerate(order)}
    return all(
        place[graph.producer[t]] < place[i]
        for i, op in enumerate(graph.operators)
        for t in op.inputs
        if t in graph.producer
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 6))
def test_new_peaks_are_those_of_brute_force(seed: int, operators: int) -> None:
    graph = random_graph(seed, operators)
    plan = sp.plan(graph, "cosma", 1 << 20, time_limit=5)
    found = sp.blame(plan, time_limit=5)
    sums_to_its_peak(found)
    assert found.peak_bytes == sp.check(plan).extent_bytes
    whole = [c for c in found.changes if c.kind in (ADDRESSES, ORDER)]
    assert all(change.proven for change in whole)
    best = min([found.peak_bytes, *(change.peak_bytes for change in whole)])
    report = sp.check(sp.plan(graph, "cosma", 1 << 20, objective="peak", schedule="joint"))
    assert best == report.extent_bytes
    if report.extent_bytes == report.peak_bytes:  # It is not placement that binds.
        assert best == least_of_orders(graph)
    for change in found.changes:
        if change.kind == AWAY:
            assert change.more_bytes > 0
            assert change.peak_bytes >= needed_without(graph, change.tensor)
            assert change.wish == f"spill {change.tensor}"


def needed_without(graph: sp.Graph, tensor: str) -> int:
    """The least that operators in their order need, where a tensor is there for its operators
    alone."""
    kept = frozenset(name for name in graph.tensors if name != tensor)
    prints = Footprints(graph, False, kept=kept)
    return prints.peak(range(len(graph.operators)))


@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "streaming", "auto"])
def test_plans_of_every_planner(planner: str) -> None:
    small = planner in ("cosma", "auto")
    graph = random_graph(4, 6) if small else sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    budget = {"cosma": "MP", "auto": 1 << 20, "streaming": "4MiB", "fusion": "64KiB"}.get(
        planner, "512KiB"
    )
    found = sp.blame(sp.plan(graph, planner, budget, time_limit=3), time_limit=2)
    sums_to_its_peak(found)
    kinds = {share.name for share in found.by_kind()}
    assert ("activations" in kinds) == (planner != "fusion")
    assert ("line buffers" in kinds) == (planner in ("fusion", "overlap"))
    assert ("weights" in kinds) == (planner in ("fusion", "streaming"))


def test_a_narrower_type_is_the_last_resort() -> None:
    graph = random_graph(0, 6).with_bytes_per_element(4)
    found = sp.blame(sp.plan(graph, budget="MP"), time_limit=5)
    sums_to_its_peak(found)
    assert found.changes[-1].kind == TYPE
    narrow = sp.plan(graph.with_bytes_per_element(1), budget=1 << 20, objective="peak")
    assert found.changes[-1].peak_bytes >= sp.check(narrow).extent_bytes


def test_another_tools_plan_and_the_command(tmp_path: Path) -> None:
    table, folder = tmp_path / "mine.csv", tmp_path / "plans"
    table.write_text(HIGH)
    found = sp.blame(table)
    sums_to_its_peak(found)
    assert (found.peak_bytes, found.changes[0].peak_bytes, found.changes[0].proven) == (
        24,
        16,
        True,
    )
    assert {s.name: s.size_bytes for s in found.by_kind()} == {"activations": 16, "padding": 8}
    padding = found.by_kind()[1].cheapest
    assert padding is found.changes[0]
    with pytest.raises(sp.BadInput, match="is an allocation: blame its file"):
        sp.blame(sp.audit(table).as_plan())
    run = CliRunner().invoke(app, ["blame", str(table), "--json", "--plans", str(folder)])
    assert run.exit_code == 0
    said = json.loads(run.stdout)
    assert said["peak_bytes"] == 24
    assert sp.check(sp.Plan.load(said["plans"][0])).extent_bytes == 16
    plain = CliRunner().invoke(app, ["blame", str(table)])
    assert "other addresses: a peak of 16" in plain.stdout


def test_of_several_memories_it_is_refused() -> None:
    plan = sp.plan(sp.load("mcunet_in0"), "cosma", "16KiB", machine="stm32h743_psram")
    with pytest.raises(sp.BadInput, match="this plan lies in dtcm and sram"):
        sp.blame(plan)


def test_where_time_ended_that_is_said(tmp_path: Path) -> None:
    plan = sp.plan(random_graph(3, 6), "cosma", 1 << 20)
    assert sp.blame(plan).finished
    short = sp.blame(plan, should_stop=lambda: True)
    assert not short.finished
    assert short.to_json()["finished"] is False
    plan.save(tmp_path / "plan.json")
    asked = ["blame", str(tmp_path / "plan.json"), "--time-limit", "0.001"]
    assert "time ran out before all changes were planned" in CliRunner().invoke(app, asked).output


def test_a_model_is_to_be_planned_first(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"")
    answer = CliRunner().invoke(app, ["blame", str(tmp_path / "net.onnx")])
    assert isinstance(answer.exception, sp.BadInput)
    assert "is a model: run spillway plan" in str(answer.exception)
