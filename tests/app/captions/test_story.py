"""Sentences are true: what they claim is found again by walking through the program naively."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest

import planners as sp
from app.captions.fusion import again_boxes, kept_boxes
from app.captions.overlap import gap_bytes, taken_bytes
from app.captions.sentence import Sentence
from app.captions.spill_reasons import covered, next_use
from app.captions.streaming import ahead
from app.display.displayed_plan import DisplayedPlan, show
from app.kinds.bundles import checked_bundled
from app.kinds.registry import step_story
from planners.core.program import Compute, Load, Release, Store
from tests.cell import cell
from tests.overlap.random_nets import random_net
from tests.random_graphs import random_graph

SPILL = re.compile(
    r"(\w+) \((\d+) B\) (?:was spilled|left) until step (\d+) reads it again, in (\d+)"
)
SHORT = re.compile(
    r": ([\w ]+) in step (\d+) needs (\d+) B of (\d+) B(?: and (\d+) B more are on chip)?,"
    r" (\d+) B short of keeping (\w+) as well"
)
PLACE = re.compile(r": (?:(\d+) B|nothing) stays free in one piece that long")
STILL = re.compile(r" (\w+) is read even later, in step (\d+)\.")


def shown_of(plan: sp.Plan) -> DisplayedPlan:
    return show(json.dumps(plan.to_json()))


def whole(shown: DisplayedPlan) -> list[tuple[int, Sentence]]:
    return [(step, s) for step in range(shown.steps) for s in step_story(shown, step)]


class Walk:
    """What is on chip while each step computes, by running through the instructions."""

    def __init__(self, shown: DisplayedPlan) -> None:
        self.at: dict[int, dict[str, tuple[int, int]]] = {}
        self.reads: dict[str, list[int]] = {}
        there: dict[str, tuple[int, int]] = {}
        for item in shown.instructions:
            if isinstance(item, Load):
                there[item.piece.tensor] = span(item.target)
            elif isinstance(item, Release):
                del there[item.piece.tensor]
            elif isinstance(item, Compute):
                dying = {item.reads[i].piece.tensor for i in item.frees}
                during = dict(there)
                there = {name: place for name, place in there.items() if name not in dying}
                there |= {o.piece.tensor: span(o.region) for o in item.writes}
                self.at[item.step] = during | there
                for operand in item.reads:
                    self.reads.setdefault(operand.piece.tensor, []).append(item.step)

    def held(self, step: int) -> int:
        return covered(self.at[step].values())

    def next(self, tensor: str, step: int) -> int | None:
        return next((s for s in self.reads.get(tensor, ()) if s > step), None)


def span(region: Any) -> tuple[int, int]:
    return region.offset, region.offset + region.size_bytes


@pytest.mark.parametrize(
    ("seed", "parameters", "replacement"),
    [
        *product(range(12), [False, True], ["optimal"]),
        *product(range(4), [True], ["belady", "greedy"]),
    ],
)
def test_a_spill_gives_its_true_reason(seed: int, parameters: bool, replacement: str) -> None:
    graph = random_graph(seed, 12, largest=60)
    plan = sp.plan(graph, "cosma", "MR", parameters=parameters, replacement=replacement)
    shown = shown_of(plan)
    walk = Walk(shown)
    told = [(step, s.text) for step, s in whole(shown) if SPILL.match(s.text)]
    left = [r for r in shown.report.residencies if r.ending in ("spill", "drop")]
    assert len(told) == len(left)
    for step, text in told:
        name, size, following, after = SPILL.match(text).groups()  # type: ignore[union-attr]
        assert walk.next(name, step) == int(following) - 1 == step + int(after)
        assert graph.size_bytes(name) == int(size)
        _reason_holds(shown, walk, name, step, text)
        _rank_holds(walk, name, step, text)


def _reason_holds(shown: DisplayedPlan, walk: Walk, name: str, step: int, text: str) -> None:
    following = walk.next(name, step)
    assert following is not None
    missed = [s for s in range(step, following) if name not in walk.at[s]]
    size = shown.graph.size_bytes(name)
    if found := SHORT.search(text):
        operator, at, needs, budget, more, short, again = found.groups()
        run = shown.graph.operators[shown.graph.index[operator]]
        assert again == name
        assert int(at) - 1 in missed
        assert operator in shown.ran[int(at) - 1]
        uses = {*run.inputs, *run.outputs} | (
            {*run.parameters} if shown.plan.program.counts_parameters else set()
        )
        assert int(needs) == covered(walk.at[int(at) - 1][tensor] for tensor in uses)
        assert int(needs) + int(more or 0) == walk.held(int(at) - 1)
        assert int(short) == walk.held(int(at) - 1) + size - int(budget) > 0
    elif found := PLACE.search(text):
        taken = {byte for s in missed for a, b in walk.at[s].values() for byte in range(a, b)}
        budget = shown.plan.budget_bytes
        free = "".join("x" if byte in taken else "." for byte in range(int(budget)))
        assert max(map(len, free.split("x"))) == int(found[1] or 0) < size
    elif missed:
        assert "there would be room" in text


def _rank_holds(walk: Walk, name: str, step: int, text: str) -> None:
    mine = walk.next(name, step)
    uses = {n: u for n in walk.at[step] if n != name and (u := walk.next(n, step)) is not None}
    assert mine is not None
    if found := STILL.search(text):
        assert uses[found[1]] == int(found[2]) - 1 == max(uses.values()) > mine
    else:
        assert ("Nothing else on chip is read later" in text) == bool(uses)
        assert all(use <= mine for use in uses.values())


def test_reasons_of_every_kind_are_met() -> None:
    """The test above has met a spill for want of bytes, and one for want of a place."""
    texts = []
    for seed in range(12):
        plan = sp.plan(random_graph(seed, 12, largest=60), "cosma", "MR", parameters=True)
        texts += [s.text for _, s in whole(shown_of(plan))]
    assert any(SHORT.search(text) for text in texts)
    assert any(STILL.search(text) for text in texts)
    assert any("Nothing else on chip" in text for text in texts)
    assert any("Nothing was stored" in text for text in texts)


@pytest.mark.parametrize("seed", range(6))
def test_bytes_that_came_and_went_add_up(seed: int) -> None:
    """Every byte over the off-chip interface is in a sentence, and none is said twice."""
    plan = sp.plan(random_graph(seed, 12, largest=60), "cosma", "MR", parameters=True)
    shown = shown_of(plan)
    moved = sum(
        int(size)
        for _, s in whole(shown)
        if s.mark in ("in", "out") and "Nothing was stored" not in s.text
        for size in re.findall(r"^\w+ \((\d+) B\)|^\d+ parameters \((\d+) B\)", s.text)[0]
        if size
    )
    assert moved == shown.report.traffic_bytes
    assert all(any(s.mark in ("ran", "quiet") for s in step_story(shown, k)) for k in range(3))


def fused(seed: int) -> DisplayedPlan:
    graph, _ = random_net(seed, 7)
    for name in ("MR", "MP"):
        try:
            return shown_of(sp.plan(graph, "fusion", name))
        except sp.BudgetTooSmall:
            continue
    pytest.skip("no fused plan of this net")


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_are_kept_were_there_before(seed: int) -> None:
    shown = fused(seed)
    for step in range(shown.steps):
        first = shown.by_step[step][0]
        before = [
            r
            for r in shown.report.residencies
            if r.start_instruction < first and not 0 <= r.stop_instruction < first
        ]
        for tensor, box in kept_boxes(shown, step).items():
            cells = set(product(*(range(a, b) for a, b in box)))
            there = [r.piece.box for r in before if r.tensor == tensor]
            assert cells <= {c for b in there for c in product(*(range(x, y) for x, y in b))}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_made_again_is_more_work_or_traffic(seed: int) -> None:
    """Elements that a group makes more than once, counted one by one, are those that are told."""
    shown = fused(seed)
    for group in shown.groups:
        made: dict[tuple[str, tuple[int, ...]], int] = {}
        for step in range(group.start_step, group.stop_step):
            told = again_boxes(shown, step) if step > group.start_step else {}
            cells = {
                (tensor, cell)
                for tensor, some in told.items()
                for box in some
                for cell in product(*(range(a, b) for a, b in box))
            }
            assert all(made.get(cell) == step - 1 for cell in cells)
            fresh = _fresh(shown, step)
            assert {cell for cell in fresh if made.get(cell) == step - 1} == cells
            made |= dict.fromkeys(fresh, step)


def _fresh(shown: DisplayedPlan, step: int) -> set[tuple[str, tuple[int, ...]]]:
    found = set()
    for position in shown.by_step[step]:
        item = shown.instructions[position]
        pieces = item.made if isinstance(item, Compute) else ()
        for tensor, box in (item.piece,) if isinstance(item, Load) else pieces:
            if shown.graph.tensors[tensor].kind != "parameter":
                cells = product(*(range(a, b) for a, b in box))
                found |= {(tensor, cell) for cell in cells}
    return found


@pytest.mark.parametrize("seed", range(8))
def test_pointers_and_places_of_a_pool_are_those_of_the_program(seed: int) -> None:
    graph, _ = random_net(seed, 5)
    plan = sp.plan(graph, "overlap", "MR")
    full, shown = shown_of(plan), checked_bundled(plan)
    pool = shown.pool
    assert pool is not None
    for step in range(shown.steps):
        run = pool.run_at(step)
        gap = gap_bytes(shown, step, pool, run)
        _bytes_taken(full, shown, step)
        if gap is None:
            continue
        text = " ".join(s.text for s in step_story(shown, step))
        found = re.search(r"rite pointer at ([\d,]+), read pointer at ([\d,]+)", text)
        assert found
        write, read = (int(number.replace(",", "")) for number in found.groups())
        assert (read - write) % pool.size_bytes == gap % pool.size_bytes
        last = shown_last(full, step)
        needed = {
            (s.start, s.stop)
            for r in full.report.residencies
            if r.tensor == run.over
            and r.start_instruction <= last
            and not 0 <= r.stop_instruction <= last
            for s in r.spans
        }
        assert any(start <= read < stop for start, stop in needed)
        assert not any(start <= (read - 1) % pool.size_bytes < stop for start, stop in needed) or (
            gap_is_whole(pool.sizes[run.over], needed)
        )


def gap_is_whole(size: int, needed: set[tuple[int, int]]) -> bool:
    """Whether nothing of the input is freed yet, so that what is before it may be anything."""
    return sum(b - a for a, b in needed) == size


def shown_last(shown: DisplayedPlan, step: int) -> int:
    return shown.by_step[step][-1]


def _bytes_taken(full: DisplayedPlan, shown: DisplayedPlan, step: int) -> None:
    """Addresses that a step writes of the run's output, and where its dying inputs were."""
    pool = shown.pool
    assert pool is not None
    run = pool.run_at(step)
    written = {
        (operand.region.offset + byte) % pool.size_bytes
        for position in full.by_step[step]
        if isinstance(item := full.instructions[position], Compute)
        for operand in item.writes
        if operand.piece.tensor == run.writes[0] and operand.region.offset is not None
        for byte in range(operand.region.size_bytes)
    }
    for name, count in taken_bytes(shown, step, pool, run).items():
        lay = {
            byte
            for r in full.report.residencies
            if r.tensor == name
            for s in r.spans
            for byte in range(s.start, s.stop)
        }
        assert count == len(written & lay)


