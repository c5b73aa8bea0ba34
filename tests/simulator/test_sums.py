"""Pieces that are sums of parts: checked, timed, executed and saved, and refused when wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.access import needs, reduced
from planners.core.plan import Plan
from planners.core.program import Compute, Instruction, Operand, Piece, Release, Store
from planners.core.program_json import program_from_json, program_to_json
from planners.executor.execute import execute
from planners.simulator.check import replay
from planners.simulator.timing import schedule
from planners.simulator.traffic import energy
from tests.cases import cases
from tests.simulator.programs import plan_of
from tests.simulator.summed import SummedLayers


def whole_numbers(module: nn.Module) -> nn.Module:
    """The module with small whole numbers for weights: sums are then exact in any order."""
    for parameter in module.parameters():
        parameter.data = torch.randint(-3, 4, parameter.shape).float()
    return module


def layer(seed: int) -> tuple[nn.Module, tuple[torch.Tensor, ...], bool]:
    """A random layer that sums, with what may follow; whether whole numbers stay whole."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    rank, c_in, c_out = seed % 4, rng.randint(1, 5), rng.randint(1, 5)
    bias = rng.random() < 0.5
    if rank == 0:
        shape = (3, c_in) if rng.random() < 0.5 else (2, 3, c_in)
        first: nn.Module = nn.Linear(c_in, c_out, bias=bias)
        norm = False
    else:
        shape = (rng.choice([1, 2]), c_in, *(rng.randint(7, 9) for _ in range(rank)))
        kernel = tuple(rng.randint(1, 3) for _ in range(rank))
        # Some windows lie in the padding alone.
        first = getattr(nn, f"Conv{rank}d")(
            c_in,
            c_out,
            kernel,
            stride=rng.choice([1, 2]),
            padding=rng.choice([0, 1, 4]),
            dilation=rng.choice([1, 2]),
            bias=bias,
        )
        norm = rng.random() < 0.5
    parts = [whole_numbers(first)]
    if norm:
        parts.append(getattr(nn, f"BatchNorm{rank}d")(c_out))
        parts[-1].running_mean.normal_()
    parts.append(rng.choice([nn.ReLU(), nn.SiLU(), nn.Identity()]))
    module = nn.Sequential(*parts)
    exact = not norm and not isinstance(parts[-1], nn.SiLU)
    return module, (torch.randint(-4, 5, shape).float(),), exact


@pytest.mark.parametrize("seed", range(cases(8, 24)))
def test_a_layer_in_parts_computes_what_pytorch_does(seed: int) -> None:
    module, inputs, exact = layer(seed)
    case = SummedLayers(module, inputs, seed)
    assert len(case.graph.operators) == 1
    plan = plan_of(case.graph, case.program(), case.budget_bytes)
    report = sp.check(plan)
    (op,) = case.graph.operators
    computes = [i for i in case.instructions if isinstance(i, Compute)]
    assert op.macs <= report.macs < op.macs + len(computes)
    done = execute(plan, case.module, case.inputs)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-5, atol=1e-5)
    assert not exact or done.bit_exact


@cache
def two_layers(seed: int = 5) -> SummedLayers:
    torch.manual_seed(seed)
    module = whole_numbers(nn.Sequential(nn.Conv2d(4, 3, 3, padding=1), nn.Conv2d(3, 2, 1)))
    return SummedLayers(module, (torch.randn(1, 4, 5, 5),), seed, frees=False)


def test_layers_in_parts_follow_each_other() -> None:
    case = two_layers()
    plan = plan_of(case.graph, case.program(), case.budget_bytes)
    sp.check(plan)
    done = execute(plan, case.module, case.inputs)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-5, atol=1e-5)


def test_a_piece_in_parts_stays_from_its_first_to_its_release() -> None:
    case = two_layers()
    report = replay(case.graph, case.program())
    made = [r for r in report.residencies if r.origin == "compute"]
    tiles = {i.writes[0].piece for i in case.instructions if isinstance(i, Compute)}
    assert len(made) == len(tiles)
    for stay in made:
        writes = [
            at
            for at, item in enumerate(case.instructions)
            if isinstance(item, Compute) and item.writes[0].piece == stay.piece
        ]
        assert stay.start_instruction == writes[0]
        assert stay.stop_instruction > writes[-1]


# ---- what cannot be summed in parts -----------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "channels"),
    [
        (nn.Conv2d(4, 6, 3), 4),
        (nn.Conv2d(4, 6, 3, groups=2), None),
        (nn.Sequential(nn.ReLU(), nn.Conv2d(4, 6, 3)), None),
        (nn.MaxPool2d(2), None),
        (nn.Linear(8, 3), 8),
        (nn.Sequential(nn.Flatten(), nn.Linear(256, 3)), None),
        (nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.Hardswish()), 4),
    ],
)
def test_what_is_reduced(module: nn.Module, channels: int | None) -> None:
    graph = sp.from_torch(module, (torch.randn(1, 4, 8, 8),))
    assert reduced(graph, graph.operators[-1]) == channels


