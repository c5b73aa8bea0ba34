"""Pieces made in parts: checked, timed, executed and saved, and refused when wrong."""

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
from planners.core.plan import Plan
from planners.core.program import Compute, Instruction, Operand, Piece, Release, Store
from planners.core.program_json import program_from_json, program_to_json
from planners.executor.execute import execute
from planners.simulator.account import account
from planners.simulator.check import replay
from planners.simulator.timing import schedule
from planners.simulator.traffic import energy
from tests.cases import cases
from tests.simulator.parted import PartedLayers
from tests.simulator.programs import plan_of
from tests.simulator.test_sums import whole_numbers


def layers(seed: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A convolution, a pool or a depth-wise convolution, and another, on whole numbers."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    images, wide = rng.choice([1, 2]), rng.randint(3, 6)
    middle = [nn.MaxPool2d(2), nn.Conv2d(wide, wide, 3, groups=wide, padding=1), nn.ReLU()]
    module = nn.Sequential(
        nn.Conv2d(3, wide, 3, padding=rng.choice([0, 1]), bias=rng.random() < 0.5),
        nn.ReLU(),
        rng.choice(middle),
        nn.Conv2d(wide, 4, 1),
    )
    return whole_numbers(module), (torch.randint(-4, 5, (images, 3, 9, 7)).float(),)


@pytest.mark.parametrize("seed", range(cases(6, 16)))
def test_layers_in_parts_compute_what_pytorch_does(seed: int) -> None:
    case = PartedLayers(*layers(seed), seed)
    plan = plan_of(case.graph, case.program(), case.budget_bytes)
    sp.check(plan)
    done = execute(plan, case.module, case.inputs)
    assert done.bit_exact


@cache
def two_layers(seed: int = 0) -> PartedLayers:
    """Layers of which some instruction makes parts of several pieces, in several parts each."""
    torch.manual_seed(seed)
    module = whole_numbers(nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 5, 1)))
    while True:
        case = PartedLayers(module, (torch.randn(1, 3, 6, 5),), seed)
        runs = [i for i in case.instructions if isinstance(i, Compute) and i.step == 0]
        if max(len(i.writes) for i in runs) > 1 and len(of_one(case.instructions)) > 2:
            return case
        seed += 100


def of_one(items: list[Instruction]) -> list[int]:
    """Where the parts of the piece with the most parts are."""
    found: dict[Piece, list[int]] = {}
    for at, item in enumerate(items):
        if isinstance(item, Compute) and item.step == 0:
            for operand in item.writes:
                found.setdefault(operand.piece, []).append(at)
    return max(found.values(), key=len)


def a_piece_in_parts(items: list[Instruction]) -> tuple[list[int], Piece]:
    """The same, and the piece."""
    places = of_one(items)
    pieces = [{o.piece for o in items[at].writes} for at in places]
    return places, min(set.intersection(*pieces))


def test_a_piece_in_parts_stays_from_its_first_to_its_release() -> None:
    case = two_layers()
    report = replay(case.graph, case.program())
    made = [r for r in report.residencies if r.origin == "compute"]
    runs = [i for i in case.instructions if isinstance(i, Compute)]
    assert len(made) == len({o.piece for i in runs for o in i.writes})
    assert report.macs >= sum(op.macs for op in case.graph.operators)


def test_the_account_counts_a_piece_once() -> None:
    """Where the first corner comes first, as the fused groups' programs have it."""
    case = two_layers()
    items = list(case.instructions)
    runs = [at for at, item in enumerate(items) if isinstance(item, Compute)]
    for step in (0, 1):
        here = [at for at in runs if items[at].step == step]
        ordered = sorted((items[at] for at in here), key=lambda item: item.parts)
        for at, item in zip(here, ordered, strict=True):
            items[at] = item
    program = replace(case.program(), instructions=tuple(items))
    report, found = replay(case.graph, program), account(case.graph, program)
    assert (found.peak_bytes, found.extent_bytes) == (report.peak_bytes, report.extent_bytes)
    assert found.compulsory_bytes == report.compulsory_bytes


# ---- corruptions ------------------------------------------------------------------------------

Broken = tuple[list[Instruction], str, str]


def changed(items: list[Instruction], at: int, **fields: Any) -> list[Instruction]:
    compute = items[at]
    assert isinstance(compute, Compute)
    return [*items[:at], replace(compute, **fields), *items[at + 1 :]]


def with_part(items: list[Instruction], at: int, piece: Piece, part: Any) -> list[Instruction]:
    """One part of an instruction changed, its others as they were."""
    item = items[at]
    assert isinstance(item, Compute)
    both = zip(item.writes, item.parts, strict=True)
    return changed(items, at, parts=tuple(part if o.piece == piece else p for o, p in both))


