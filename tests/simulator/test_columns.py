"""The replay and the scoreboard in columns say what those of instructions say, or nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby, product
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.core.access import detailed, needs_apart
from planners.core.boxes import joined, uncovered
from planners.core.errors import InvalidPlan
from planners.core.loops import LoopedInstructions, items_of, size_of
from planners.core.program import (
    AddressSpace,
    Barrier,
    Box,
    Compute,
    Load,
    Release,
    Repeat,
)
from planners.core.tables import build
from planners.core.tables.boxes import merged, pieces_of, tiled
from planners.core.tables.build import table_of
from planners.core.tables.table import COMPUTE, PART, READ, Numbers
from planners.simulator import locate_error
from planners.simulator.account import account
from planners.simulator.check import CheckReport, replay, report_of
from planners.simulator.columns import operands
from planners.simulator.columns import replay as columns
from planners.simulator.columns.needs import NeedsAsked
from planners.simulator.columns.replay import replayed
from planners.simulator.columns.timing import makespan_by_columns, moved_by_columns, timed
from planners.simulator.columns.undecided import Undecided
from planners.simulator.locate_error import replay_from
from planners.simulator.memories import check_memories
from planners.simulator.records import replayed as replays
from planners.simulator.records.interval_columns import columns_of_intervals
from planners.simulator.records.replayed import Replayed
from planners.simulator.records.residency_columns import columns_of_residencies
from planners.simulator.simulate import makespan_s
from planners.simulator.symbolic import Replay
from planners.simulator.timing import schedule
from planners.simulator.traffic import moved_bytes
from tests.cases import cases as as_many
from tests.core.moved import MOVED
from tests.random_graphs import random_graph
from tests.simulator.changed import NAMES, Case, cases, changed, flat

CHANGES, FEW_CHANGES, LONG = as_many(15, 30), as_many(4, 8), 400


@pytest.fixture(autouse=True)
def _however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are read of programs of any length."""
    monkeypatch.setattr(replays, "MANY_INSTRUCTIONS", 0)


def by_instructions(case: Case) -> CheckReport | None:
    """What the readable replay says, None where it refuses."""
    graph, program, machine = case
    try:
        check_memories(program)
        found = Replay(graph, program, AddressSpace(program.memories), None, machine).run()
    except InvalidPlan:
        return None
    return report_of(graph, program, found)


def in_columns(case: Case) -> CheckReport | None:
    """What columns say, None where they do not say."""
    graph, program, machine = case
    try:
        check_memories(program)
    except InvalidPlan:
        return None
    found = replayed(graph, program, machine)
    return None if found is None else report_of(graph, program, found)


@pytest.mark.parametrize("name", NAMES)
def test_a_valid_program_is_known_to_be(name: str) -> None:
    graph, program, machine = cases()[name]
    report = in_columns((graph, program, machine))
    assert report is not None
    expected = by_instructions((graph, flat(program), machine))
    assert report == expected
    assert tuple(report.residencies) == tuple(expected.residencies)
    kept = columns_of_residencies(tuple(report.residencies))
    assert kept.residencies() == tuple(report.residencies)


@pytest.mark.parametrize("name", NAMES)
def test_times_and_joules_are_the_same_to_the_last_bit(name: str) -> None:
    graph, program, machine = cases()[name]
    machine = machine or sp.load_machine("npu_small")
    found = replayed(graph, program, None)
    assert found is not None
    assert found.columns is not None
    for serial, times in product((False, True), ((), [0.5, None, 0.0, 2e-6])):
        told = timed(found.columns, machine, serial, times)
        same = schedule(program, machine, graph, serial=serial, seconds=times)
        assert columns_of_intervals(same).intervals() == same
        narrow = (found.columns.residencies.wide == _own(found.columns)).all()
        assert (told and told.intervals()) == (
            same if narrow else None
        )  # Wide sums are left to the readable one.
    assert moved_by_columns(found.columns, machine) == moved_bytes(program, machine, graph)