def test_a_part_needs_its_channels_and_the_last_one_what_follows() -> None:
    module = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))
    graph = sp.from_torch(module, (torch.randn(1, 4, 8, 8),))
    (op,) = graph.operators
    box = ((0, 1), (2, 4), (1, 3), (0, 6))
    first = dict(needs(graph, op, op.outputs[0], box, (1, 3), last=False))
    assert first == {
        op.inputs[0]: ((0, 1), (1, 3), (1, 5), (0, 8)),
        "0.weight": ((2, 4), (1, 3), (0, 3), (0, 3)),
    }
    last = dict(needs(graph, op, op.outputs[0], box, (1, 3)))
    assert last.keys() - first.keys() == set(op.parameters) - {"0.weight"}
    assert all(last[name] == ((2, 4),) for name in last.keys() - first.keys())


# ---- corruptions ------------------------------------------------------------------------------

Broken = tuple[list[Instruction], str, str]


def computes(items: list[Instruction]) -> list[int]:
    return [i for i, item in enumerate(items) if isinstance(item, Compute)]


def parts_of_one(items: list[Instruction]) -> list[int]:
    """Where the parts of some piece are that has several."""
    for first in computes(items):
        same = [i for i in computes(items) if items[i].writes == items[first].writes]
        if len(same) > 1:
            return same
    raise AssertionError("no piece has several parts")


def with_sums(items: list[Instruction], at: int, sums: tuple[int, int]) -> list[Instruction]:
    compute = items[at]
    assert isinstance(compute, Compute)
    return [*items[:at], replace(compute, sums=sums), *items[at + 1 :]]


def a_part_is_missing(items: list[Instruction]) -> Broken:
    del items[parts_of_one(items)[0]]
    return items, "unfinished", r"is unfinished: \d of 4 channels are still to be added"


def a_part_is_missing_and_what_follows(items: list[Instruction]) -> Broken:
    last = items[parts_of_one(items)[-1]]
    assert isinstance(last, Compute)
    kept = [
        items[i] for i in range(len(items)) if items[i] is not last and not _names(items[i], last)
    ]
    return kept, "unfinished", "still to be added"