def part_of(items: list[Instruction], at: int, piece: Piece) -> tuple[tuple[int, int], ...]:
    item = items[at]
    assert isinstance(item, Compute)
    return next(p for o, p in zip(item.writes, item.parts, strict=True) if o.piece == piece)


def a_part_is_missing(items: list[Instruction]) -> Broken:
    del items[of_one(items)[0]]
    return items, "unfinished", r"is unfinished: \d+ of \d+ elements are still to be made"


def it_is_never_complete(items: list[Instruction]) -> Broken:
    kept = items[: of_one(items)[0] + 1]
    return kept, "unfinished", "still to be made"


def it_is_released_early(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    operand = next(o for o in items[places[0]].writes if o.piece == piece)
    items.insert(places[0] + 1, Release(0, *operand))
    return items, "unfinished", "still to be made"


def it_is_stored_early(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    store = next(i for i in items if isinstance(i, Store) and i.piece == piece)
    items.insert(places[0] + 1, store)
    return items, "unfinished", "still to be made"


def it_is_read_early(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    operand = next(o for o in items[places[0]].writes if o.piece == piece)
    reader = next(i for i in items if isinstance(i, Compute) and i.step == 1)
    items.insert(places[0] + 1, replace(reader, step=0, reads=(operand,)))
    return items, "unfinished", "still to be made"


def a_part_comes_twice(items: list[Instruction]) -> Broken:
    (first, second, *_), piece = a_piece_in_parts(items)
    return (
        with_part(items, second, piece, part_of(items, first, piece)),
        "parts",
        r"cannot add to .*: \[.*\] is made already",
    )


def parts_overlap(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    return with_part(items, places[-1], piece, piece.box), "parts", "is made already"


def a_part_is_beyond(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    images, (_, channels), *rest = piece.box
    part = (images, (0, channels + 1), *rest)
    return with_part(items, places[0], piece, part), "parts", r"0:5.*\] is no part of it"


def a_part_is_empty(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    part = (piece.box[0], (2, 2), *piece.box[2:])
    return with_part(items, places[0], piece, part), "parts", "2:2.* is no part of it"


def a_part_has_too_few_axes(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    return with_part(items, places[0], piece, piece.box[:2]), "parts", "is no part of it"


def a_part_follows_the_last(items: list[Instruction]) -> Broken:
    at = of_one(items)[-1]
    items.insert(at + 1, items[at])
    return items, "parts", "it is complete"


def a_part_is_elsewhere(items: list[Instruction]) -> Broken:
    places, piece = a_piece_in_parts(items)
    writes = tuple(
        Operand(p, r._replace(offset=r.offset + 1) if p == piece else r)
        for p, r in items[places[1]].writes
    )
    return changed(items, places[1], writes=writes), "wrong address", "is resident at"


def all_at_once_over_a_part(items: list[Instruction]) -> Broken:
    return changed(items, of_one(items)[-1], parts=()), "moved", "cannot move"


def fewer_parts_than_writes(items: list[Instruction]) -> Broken:
    at = next(i for i, x in enumerate(items) if isinstance(x, Compute) and len(x.writes) > 1)
    return changed(items, at, parts=items[at].parts[:1]), "parts", r"has 1 parts for \d writes"


def sums_and_parts(items: list[Instruction]) -> Broken:
    return changed(items, of_one(items)[0], sums=(0, 3)), "parts", "has sums and parts"


def sums_after_parts(items: list[Instruction]) -> Broken:
    at = of_one(items)[-1]
    broken = changed(items, at, sums=(0, 3), parts=())
    return broken, "sums", "sums and parts make no piece together"


def an_operand_is_not_read(items: list[Instruction]) -> Broken:
    at = of_one(items)[0]
    return changed(items, at, reads=items[at].reads[1:]), "missing operand", "needs input"


def macs_of_the_whole_piece(items: list[Instruction]) -> Broken:
    at = of_one(items)[0]
    return changed(items, at, macs=items[at].macs * 4), "macs", "MACs here"


BREAKS: list[Callable[[list[Instruction]], Broken]] = [
    a_part_is_missing,
    it_is_never_complete,
    it_is_released_early,
    it_is_stored_early,
    it_is_read_early,
    a_part_comes_twice,
    parts_overlap,
    a_part_is_beyond,
    a_part_is_empty,
    a_part_has_too_few_axes,
    a_part_follows_the_last,
    a_part_is_elsewhere,
    all_at_once_over_a_part,
    fewer_parts_than_writes,
    sums_and_parts,
    sums_after_parts,
    an_operand_is_not_read,
    macs_of_the_whole_piece,
]


@pytest.mark.parametrize("damage", BREAKS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [5, 6])
def test_broken_parts_are_refused(damage: Any, seed: int) -> None:
    case = two_layers(seed)
    replay(case.graph, case.program())
    items, kind, reason = damage(list(case.instructions))
    with pytest.raises(sp.InvalidPlan, match=reason) as error:
        replay(case.graph, replace(case.program(), instructions=tuple(items)))
    assert error.value.kind == kind


# ---- time and energy --------------------------------------------------------------------------


def test_parts_of_a_piece_wait_for_each_other() -> None:
    """A part is a hazard on all bytes of its piece, and reads none of them."""
    case = two_layers()
    items = tuple(
        replace(case.instructions[at], engine=f"compute {n}", reads=())
        for n, at in enumerate(of_one(case.instructions))
    )
    program = replace(case.program(), instructions=items)
    found = schedule(program, sp.load_machine("npu_small"), case.graph, duration=lambda item: 9.0)
    assert [i.start_s for i in found] == [9.0 * n for n in range(len(items))]
    for before, after in zip(found, found[1:], strict=False):
        assert (after.cause, after.blocker) == ("write after write", before.instruction)


def test_a_part_takes_its_own_bytes() -> None:
    """All parts together write a piece once, and take as long as their bytes."""
    case = two_layers()
    machine = sp.load_machine("npu_ideal")
    level = machine.memory("scratchpad")
    runs = [i for i in case.instructions if isinstance(i, Compute)]
    bare = tuple(replace(i, reads=(), macs=0) for i in runs)
    program = replace(case.program(), instructions=bare)
    size = sum(case.graph.size_bytes(op.outputs[0]) for op in case.graph.operators)
    joules = energy(program, machine)
    assert joules["scratchpad"] == pytest.approx(size * level.write_pj_per_byte * 1e-12)
    busy = sum(i.stop_s - i.start_s for i in schedule(program, machine, case.graph))
    latency = machine.engine("compute").latency_s * len(runs)
    assert busy == pytest.approx(size / level.write_bytes_per_s + latency)


# ---- JSON -------------------------------------------------------------------------------------


def test_parts_survive_json_and_are_written_only_where_there_are_any() -> None:
    case = two_layers()
    data = json.loads(json.dumps(program_to_json(case.program())))
    assert program_from_json(data).instructions == tuple(case.instructions)
    rows = [row for row in data["instructions"] if row[0] == "compute"]
    assert {len(row) for row in rows} == {10}
    plain = tuple(
        replace(item, parts=()) if isinstance(item, Compute) else item for item in case.instructions
    )
    data = program_to_json(replace(case.program(), instructions=plain))
    assert {len(row) for row in data["instructions"] if row[0] == "compute"} == {8}


def saved(case: PartedLayers) -> tuple[dict[str, Any], list[Any]]:
    """A plan as JSON and the row of its first compute."""
    data = plan_of(case.graph, case.program(), case.budget_bytes).to_json()
    return data, next(row for row in data["program"]["instructions"] if row[0] == "compute")


BOX = [[0, 1], [0, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    "parts",
    [None, 3, "04", [], {}, [3], [None], [[3]], [[[0]]], [[[0, True]]], [[[0, 1.0]]], [["01"]],
     [[[0, 1, 2]]], [BOX] * 9, [[*BOX[:3], [0, None]]]],
)  # fmt: skip
def test_parts_of_the_wrong_type_are_refused(parts: Any) -> None:
    data, row = saved(two_layers())
    row[-1] = parts
    with pytest.raises(sp.BadInput, match="parts of a compute must be one box of") as error:
        Plan.from_json(data)
    assert "\n" not in str(error.value)


def test_sums_beside_parts_are_refused() -> None:
    data, row = saved(two_layers())
    row[-2] = [0, 3]
    with pytest.raises(sp.BadInput, match="sums or parts, not both"):
        Plan.from_json(data)
    row[-2:] = [None, row[-1], 3]
    with pytest.raises(sp.BadInput, match="sums or parts, not both"):
        Plan.from_json(data)


@pytest.mark.parametrize("box", [[[0, 10**30]] * 4, [[-1, 1]] * 4, [[1, 0]] * 4, [[0, 1]], []])
def test_impossible_parts_are_refused_by_the_check(box: Any) -> None:
    data, row = saved(two_layers())
    row[-1] = [box for _ in row[-1]]
    plan = Plan.from_json(data)
    with pytest.raises(sp.InvalidPlan, match="is no part of it"):
        sp.check(plan)
    with pytest.raises(sp.InvalidPlan, match="is no part of it"):
        sp.simulate(plan)
