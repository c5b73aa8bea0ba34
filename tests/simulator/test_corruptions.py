"""Every way to break a valid program is caught, with the right reason."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import planners as sp
from planners.core.plan import Plan
from planners.core.program import Compute, Instruction, Load, Operand, Region, Release, Store
from planners.simulator.records.residency import Residency
from tests.random_graphs import random_graph

Corruption = Callable[[Plan, sp.CheckReport, random.Random], list[Instruction]]


def overlap(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A whole stay lies on another one that is there at the same time."""
    stays = report.residencies
    pairs = [
        (a, b)
        for a in stays
        for b in stays
        if a is not b
        and a.start_instruction < b.start_instruction < _end(a)
        and a.spans[0].start + b.size_bytes <= plan.budget_bytes
    ]
    assume(pairs)
    a, b = rng.choice(pairs)
    return _move_stay(plan, b, a.spans[0].start)


def early_release(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A tensor is released before its last use."""
    items = list(plan.program.instructions)
    stay = rng.choice(report.residencies)
    used = [
        i
        for i in range(stay.start_instruction + 1, stay.stop_instruction)
        if _reads(items[i], stay.tensor)
    ]
    assume(used)
    release = items.pop(stay.stop_instruction)
    items.insert(used[-1], replace(release, step=items[used[-1]].step))
    return items


def wrong_address(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A compute reads a tensor at another address than where it is."""
    items = list(plan.program.instructions)
    places = [i for i, item in enumerate(items) if isinstance(item, Compute) and item.reads]
    i = rng.choice(places)
    compute = items[i]
    assert isinstance(compute, Compute)
    at = rng.randrange(len(compute.reads))
    piece, region = compute.reads[at]
    assume(region.size_bytes < plan.budget_bytes)
    others = [o for o in range(plan.budget_bytes - region.size_bytes + 1) if o != region.offset]
    moved = Operand(piece, region._replace(offset=rng.choice(others)))
    items[i] = replace(compute, reads=(*compute.reads[:at], moved, *compute.reads[at + 1 :]))
    return items


def missing_load(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _without(plan, Load, rng)


def missing_store(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _without(plan, Store, rng)


def missing_compute(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _without(plan, Compute, rng)


def out_of_range(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A stay reaches past the end of the memory."""
    stay = rng.choice(report.residencies)
    return _move_stay(plan, stay, plan.budget_bytes - stay.size_bytes + rng.randint(1, 9))


def moved_while_resident(
    plan: Plan, report: sp.CheckReport, rng: random.Random
) -> list[Instruction]:
    """A resident tensor is loaded once more, elsewhere."""
    items = list(plan.program.instructions)
    i, load = rng.choice([(i, x) for i, x in enumerate(items) if isinstance(x, Load)])
    others = [o for o in range(plan.budget_bytes) if o != load.target.offset]
    assume(others)
    items.insert(i + 1, replace(load, target=load.target._replace(offset=rng.choice(others))))
    return items


def load_within_host(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A load goes from a memory to the same memory."""
    items = list(plan.program.instructions)
    i, load = rng.choice([(i, x) for i, x in enumerate(items) if isinstance(x, Load)])
    items.insert(i, replace(load, target=load.source))
    return items


def missing_operand(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """A compute no longer names one of its inputs."""
    items = list(plan.program.instructions)
    i, compute = rng.choice([(i, x) for i, x in enumerate(items) if isinstance(x, Compute)])
    items[i] = replace(compute, reads=compute.reads[:-1])
    return items


def load_on_compute(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _on(plan, Load, "compute", rng)


def load_outwards(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _on(plan, Load, "dma_out", rng)


def store_inwards(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _on(plan, Store, "dma_in", rng)


def store_in_storage(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    """`storage` serves a memory that no store of these programs goes to."""
    return _on(plan, Store, "storage", rng)


def compute_on_dma(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _on(plan, Compute, rng.choice(["dma_in", "dma_out", "storage"]), rng)


def unknown_engine(plan: Plan, report: sp.CheckReport, rng: random.Random) -> list[Instruction]:
    return _on(plan, rng.choice([Load, Store, Compute]), rng.choice(["teleport", "DMA_IN"]), rng)


KINDS: dict[Corruption, set[str]] = {
    overlap: {"overlap"},
    early_release: {"not resident"},
    wrong_address: {"wrong address"},
    missing_load: {"not resident"},
    missing_store: {"no output", "no copy"},
    missing_compute: {"not run", "not resident"},
    out_of_range: {"out of range"},
    moved_while_resident: {"moved", "out of range"},
    load_within_host: {"moved"},
    missing_operand: {"missing operand"},
    load_on_compute: {"engine"},
    load_outwards: {"engine"},
    store_inwards: {"engine"},
    store_in_storage: {"engine"},
    compute_on_dma: {"engine"},
    unknown_engine: {"engine"},
}


@pytest.mark.parametrize("corrupt", KINDS, ids=lambda f: f.__name__)
@given(seed=st.integers(0, 10**6), operators=st.integers(3, 15), share=st.floats(0, 1))
def test_every_corruption_is_caught(
    corrupt: Corruption, seed: int, operators: int, share: float
) -> None:
    graph = random_graph(seed, operators, largest=20)
    b = sp.budgets(graph)
    schemes = ("optimal", "belady", "greedy")
    plan = sp.plan(graph, budget=b.MR + round(share * (b.MP - b.MR)), replacement=schemes[seed % 3])
    report = sp.check(plan)
    items = corrupt(plan, report, random.Random(seed))
    broken = replace(plan, program=replace(plan.program, instructions=tuple(items)))
    with pytest.raises(sp.InvalidPlan) as error:
        sp.check(broken)
    assert error.value.kind in KINDS[corrupt]
    assert error.value.reason in str(error.value)


@pytest.mark.parametrize(
    "claim", ["peak_bytes", "extent_bytes", "compulsory_bytes", "noncompulsory_bytes"]
)
def test_a_claim_that_is_off_by_one_byte_is_caught(claim: str) -> None:
    plan = sp.plan(random_graph(1, 9, largest=30), budget="MR")
    wrong = replace(plan.claims, **{claim: getattr(plan.claims, claim) + 1})
    with pytest.raises(sp.InvalidPlan, match=claim):
        sp.check(replace(plan, claims=wrong))


def test_an_optimum_without_proof_is_caught() -> None:
    plan = sp.plan(random_graph(1, 9, largest=30), budget="MR")
    wrong = replace(plan.claims, status="optimal", bound_bytes=plan.claims.objective_bytes + 1)
    with pytest.raises(sp.InvalidPlan, match="does not agree"):
        sp.check(replace(plan, claims=wrong))


def test_a_bound_above_what_was_reached_is_caught() -> None:
    plan = sp.plan(random_graph(1, 9, largest=30), budget="MR")
    for status, bound in ("feasible", plan.claims.objective_bytes + 1), ("feasible", -1):
        wrong = replace(plan.claims, status=status, bound_bytes=bound)
        with pytest.raises(sp.InvalidPlan, match="does not agree"):
            sp.check(replace(plan, claims=wrong))


def test_a_program_with_more_memory_than_the_budget_is_caught() -> None:
    plan = sp.plan(random_graph(1, 9, largest=30), budget="MR")
    with pytest.raises(sp.InvalidPlan, match="the budget is"):
        sp.check(replace(plan, budget_bytes=plan.budget_bytes - 1))


def test_steps_out_of_order_are_told_as_the_page_counts_them() -> None:
    plan = sp.plan(random_graph(3, 6, largest=20), budget="MP")
    items = list(plan.program.instructions)
    items[-1] = replace(items[-1], step=0)
    broken = replace(plan, program=replace(plan.program, instructions=tuple(items)))
    last = items[-2].step + 1
    with pytest.raises(sp.InvalidPlan, match=rf"^step {last}, .*: step 1 is out of order"):
        sp.check(broken)


def _end(stay: Residency) -> int:
    return stay.stop_instruction if stay.stop_instruction >= 0 else 1 << 60


def _reads(item: Instruction, tensor: str) -> bool:
    if isinstance(item, Compute):
        return any(operand.piece.tensor == tensor for operand in item.reads)
    return isinstance(item, Store) and item.piece.tensor == tensor


def _without(plan: Plan, kind: type[Any], rng: random.Random) -> list[Instruction]:
    items = list(plan.program.instructions)
    places = [i for i, item in enumerate(items) if isinstance(item, kind)]
    del items[rng.choice(places)]
    return items


def _on(plan: Plan, kind: type[Any], engine: str, rng: random.Random) -> list[Instruction]:
    """An instruction of a kind runs on another engine."""
    items = list(plan.program.instructions)
    places = [i for i, item in enumerate(items) if isinstance(item, kind)]
    at = rng.choice(places)
    items[at] = replace(items[at], engine=engine)
    return items


def _move_stay(plan: Plan, stay: Residency, offset: int) -> list[Instruction]:
    """The program with one stay at another address, in all the instructions that name it."""

    def move(region: Region) -> Region:
        return region if region.offset is None else region._replace(offset=offset)

    def moved(operands: Sequence[Operand]) -> tuple[Operand, ...]:
        return tuple(Operand(p, move(r)) if p == stay.piece else Operand(p, r) for p, r in operands)

    items = list(plan.program.instructions)
    for i in range(stay.start_instruction, min(_end(stay) + 1, len(items))):
        item = items[i]
        if isinstance(item, Compute):
            items[i] = replace(item, reads=moved(item.reads), writes=moved(item.writes))
        elif isinstance(item, (Load, Store)) and item.piece == stay.piece:
            items[i] = replace(item, source=move(item.source), target=move(item.target))
        elif isinstance(item, Release) and item.piece == stay.piece:
            items[i] = replace(item, region=move(item.region))
    return items


def test_a_memory_that_is_none_is_named() -> None:
    plan = sp.plan(random_graph(1, 9, largest=30), budget="MR")
    items = list(plan.program.instructions)
    place = next(n for n, item in enumerate(items) if isinstance(item, Compute))
    first, *others = items[place].writes
    nowhere = Operand(first.piece, first.region._replace(memory="nowhere"))
    items[place] = replace(items[place], writes=(nowhere, *others))
    broken = replace(plan, program=replace(plan.program, instructions=tuple(items)))
    with pytest.raises(sp.InvalidPlan, match="there is no memory 'nowhere'"):
        sp.check(broken)
