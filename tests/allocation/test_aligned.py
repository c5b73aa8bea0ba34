"""Addresses that are multiples of something: against trying all of them, and against CP-SAT."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.allocation import Lifetime, check_packing, pack
from planners.allocation.aligned import aligned_load, by_themselves, unit_of
from planners.allocation.min_capacity import pack_tightest
from planners.core.errors import BadInput, InvalidPlan
from tests.cases import cases


def least(lifetimes: Sequence[Lifetime], enough: int) -> int:
    """The least extent, at most `enough`, by trying every aligned address of each."""
    best = enough

    def extend(placed: list[tuple[Lifetime, int]], top: int) -> None:
        nonlocal best
        if len(placed) == len(lifetimes):
            best = min(best, top)
            return
        new = lifetimes[len(placed)]
        for offset in range(0, best - new.size_bytes, new.alignment):
            if all(
                old.upper <= new.lower
                or new.upper <= old.lower
                or at + old.size_bytes <= offset
                or offset + new.size_bytes <= at
                for old, at in placed
            ):
                extend([*placed, (new, offset)], max(top, offset + new.size_bytes))

    extend([], 0)
    return best


@st.composite
def questions(draw: st.DrawFn) -> list[Lifetime]:
    alignments = draw(st.sampled_from([(4,), (1, 4), (2, 8), (1, 2, 4, 8), (3, 4), (6, 4)]))
    lifetimes = []
    for index in range(draw(st.integers(1, 5))):
        lower = draw(st.integers(0, 4))
        upper = draw(st.integers(lower + 1, 5))
        size, alignment = draw(st.integers(1, 9)), draw(st.sampled_from(alignments))
        lifetimes.append(Lifetime(f"t{index}", lower, upper, size, alignment))
    return lifetimes


@settings(max_examples=cases(200), deadline=None)
@given(questions())
def test_the_least_extent_is_that_of_trying_everything(lifetimes: list[Lifetime]) -> None:
    tight = pack_tightest(lifetimes)
    check_packing(lifetimes, tight.offsets, tight.extent_bytes)
    wanted = least(lifetimes, tight.extent_bytes + 1)
    assert tight.extent_bytes == tight.bound_bytes == wanted
    assert aligned_load(lifetimes) <= wanted
    assert wanted % unit_of(lifetimes) == 0
    refused = pack(lifetimes, wanted - 1)
    assert refused.status == "infeasible"
    core = [item for item in lifetimes if item.id in refused.conflict]
    assert core
    assert least(core, wanted) >= wanted


def test_what_is_aligned_by_itself_stays_as_it_was() -> None:
    rng = Random(0)
    plain = [Lifetime(f"t{i}", i, i + rng.randint(1, 6), 64 * rng.randint(1, 9)) for i in range(60)]
    aligned = [Lifetime(a.id, a.lower, a.upper, a.size_bytes, 64) for a in plain]
    assert by_themselves(aligned)
    assert pack_tightest(aligned) == pack_tightest(plain)


def test_padding_is_not_paid_at_the_top() -> None:
    items = [Lifetime("low", 0, 2, 10, 16), Lifetime("high", 1, 3, 9, 16)]
    assert pack_tightest(items).extent_bytes == aligned_load(items) == 25


def test_rounding_to_the_largest_alignment_would_be_too_much() -> None:
    items = [Lifetime("a", 0, 2, 8, 64), Lifetime("b", 0, 2, 8, 8), Lifetime("c", 0, 2, 8, 8)]
    assert pack_tightest(items).extent_bytes == 24


def test_the_checker_sees_what_is_not_aligned() -> None:
    items = [Lifetime("a", 0, 2, 8, 16)]
    check_packing(items, {"a": 16}, 24)
    with pytest.raises(InvalidPlan, match="no multiple of 16"):
        check_packing(items, {"a": 8}, 24)
    with pytest.raises(BadInput, match="alignment 0"):
        Lifetime("a", 0, 2, 8, 0)


@pytest.mark.parametrize("seed", range(4))
def test_larger_ones_are_settled_too(seed: int) -> None:
    rng = Random(seed)
    items = []
    for k in range(40):
        size, alignment = rng.randint(1, 5000), rng.choice([16, 64])
        items.append(Lifetime(f"t{k}", k, k + rng.randint(1, 5), size, alignment))
    tight = pack_tightest(items, time_limit_s=20)
    check_packing(items, tight.offsets, tight.extent_bytes)
    assert tight.bound_bytes == tight.extent_bytes