@pytest.mark.parametrize("name", NAMES)
def test_the_end_is_the_same_without_a_replay(name: str) -> None:
    graph, program, machine = cases()[name]
    machine = machine or sp.load_machine("npu_small")
    last_s = max(each.stop_s for each in schedule(program, machine, graph))
    assert makespan_s(graph, program, machine) == last_s
    told = None if name == "wide, fusion" else last_s  # Columns do not tell of wide sums.
    assert makespan_by_columns(graph, program, machine) == told


def _own(found: columns.Columns) -> Numbers:
    return found.operands.own_bytes[found.residencies.place]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_is_never_taken_for_right(name: str) -> None:
    graph, program, machine = cases()[name]
    dice = random.Random(name)
    wrong = 0
    count = CHANGES if size_of(items_of(program)) < LONG else FEW_CHANGES
    for _ in range(count):
        other = changed((graph, program, machine), dice)
        told = in_columns((graph, other, machine))
        expected = by_instructions((graph, other, machine))
        wrong += expected is None
        assert told == expected
    assert wrong > count / 5


@pytest.mark.parametrize("stretch", [8, 200])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_is_told_as_instructions_tell_it(
    name: str, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun in the middle, too: the error to its last field, or the report where all is right."""
    monkeypatch.setattr(locate_error, "STRETCH", stretch)
    graph, program, machine = cases()[name]
    dice = random.Random(f"{name} {stretch}")
    for _ in range(FEW_CHANGES):
        other = changed((graph, program, machine), dice)
        try:
            check_memories(other)
        except InvalidPlan:
            continue
        whole = Replay(graph, other, AddressSpace(other.memories), None, machine)
        assert told(replay_from(graph, other, None, machine)) == told(whole)


def told(replay: Replay) -> Replayed | tuple[object, ...]:
    """What a replay finds, or its error."""
    try:
        found = replay.run()
    except InvalidPlan as error:
        return (*vars(error).items(), str(error))
    return replace(found, fetched={name: set(joined(b)) for name, b in found.fetched.items()})


def test_many_instructions_are_read_in_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, program, _ = cases()["parts in strips"]
    expected = by_instructions((graph, program, None))
    monkeypatch.setattr(Replay, "run", lambda self: pytest.fail("one by one"))
    assert replay(graph, program) == expected


def test_columns_count_what_planners_count() -> None:
    for graph, program, _ in cases().values():
        told = account(graph, program)
        found = by_instructions((graph, program, None))
        assert found is not None
        for name in ("peak_bytes", "extent_bytes", "compulsory_bytes", "traffic_bytes"):
            assert getattr(told, name) == getattr(found, name)


@pytest.mark.parametrize("at_once", [7, 200_000])
def test_a_table_has_what_its_instructions_have(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "AT_ONCE", at_once)
    for _, program, _ in cases().values():
        table = table_of(program)
        assert table is not None
        pieces = pieces_of(table, np.arange(len(table.role)))
        for at, item in enumerate(program.instructions):
            rows = range(table.first[at], table.first[at + 1])
            assert table.step[at] == item.step
            places = [
                (pieces[r], table.memories[table.memory[r]], int(table.offset[r]), table.size[r])
                for r in rows
                if table.role[r] != PART
            ]
            if isinstance(item, Compute):
                operands = [(p, r) for p, r in (*item.reads, *item.writes)]
                made = [pieces[r].box for r in rows if table.role[r] == PART]
                freed = [r - rows[0] for r in rows if table.freed[r]]
                sums = tuple(table.sums[at].tolist())
                assert (made, freed, sums) == (
                    list(item.parts),
                    sorted(item.frees),
                    item.sums or (-1, -1),
                )
                assert table.operators[table.operator[at]] == item.operator
                assert (table.kind[at], table.macs[at]) == (COMPUTE, item.macs)
            elif isinstance(item, Release):
                operands = [(item.piece, item.region)]
            elif isinstance(item, Barrier):
                operands = []
            else:
                operands = [(item.piece, item.source), (item.piece, item.target)]
                assert table.joined[at] == (isinstance(item, Load) and item.joined)
                assert table.engines[table.engine[at]] == item.engine
            assert places == [
                (piece, region.memory, -1 if region.offset is None else region.offset, region[2])
                for piece, region in operands
            ]


def test_numbers_that_no_column_holds_are_left_to_instructions() -> None:
    graph, program, _ = cases()["rows"]
    (first, *rest) = program.instructions
    assert isinstance(first, Load)
    far = replace(first, target=first.target._replace(offset=1 << 70))
    assert table_of(replace(program, instructions=(far, *rest))) is None
    behind = replace(first, target=first.target._replace(offset=-1))
    assert table_of(replace(program, instructions=(behind, *rest))) is None
    (loop,) = [item for item in items_of(program) if isinstance(item, Repeat)][:1]
    endless = LoopedInstructions((replace(loop, count=1 << 23),))
    assert table_of(replace(program, instructions=endless)) is None
    item, move = loop.body[0], loop.moves[0]
    assert isinstance(item, Load)
    for by in (1 << 62, 1 << 70):  # Four rounds of the first come back to where they were.
        moves = ((by, *move[1:]), *loop.moves[1:])
        far_off = LoopedInstructions((replace(loop, count=8, moves=moves),))
        assert table_of(replace(program, instructions=far_off)) is None
    assert by_instructions((graph, program, None)) is not None


def test_a_graph_too_large_to_be_numbered_is_left_to_instructions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = cases()["residual, cosma"]
    assert in_columns(case) is not None
    monkeypatch.setattr(operands, "MOST_ELEMENTS", 1000)
    assert in_columns(case) is None


# ---- boxes -------------------------------------------------------------------------------------

SIDE = 5
axes = st.tuples(st.integers(0, SIDE - 1), st.integers(1, SIDE)).map(
    lambda pair: (min(pair), max(pair) + (pair[0] == pair[1]))
)
some_boxes = st.lists(st.tuples(st.integers(0, 2), st.tuples(axes, axes, axes)), max_size=12)


def _counted(boxes: list[Box]) -> np.ndarray:
    counts = np.zeros((SIDE + 1,) * 3, int)
    for box in boxes:
        counts[tuple(slice(a, b) for a, b in box)] += 1
    return counts


def _sides(boxes: list[Box]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(boxes, np.int64).reshape(len(boxes), 3, 2)
    return both[:, :, 0], both[:, :, 1]


@given(some_boxes)
def test_merged_boxes_hold_the_same_elements(rows: list[tuple[int, Box]]) -> None:
    group, start, stop = merged(
        np.array([g for g, _ in rows], np.int64), *_sides([b for _, b in rows])
    )
    for each in range(3):
        before = _counted([box for g, box in rows if g == each])
        after = [
            tuple(zip(a, b, strict=True))
            for g, a, b in zip(group, start.tolist(), stop.tolist(), strict=True)
            if g == each
        ]
        assert ((_counted(after) > 0) == (before > 0)).all()
        assert len(after) <= sum(g == each for g, _ in rows)


@given(st.integers(0, 10**9), st.integers(0, 6), st.sampled_from(("", "drop", "twice", "other")))
def test_boxes_fill_a_whole_where_each_element_is_in_one(seed: int, cuts: int, how: str) -> None:
    dice = random.Random(seed)
    whole = ((1, SIDE), (0, SIDE), (0, 2))
    boxes: list[Box] = [whole]
    for _ in range(cuts):
        box = boxes.pop(dice.randrange(len(boxes)))
        axis = dice.randrange(3)
        a, b = box[axis]
        at = dice.randrange(a + 1, b) if b > a + 1 else b
        cut = [(a, at), (at, b)] if at < b else [(a, b)]
        boxes += [(*box[:axis], each, *box[axis + 1 :]) for each in cut]
    if how == "drop":
        del boxes[dice.randrange(len(boxes))]
    elif how == "twice":
        boxes.append(dice.choice(boxes))
    elif how == "other" and len(boxes) > 1:
        boxes[0] = boxes[1]
    start, stop = _sides([*boxes, whole])  # The second group has one box, which is whole.
    group = np.array([0] * len(boxes) + [1])
    low, high = (np.stack([side[-1]] * 2) for side in (start, stop))
    filled = tiled(group, start, stop, 2, low, high)
    counts = _counted(boxes)
    assert filled.tolist() == [bool((counts[1:SIDE, :SIDE, :2] == 1).all()), True]


@pytest.mark.parametrize("many", [0, columns.MANY_PAIRS])
@given(seed=st.integers(0, 10**9), rank=st.integers(1, 3))
def test_what_instructions_need_is_covered_by_their_own_reads_or_not(
    many: int, seed: int, rank: int
) -> None:
    draw = random.Random(seed)

    def box(within: int = 5) -> Box:
        low = [draw.randrange(within) for _ in range(rank)]
        return tuple((a, draw.randint(a + 1, within)) for a in low)

    reads = [(draw.randrange(3), box()) for _ in range(draw.randint(1, 9))]
    needs = [(draw.randrange(2), box()) for _ in range(draw.randint(1, 3))]
    for number, need in needs:
        if draw.random() < 0.7:  # else chance seldom covers it
            parts = [need] if draw.random() < 0.5 else halves(need, draw)
            reads += [(number, part) for part in parts]
    bounds = np.array([sides for _, sides in reads], np.int64)
    table: Any = SimpleNamespace(
        tensors=["x"],
        role=np.full(len(reads), READ, np.uint8),
        instruction=np.array([number for number, _ in reads]),
        tensor=np.zeros(len(reads), np.int64),
        start=bounds[:, :, 0],
        stop=bounds[:, :, 1],
    )
    covers = columns._Covers(table)
    start, stop = (np.array([[side[k] for side in need] for _, need in needs]) for k in (0, 1))
    covers.add(np.array([number for number, _ in needs]), "x", start, stop)

    def covered(number: int, need: Box) -> bool:
        own = [sides for other, sides in reads if other == number]
        return bool(own) and not uncovered(need, joined(own))

    with patch.object(columns, "MANY_PAIRS", many):
        if all(covered(*need) for need in needs):
            covers.check()
        else:
            with pytest.raises(Undecided):
                covers.check()


def halves(box: Box, draw: random.Random) -> list[Box]:
    """A box cut in two along an axis, where it can be, with some of it in both parts."""
    axis = draw.randrange(len(box))
    low, high = box[axis]
    if high - low < 2:
        return [box]
    cut, more = draw.randint(low + 1, high - 1), draw.randint(0, 1)
    sides = (low, min(high, cut + more)), (cut, high)
    return [(*box[:axis], side, *box[axis + 1 :]) for side in sides]


@pytest.mark.parametrize("seed", range(as_many(4, 12)))
def test_stays_hold_what_instructions_say_one_by_one(seed: int) -> None:
    """By definition: the most of what was there when a step began, and after each instruction."""
    plan = sp.plan(random_graph(seed, 8), "cosma", "MR", schedule="joint", time_limit=600)
    report, steps = sp.check(plan), len(plan.program.steps)
    stays = columns_of_residencies(list(report.residencies))
    most, there = [0] * steps, 0
    by_step = groupby(enumerate(plan.program.instructions), key=lambda each: each[1].step)
    for step, items in by_step:
        most[step] = there
        for number, _ in items:
            begun, stop = stays.start_instruction <= number, stays.stop_instruction
            there = int(stays.size_bytes[begun & ((stop > number) | (stop < 0))].sum())
            most[step] = max(most[step], there)
    assert stays.held(steps).tolist() == most
    assert max(most) == report.peak_bytes


@pytest.mark.parametrize("name", MOVED)
def test_columns_need_what_boxes_need_one_by_one(name: str) -> None:
    module, inputs = MOVED[name]
    graph = sp.from_torch(module, inputs)
    for op in graph.operators:
        for output in op.outputs if detailed(op) else ():
            shape = graph.tensors[output].shape
            boxes = [tuple((at, at + 1) for at in place) for place in np.ndindex(*shape)][:500]
            ends = np.array(boxes, np.int64).reshape(len(boxes), len(shape), 2)
            asked = NeedsAsked(graph, op, output, ends[:, :, 0], ends[:, :, 1], None, True)
            found: list[set[Any]] = [set() for _ in boxes]
            for row, tensor, start, stop in asked.needed():
                for at, box in zip(row.tolist(), np.stack((start, stop), 2).tolist()):
                    found[at].add((tensor, tuple(map(tuple, box))))
            assert found == [{*needs_apart(graph, op, output, box)} for box in boxes]