def it_is_released_early(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[0]
    (tile,) = items[at].writes
    items.insert(at + 1, Release(0, *tile))
    return items, "unfinished", "still to be added"


def it_is_read_early(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[0]
    (tile,) = items[at].writes
    reader = next(i for i in computes(items) if items[i].step == 1)
    early = replace(items[reader], step=0, reads=(tile,), frees=())
    items.insert(at + 1, early)
    return items, "unfinished", "still to be added"


def it_is_stored_early(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[0]
    store = next(i for i in items if isinstance(i, Store) and i.piece == items[at].writes[0].piece)
    items.insert(at + 1, store)
    return items, "unfinished", "still to be added"


def a_range_comes_twice(items: list[Instruction]) -> Broken:
    first, second = parts_of_one(items)[:2]
    start, stop = items[first].sums
    return with_sums(items, second, (start, stop)), "sums", f"{start}:{stop} are added already"


def ranges_overlap(items: list[Instruction]) -> Broken:
    return with_sums(items, parts_of_one(items)[-1], (0, 4)), "sums", "are added already"


def a_range_is_beyond(items: list[Instruction]) -> Broken:
    return with_sums(items, computes(items)[0], (2, 5)), "sums", "2:5 are out of range of 4"


def a_range_is_negative(items: list[Instruction]) -> Broken:
    return with_sums(items, computes(items)[0], (-1, 2)), "sums", "-1:2 are out of range of 4"


def a_range_is_empty(items: list[Instruction]) -> Broken:
    return with_sums(items, computes(items)[0], (2, 2)), "sums", "2:2 are out of range of 4"


def a_part_follows_the_last(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[-1]
    items.insert(at + 1, replace(items[at], frees=(), reads=()))
    return items, "sums", "it is complete"


def a_part_is_elsewhere(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[1]
    (tile,) = items[at].writes
    moved = tile.region._replace(offset=tile.region.offset + 1)
    items[at] = replace(items[at], writes=(Operand(tile.piece, moved),))
    return items, "wrong address", "is resident at"


def all_channels_at_once_over_a_part(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[1]
    items[at] = replace(items[at], sums=None)
    return items, "moved", "cannot move"


def a_channel_is_not_read(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[0]
    item = items[at]
    items[at] = replace(item, reads=item.reads[1:], frees=tuple(f - 1 for f in item.frees))
    return items, "missing operand", "conv2d needs input"


def the_bias_is_not_read(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[-1]
    item = items[at]
    items[at] = replace(item, reads=item.reads[:-1], frees=item.frees[:-1])
    return items, "missing operand", "0.bias"


def macs_of_all_channels(items: list[Instruction]) -> Broken:
    at = parts_of_one(items)[0]
    items[at] = replace(items[at], macs=items[at].macs * 4)
    return items, "macs", "MACs here"


BREAKS: list[Callable[[list[Instruction]], Broken]] = [
    a_part_is_missing,
    a_part_is_missing_and_what_follows,
    it_is_released_early,
    it_is_read_early,
    it_is_stored_early,
    a_range_comes_twice,
    ranges_overlap,
    a_range_is_beyond,
    a_range_is_negative,
    a_range_is_empty,
    a_part_follows_the_last,
    a_part_is_elsewhere,
    all_channels_at_once_over_a_part,
    a_channel_is_not_read,
    the_bias_is_not_read,
    macs_of_all_channels,
]


@pytest.mark.parametrize("damage", BREAKS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [5, 6])
def test_broken_sums_are_refused(damage: Any, seed: int) -> None:
    case = two_layers(seed)
    replay(case.graph, case.program())
    items, kind, reason = damage(list(case.instructions))
    with pytest.raises(sp.InvalidPlan, match=reason) as error:
        replay(case.graph, replace(case.program(), instructions=tuple(items)))
    assert error.value.kind == kind


def test_an_operator_that_cannot_be_summed_in_parts_is_refused() -> None:
    case = two_layers()
    op = case.graph.operators[0]
    grouped = replace(op, groups=2)
    graph = replace(case.graph, operators=(grouped, *case.graph.operators[1:]))
    with pytest.raises(sp.InvalidPlan, match="cannot be summed in parts") as error:
        replay(graph, case.program())
    assert error.value.kind == "sums"


# ---- time and energy --------------------------------------------------------------------------


def test_a_part_waits_for_the_one_before() -> None:
    case = two_layers()
    items = [case.instructions[at] for at in parts_of_one(case.instructions)]
    # Alone, with an engine each: only the sum holds them back.
    parts = tuple(replace(item, engine=f"compute {n}") for n, item in enumerate(items))
    program = replace(case.program(), instructions=parts)
    found = schedule(program, sp.load_machine("npu_small"), case.graph, duration=lambda item: 9.0)
    assert [i.start_s for i in found] == [9.0 * n for n in range(len(parts))]
    for before, after in zip(found, found[1:], strict=False):
        assert (after.cause, after.blocker) == ("read after write", before.instruction)


def test_a_part_reads_what_it_adds_to() -> None:
    case = two_layers()
    program, machine = case.program(), sp.load_machine("npu_small")
    level = machine.memory("scratchpad")
    counted: dict[Piece, int] = {}
    for item in case.instructions:
        if isinstance(item, Compute):
            piece = item.writes[0].piece
            counted[piece] = counted.get(piece, -1) + 1
    again = sum(piece.elements * n for piece, n in counted.items())
    assert again > 0
    # The same without sums: what is written is written as often, and read by nothing here.
    plain = tuple(
        replace(item, sums=None) if isinstance(item, Compute) else item
        for item in case.instructions
    )
    more = energy(program, machine)["scratchpad"]
    less = energy(replace(program, instructions=plain), machine)["scratchpad"]
    assert more - less == pytest.approx(again * level.read_pj_per_byte * 1e-12)


def test_a_piece_that_is_made_anew_begins_anew() -> None:
    """Once released, the first part of a piece reads nothing."""
    case = two_layers()
    machine = sp.load_machine("npu_small")
    twice = replace(case.program(), instructions=(*case.instructions, *case.instructions))
    once, both = (energy(p, machine) for p in (case.program(), twice))
    assert both["scratchpad"] == pytest.approx(2 * once["scratchpad"])


# ---- JSON -------------------------------------------------------------------------------------


def test_sums_survive_json_and_are_written_only_where_there_are_any() -> None:
    case = two_layers()
    data = json.loads(json.dumps(program_to_json(case.program())))
    assert program_from_json(data).instructions == tuple(case.instructions)
    rows = [row for row in data["instructions"] if row[0] == "compute"]
    assert {len(row) for row in rows} == {9}
    plain = tuple(
        replace(item, sums=None) if isinstance(item, Compute) else item
        for item in case.instructions
    )
    data = program_to_json(replace(case.program(), instructions=plain))
    assert {len(row) for row in data["instructions"] if row[0] == "compute"} == {8}


@pytest.mark.parametrize(
    "sums",
    [None, 3, "04", [], [0], [0, 1, 2], [0, True], [0, 1.0], [0, "1"], [None, 1], {}, [[0, 1]]],
)
def test_sums_of_the_wrong_type_are_refused(sums: Any) -> None:
    case = two_layers()
    data = plan_of(case.graph, case.program(), case.budget_bytes).to_json()
    row = next(row for row in data["program"]["instructions"] if row[0] == "compute")
    row[-1] = sums
    with pytest.raises(sp.BadInput, match="sums of a compute must be two whole numbers"):
        Plan.from_json(data)


def test_more_than_sums_is_refused() -> None:
    case = two_layers()
    data = plan_of(case.graph, case.program(), case.budget_bytes).to_json()
    next(row for row in data["program"]["instructions"] if row[0] == "compute").append([0, 1])
    with pytest.raises(sp.BadInput, match="a compute has sums or parts, not both"):
        Plan.from_json(data)


def _names(item: Instruction, compute: Compute) -> bool:
    """Whether a later instruction needs what a compute completes."""
    piece = compute.writes[0].piece
    return item.step == 1 or (isinstance(item, (Store, Release)) and item.piece == piece)
