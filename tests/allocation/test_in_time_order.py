"""Very many lifetimes: placed in order of time, within the limit."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from planners.allocation.aligned import aligned_load, rounded_parts
from planners.allocation.check import check_packing
from planners.allocation.heuristics import MOST_PAIRS, can_pair, pairs_at_once
from planners.allocation.in_time_order import FreeList, in_time_order
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.portfolio import pack
from planners.allocation.problem.instance import reduce
from planners.allocation.problem.model import Lifetime, load_lower_bound
from planners.core.progress import Clock
from tests.cases import cases


def drawn(seed: int, count: int, alignments: tuple[int, ...] = (1,)) -> list[Lifetime]:
    dice = Random(seed)
    lifetimes = []
    for k in range(count):
        lower = dice.randint(0, count)
        upper = lower + dice.randint(1, dice.choice([2, 9, count]))
        lifetimes.append(
            Lifetime(f"t{k}", lower, upper, dice.randint(0, 40), dice.choice(alignments))
        )
    return lifetimes


@pytest.mark.parametrize("seed", range(cases(60)))
def test_places_are_right_and_no_byte_is_lost(seed: int) -> None:
    lifetimes = drawn(seed, Random(seed).randint(1, 30), ((1,), (1, 4, 6), (16,))[seed % 3])
    offsets = in_time_order(lifetimes)
    extent = max(offsets[item.id] + item.size_bytes for item in lifetimes)
    check_packing(lifetimes, offsets, extent)
    assert extent >= aligned_load(lifetimes) >= load_lower_bound(lifetimes)
    at_once = [Lifetime(item.id, 0, 1, item.size_bytes) for item in lifetimes]
    stack = in_time_order(at_once)
    assert max(stack[i.id] + i.size_bytes for i in at_once) == load_lower_bound(at_once)


def test_a_freed_range_joins_its_neighbours() -> None:
    free = FreeList()
    assert [free.take(10, 1) for _ in range(4)] == [0, 10, 20, 30]
    free.give(10, 20)
    free.give(0, 10)
    assert free.take(11, 1) == 0  # one range of both
    assert free.take(5, 4) == 12
    free.give(30, 40)
    assert free.top == 30
    assert free.take(8, 1) == 30  # what is left of the range holds three
    free.give(20, 30)
    free.give(12, 17)
    assert free.take(19, 1) == 11


@pytest.mark.parametrize("seed", range(cases(40)))
def test_pairs_and_loads_are_what_is_counted_one_by_one(seed: int) -> None:
    lifetimes = drawn(seed, 25, (1, 3, 8))
    starts, stops = [i.lower for i in lifetimes], [i.upper for i in lifetimes]
    meet = [a.lower < b.upper and b.lower < a.upper for a, b in combinations(lifetimes, 2)]
    assert pairs_at_once(starts, stops) == sum(meet)
    times = sorted(starts)
    most = 0
    for _, part in rounded_parts(lifetimes):
        for time in times:
            live = [k for k, i in enumerate(part) if i.lower <= time < i.upper]
            own = {i.id: i.size_bytes for i in lifetimes}
            padding = max((part[k].size_bytes - own[part[k].id] for k in live), default=0)
            most = max(most, sum(part[k].size_bytes for k in live) - padding)
    assert aligned_load(lifetimes) in (most, load_lower_bound(lifetimes))
    for instance in reduce([i for i in lifetimes if i.size_bytes], 99):
        loads = [0] * instance.sections
        for start, stop, size in zip(instance.start, instance.stop, instance.size, strict=True):
            for section in range(start, stop):
                loads[section] += size
        assert instance.loads() == loads


def test_more_pairs_than_time_or_room_are_not_looked_at() -> None:
    many = 6_000
    starts, stops = [0] * many, [1] * many
    assert pairs_at_once(starts, stops) == many * (many - 1) // 2 > MOST_PAIRS
    assert not can_pair(starts, stops, Clock(1e9))
    assert can_pair(starts[:1000], stops, Clock(2.0))
    assert not can_pair(starts[:1000], stops, Clock(0.2))
    lifetimes = [Lifetime(f"t{k}", 0, 1 + k % 7, 16 * (1 + k % 5)) for k in range(many)]
    least = pack_tightest(lifetimes, time_limit_s=1.0)
    assert least.extent_bytes == least.bound_bytes == load_lower_bound(lifetimes)
    assert pack(lifetimes, least.extent_bytes, time_limit_s=1.0).status == "packed"
    assert pack(lifetimes, least.extent_bytes - 1, time_limit_s=1.0).status == "infeasible"