@pytest.mark.parametrize("room", [1.0, 0.6])
def test_layers_read_ahead_are_under_way_meanwhile(room: float) -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 32))
    size = sum(graph.size_bytes(t) for t in graph.tensors)
    shown = shown_of(sp.plan(graph, "streaming", int(size * room), machine="stm32f746"))
    stream = shown.stream
    assert stream is not None
    told = 0
    for step in range(shown.steps):
        kernel = next(s for s in shown.stages if s.kind == "kernel" and s.layer == step)
        for read in ahead(shown, kernel):
            both = min(read.stop_s, kernel.stop_s) - max(read.start_s, kernel.start_s)
            assert both > 0
            assert read.layer > step
            told += 1
        text = " ".join(s.text for s in step_story(shown, step))
        assert ("While it ran" in text) == bool(ahead(shown, kernel))
        if found := re.search(r"up to (\d+) layers? ahead", text):
            assert int(found[1]) == max(s.layer for s in ahead(shown, kernel)) - step
    assert told


def test_sentences_are_plain(shown: DisplayedPlan) -> None:
    """They begin with a letter or a number, end with a full stop and have no double spaces."""
    for _, sentence in whole(shown):
        assert re.match(r"[A-Za-z0-9]", sentence.text)
        assert sentence.text.endswith(".")
        assert "  " not in sentence.text
        assert ".." not in sentence.text


def test_the_next_use_is_none_after_the_last(shown: DisplayedPlan) -> None:
    stores = [item for item in shown.instructions if isinstance(item, Store)]
    last = stores[-1].piece.tensor
    assert next_use(shown, last, shown.steps) is None


@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap"])
def test_state_is_called_what_it_is(planner: str) -> None:
    sentences = whole(shown_of(sp.plan(cell(), planner, 1024)))
    texts = " ".join(sentence.text for _, sentence in sentences)
    assert "the new value of hidden" in texts
    assert "an output of the network" not in texts
    if planner == "cosma":
        assert "hidden (4 B), kept from the previous run," in texts
