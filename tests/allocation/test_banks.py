"""Several memories: against all assignments and addresses, bounds, pins, time, wrong input."""

from __future__ import annotations

from random import Random

import pytest

from planners.allocation.banks.model import Bank, Banked, BankProblem
from planners.allocation.banks.place import place_in_banks
from planners.allocation.check import check_packing
from planners.allocation.problem.model import Lifetime, load_lower_bound
from planners.core.errors import BadInput
from tests.allocation.all_ways import least

CASES, BLOCKS = 250, 4


def drawn(rng: Random) -> BankProblem:
    """Up to five lifetimes of which some meet, and two or three memories that may be too small.

    In half of the cases addresses are aligned: then bytes alone promise more than can be packed.
    """
    items = []
    alignments = rng.choice(((1,), (1, 2, 4)))
    for k in range(rng.randint(2, 5)):
        start = rng.randint(0, 5)
        items.append(
            Lifetime(
                f"t{k}", start, start + rng.randint(1, 4), rng.randint(1, 9), rng.choice(alignments)
            )
        )
    largest = max(item.size_bytes for item in items)
    sizes = [rng.randint(3, 14) for _ in range(rng.randint(2, 3))]
    sizes[-1] = max(sizes[-1], largest)
    banks = [Bank(f"m{k}", size) for k, size in enumerate(sizes)]
    touched = {item.id: item.size_bytes * rng.randint(1, 4) for item in items}
    return BankProblem(items, banks, touched)


def checked(problem: BankProblem, found: Banked) -> None:
    """Every lifetime lies in a memory with nothing over it, and the bytes are those said."""
    for bank in problem.banks:
        inside = [t for t in problem.lifetimes if found.places[t.id][0] == bank.name]
        offsets = {t.id: found.places[t.id][1] for t in inside}
        check_packing(inside, offsets, bank.size_bytes)
    assert found.touched == problem.touched_in(found.places)
    assert all(b <= t for b, t in zip(found.bounds, found.touched, strict=True))


@pytest.mark.parametrize(
    "block", [pytest.param(n, marks=pytest.mark.long if n else ()) for n in range(BLOCKS)]
)
def test_a_thousand_small_cases_against_all_assignments_and_addresses(block: int) -> None:
    rng = Random(6 + block)
    seen = {"placed": 0, "infeasible": 0}
    for _ in range(CASES):
        problem = drawn(rng)
        found, best = place_in_banks(problem, time_limit_s=10.0), least(problem)
        seen[found.status] += 1
        if best is None:
            assert found.status == "infeasible", problem
            continue
        assert found.proven, problem
        assert problem.cost(found.places) == best, problem
        checked(problem, found)
    assert min(seen.values()) > 10


def network(seed: int, count: int = 40) -> list[Lifetime]:
    """Lifetimes as of a network: most short, some across others."""
    rng = Random(seed)
    spans = [(k, k + rng.choice((2, 2, 2, 3, 8))) for k in range(count)]
    return [Lifetime(f"t{k}", a, b, rng.randint(1, 60)) for k, (a, b) in enumerate(spans)]


@pytest.mark.parametrize("seed", range(10))
def test_larger_ones_are_right_and_say_what_is_proven(seed: int) -> None:
    items = network(seed)
    load = load_lower_bound(items)
    banks = [Bank("fast", load // 3), Bank("middle", load // 2), Bank("slow", 2 * load)]
    problem = BankProblem(items, banks)
    found = place_in_banks(problem, time_limit_s=10.0)
    checked(problem, found)
    assert found.proven == (found.touched[1:] == found.bounds[1:])
    # Each time, what is live and no faster memory holds is in the slow one.
    over = load - banks[0].size_bytes - banks[1].size_bytes
    assert found.touched[2] >= max(0, over)


def test_another_order_of_memories_is_another_question() -> None:
    items = [Lifetime("a", 0, 4, 48), Lifetime("b", 0, 2, 32), Lifetime("c", 2, 4, 32)]
    banks = [Bank("fast", 64), Bank("slow", 500)]
    found = place_in_banks(BankProblem(items, banks))
    assert {id: place[0] for id, place in found.places.items()} == {
        "a": "slow",  # b and c, one after the other, outweigh it
        "b": "fast",
        "c": "fast",
    }
    busy = place_in_banks(BankProblem(items, banks, {"a": 480}))
    assert busy.places["a"] == ("fast", 0)
    pinned = place_in_banks(BankProblem(items, banks, pinned={"b": "slow"}))
    assert (pinned.places["b"][0], pinned.slow_bytes) == ("slow", 64)


def test_a_known_way_is_taken_where_no_better_is_found() -> None:
    items = [Lifetime("a", 0, 4, 48), Lifetime("b", 0, 2, 32), Lifetime("c", 2, 4, 32)]
    problem = BankProblem(items, [Bank("fast", 64), Bank("slow", 500)])
    worse = {"a": ("fast", 0), "b": ("slow", 0), "c": ("slow", 0)}
    assert place_in_banks(problem, known=[worse]).slow_bytes == 48
    early = place_in_banks(problem, known=[worse], time_limit_s=0.0)
    assert (early.slow_bytes, early.proven) == (64, False)


def test_without_time_there_is_a_plan_and_no_proof() -> None:
    items = network(3)
    problem = BankProblem(items, [Bank("fast", 60), Bank("slow", 5000)])
    found = place_in_banks(problem, time_limit_s=0.0)
    checked(problem, found)
    assert not found.proven
    assert found.bounds == (0, 0)


def test_one_memory_is_packed() -> None:
    items = network(1, 12)
    load = load_lower_bound(items)
    assert place_in_banks(BankProblem(items, [Bank("only", 2 * load)])).proven
    short = place_in_banks(BankProblem(items, [Bank("only", load - 1)]))
    assert (short.status, short.places) == ("infeasible", {})
    assert short.conflict


def test_nothing_to_place() -> None:
    found = place_in_banks(BankProblem([], [Bank("fast", 1), Bank("slow", 1)]))
    assert (found.status, found.proven) == ("placed", True)


@pytest.mark.parametrize(
    ("banks", "message"),
    [
        ([], "name at least one memory"),
        ([Bank("a", 0)], "memory 'a' has 0 bytes: give it some"),
        ([Bank("a", 9), Bank("a", 8)], "two memories have the name 'a'"),
        (
            [Bank("a", 9), Bank("b", 11)],
            "tensor 't' has 12 bytes, more than each memory: 'b' has 11",
        ),
    ],
)
def test_wrong_memories_are_refused_in_one_line(banks: list[Bank], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        BankProblem([Lifetime("t", 0, 1, 12)], banks)
    assert str(refused.value) == message


def test_wrong_lifetimes_are_refused_in_one_line() -> None:
    item = Lifetime("t", 0, 1, 12)
    with pytest.raises(BadInput, match="two lifetimes have the id 't'"):
        BankProblem([item, item], [Bank("a", 12)])
    with pytest.raises(BadInput, match="'t' has 12 bytes, more than memory 'a', where it has to"):
        BankProblem([item], [Bank("a", 9), Bank("b", 12)], pinned={"t": "a"})
