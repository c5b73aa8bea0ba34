"""A rectangle moved by hand: the plan rewritten, and judged by `check` and nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from app.display.moved_by_hand import (
    address_of,
    free_places,
    in_the_way,
    moved_plan,
    room_of,
    stay_at,
    why_fixed,
    why_outside,
)
from planners.core.graph import Graph, Operator, Tensor
from tests.app.networks import beginning
from tests.cases import cases
from tests.plans import AMPLE_S, plan_of


def same_stay(report: sp.CheckReport, stay: sp.Residency) -> sp.Residency:
    """The stay in the report of another plan of the same instructions, at whatever address."""
    return next(
        other
        for other in report.residencies
        if (other.piece, other.memory, other.start_instruction)
        == (stay.piece, stay.memory, stay.start_instruction)
    )


def random_graph(seed: int) -> Graph:
    """A few operators, each of one to three tensors that are there already."""
    draw = random.Random(seed)
    tensors = {"x": Tensor("x", (draw.randint(1, 6) * 64,), "input")}
    operators, read = [], set()
    for i in range(draw.randint(2, 8)):
        inputs = tuple(draw.sample(sorted(tensors), draw.randint(1, min(3, len(tensors)))))
        read.update(inputs)
        tensors[f"t{i}"] = Tensor(f"t{i}", (draw.randint(1, 6) * 64,))
        operators.append(Operator(f"op{i}", "add", inputs, (f"t{i}",)))
    outputs = tuple(name for name in tensors if name not in read and name != "x")
    return Graph(f"random {seed}", tensors, tuple(operators), ("x",), outputs)


@settings(max_examples=cases(60))
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1), pick=st.integers(0, 10**6))
def test_check_accepts_a_move_if_and_only_if_the_rectangles_do_not_meet(
    seed: int, share: float, pick: int
) -> None:
    graph = random_graph(seed)
    low = sp.budgets(graph).MR
    plan = sp.plan(graph, budget=round(low * 1.4), time_limit=AMPLE_S)
    report = sp.check(plan)
    stay = report.residencies[pick % len(report.residencies)]
    offset = round(share * (plan.budget_bytes + 64)) // 64 * 64
    moved = moved_plan(plan, report, stay, offset)
    inside = offset + stay.size_bytes <= plan.budget_bytes
    others = in_the_way(report, stay, offset)
    if inside and not others:
        after = sp.check(moved)
        assert same_stay(after, stay).spans[0].start == offset
        assert after.extent_bytes == moved.claims.extent_bytes
        assert after.traffic_bytes == report.traffic_bytes
        return
    with pytest.raises(sp.InvalidPlan) as error:
        sp.check(moved)
    assert error.value.step is not None
    assert error.value.kind == ("overlap" if inside else "out of range")
    if inside:
        names = {stay.tensor, *(other.tensor for other in others)}
        assert any(name in error.value.reason for name in names)


@settings(max_examples=cases(25))
@given(seed=st.integers(0, 10**6), pick=st.integers(0, 10**6))
def test_every_place_that_is_offered_is_free(seed: int, pick: int) -> None:
    graph = random_graph(seed)
    plan = sp.plan(graph, budget=round(sp.budgets(graph).MR * 1.5), time_limit=AMPLE_S)
    report = sp.check(plan)
    stay = report.residencies[pick % len(report.residencies)]
    for offset in free_places(report, stay, range(plan.budget_bytes)):
        sp.check(moved_plan(plan, report, stay, offset))


def test_a_moved_plan_says_so_and_is_read_from_its_file() -> None:
    graph = random_graph(3)
    plan = sp.plan(graph, budget=sp.budgets(graph).MP + 640)
    report = sp.check(plan)
    stay = report.residencies[0]
    offset = free_places(report, stay, range(plan.budget_bytes))[-1]
    moved = sp.Plan.from_json(moved_plan(plan, report, stay, offset).to_json())
    assert sp.check(moved).noncompulsory_bytes == report.noncompulsory_bytes
    assert plan.details.moves == ()
    assert [move.stop for move in moved.details.moves] == [offset]
    assert moved.notes[-1].startswith("by hand: x from")
    assert moved.claims.solver.endswith("by hand")
    assert moved.claims.status == plan.claims.status


def test_a_move_there_and_back_gives_the_same_program() -> None:
    graph = random_graph(3)
    plan = sp.plan(graph, budget=sp.budgets(graph).MP + 640)
    report = sp.check(plan)
    stay = report.residencies[-1]
    old = stay.spans[0].start
    there = moved_plan(plan, report, stay, old + 64)
    moved = same_stay(sp.check(there), stay) if not in_the_way(report, stay, old + 64) else None
    if moved is not None:
        back = moved_plan(there, sp.check(there), moved, old)
        assert back.program.instructions == plan.program.instructions


def test_what_rolls_cannot_be_moved_alone() -> None:
    graph = sp.load("squeezenet1_1", input_shape=[[1, 3, 64, 64]])
    overlap = sp.plan(graph, planner="overlap", budget="MR")
    stream = sp.plan(graph, planner="streaming", budget="64MiB")
    for plan, word in ((overlap, "In a circular pool"), (stream, "In a ring")):
        stays = sp.check(plan).residencies
        stay = next(s for s in stays if s.tensor not in graph.index and why_fixed(plan, s))
        assert word in why_fixed(plan, stay)
        with pytest.raises(sp.BadInput, match=word):
            moved_plan(plan, sp.check(plan), stay, 0)


def test_of_fused_groups_weights_can_be_moved_and_rows_cannot() -> None:
    graph = beginning("squeezenet1_1", "cat_1")
    plan = plan_of(graph, "fusion", 12 * 1024)
    report = sp.check(plan)
    assert len(report.residencies) > 40
    for stay in report.residencies[::5]:
        alone = not why_fixed(plan, stay)
        assert alone == (graph.tensors[stay.tensor].kind == "parameter")
        places = free_places(report, stay, range(plan.budget_bytes)) if alone else []
        for offset in places[:1]:
            sp.check(moved_plan(plan, report, stay, offset))


def test_a_tensor_stays_within_the_window_of_its_memory() -> None:
    graph = sp.load("squeezenet1_1", input_shape=[[1, 3, 64, 64]])
    plan = sp.plan(graph, planner="streaming", budget="64MiB")
    report = sp.check(plan)
    made = [s for s in report.residencies if s.tensor in graph.producer]
    stay = min(made, key=lambda s: s.size_bytes)
    room = room_of(plan, stay)
    assert 0 < room.start <= stay.spans[0].start
    for offset in (0, room.stop - stay.size_bytes + 64):
        assert "must lie in activations, from 0x" in why_outside(plan, stay, offset)
        with pytest.raises(sp.InvalidPlan, match="out of range"):
            sp.check(moved_plan(plan, report, stay, offset))
    places = free_places(report, stay, room)
    assert places
    for offset in places:
        assert not why_outside(plan, stay, offset)
        sp.check(moved_plan(plan, report, stay, offset))


@pytest.mark.parametrize(
    ("text", "address"), [("0x4000", 0x4000), ("0", 0), ("@16 KiB", 16384), ("1,024", 1024)]
)
def test_addresses_are_read_as_they_are_written(text: str, address: int) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["0xyz", "here", "-5", ""])
def test_what_is_no_address_is_one_line(text: str) -> None:
    with pytest.raises(sp.BadInput) as error:
        address_of(text)
    assert "\n" not in str(error.value)


def test_the_stay_at_the_cursor_is_the_one_that_moves() -> None:
    graph = random_graph(3)
    report = sp.check(sp.plan(graph, budget="MR"))
    stay = report.residencies[0]
    assert stay_at(report, stay.tensor, stay.start_step) == stay
    assert stay_at(report, "no such tensor", 0) is None
