"""`pack` against an enumeration of all offsets, on instances with a known answer, and in limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planners.allocation import (
    Lifetime,
    best_fit_arena,
    check_packing,
    cp_sat,
    load_lower_bound,
    min_capacity,
    pack,
    portfolio,
)
from planners.allocation.generate import cut_rectangle, network_like
from planners.allocation.heuristics import in_orders
from planners.allocation.in_time_order import extent_of, in_time_order
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.skyline import search as skyline
from planners.allocation.skyline.search import BranchingRule, SkylineSearch
from planners.core.errors import BadInput, InvalidPlan
from planners.core.progress import Clock, Progress
from tests.cases import cases


def fits(lifetimes: Sequence[Lifetime], capacity: int) -> bool:
    """Whether any offsets at all are right, by trying them all."""

    def extend(placed: list[tuple[Lifetime, int]]) -> bool:
        if len(placed) == len(lifetimes):
            return True
        new = lifetimes[len(placed)]
        return any(
            all(
                old.upper <= new.lower
                or new.upper <= old.lower
                or at + old.size_bytes <= offset
                or offset + new.size_bytes <= at
                for old, at in placed
            )
            and extend([*placed, (new, offset)])
            for offset in range(capacity - new.size_bytes + 1)
        )

    return extend([])


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Lifetime], int]:
    lifetimes = []
    for index in range(draw(st.integers(0, 6))):
        lower = draw(st.integers(0, 5))
        upper = draw(st.integers(lower + 1, 6))
        lifetimes.append(Lifetime(f"t{index}", lower, upper, draw(st.integers(0, 5))))
    slack = draw(st.integers(-1, 2))
    return lifetimes, min(12, max(0, load_lower_bound(lifetimes) + slack))


@settings(max_examples=cases(150, 1600))
@given(questions())
def test_agrees_with_trying_all_offsets(question: tuple[list[Lifetime], int]) -> None:
    lifetimes, capacity = question
    packing = pack(lifetimes, capacity)
    assert packing.status == ("packed" if fits(lifetimes, capacity) else "infeasible")
    if packing.status == "packed":
        check_packing(lifetimes, packing.offsets, capacity)
        tops = [packing.offsets[item.id] + item.size_bytes for item in lifetimes if item.size_bytes]
        assert packing.extent_bytes == max(tops, default=0)
    else:
        conflict = [item for item in lifetimes if item.id in packing.conflict]
        assert conflict
        assert not fits(conflict, capacity)


@pytest.mark.parametrize("boxes", [30, 60, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_rectangle_is_put_together_again(boxes: int, seed: int) -> None:
    lifetimes = cut_rectangle(boxes, seed=seed)
    packing = pack(lifetimes, 1 << 12)
    assert packing.status == "packed"
    check_packing(lifetimes, packing.offsets, 1 << 12)
    assert packing.extent_bytes == load_lower_bound(lifetimes) == 1 << 12


def test_what_is_placed_once_it_was_promoted_fits() -> None:
    lifetimes = cut_rectangle(14, seed=24)
    found = pack(lifetimes, 1 << 12)
    assert (found.status, found.solver) == ("packed", "promotion")
    check_packing(lifetimes, found.offsets, 1 << 12)


def test_room_to_spare_makes_it_no_harder() -> None:
    lifetimes = cut_rectangle(150, seed=1)
    packing = pack(lifetimes, 4300)
    assert packing.status == "packed"
    check_packing(lifetimes, packing.offsets, 4300)


def test_no_time_at_all_still_gives_what_the_first_order_finds() -> None:
    chain = [Lifetime(f"t{i}", i, i + 2, 10) for i in range(160)]
    assert pack(chain, 20, time_limit_s=0).status == "packed"
    assert pack(cut_rectangle(100), 1 << 12, time_limit_s=0).status == "unknown"


@pytest.mark.parametrize("boxes", [50, 200])
def test_a_network_is_packed(boxes: int) -> None:
    lifetimes = network_like(boxes)
    packing = pack(lifetimes, 1 << 10)
    assert packing.status == "packed"
    check_packing(lifetimes, packing.offsets, 1 << 10)


@settings(max_examples=cases(150, 1600))
@given(questions(), st.booleans(), st.sampled_from([0.0, 0.9]))
def test_the_search_alone_agrees_with_trying_all_offsets(
    question: tuple[list[Lifetime], int], leftmost: bool, noise: float
) -> None:
    lifetimes, capacity = question
    solid = [item for item in lifetimes if item.size_bytes]
    offsets: dict[str, int] = {}
    for instance in reduce(solid, capacity) if solid else []:
        search = SkylineSearch(instance)
        if not search.run(BranchingRule(leftmost, noise, 1), 100_000, Clock(60)):
            assert not fits(solid, capacity)
            return
        offsets |= instance.in_bytes(search.offsets)
    check_packing(solid, offsets, capacity)


@settings(
    max_examples=cases(150, 1600), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(question=questions())
def test_the_large_ones_first_agree_with_trying_all_offsets(
    question: tuple[list[Lifetime], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portfolio, "PARTS", (2, 3, 4))
    lifetimes, capacity = question
    solid = [item for item in lifetimes if item.size_bytes]
    for instance in reduce(solid, capacity) if solid else []:
        answer, offsets = portfolio.large_first(instance, searched)
        group = [item for item in solid if item.id in instance.ids]
        if answer:
            check_packing(group, instance.in_bytes(offsets), capacity)
        if answer is False:
            assert not fits(group, capacity)


def searched(core: Instance) -> tuple[bool | None, list[int]]:
    return skyline.solve(core, Clock(60))


def test_small_ones_go_around_large_ones_that_are_packed_first() -> None:
    """A puzzle of large boxes, small ones during it and for as long after it."""
    random, times = Random(1), 1 << 11
    lifetimes = [replace(b, size_bytes=b.size_bytes << 10) for b in cut_rectangle(100, seed=1)]
    for k in range(300):
        lower = random.randrange(times)
        upper = lower + random.choice((3, 5, 8, times // 3))
        lifetimes.append(Lifetime(f"small{k}", lower, upper, random.choice((1, 4, 16, 256))))
    lifetimes.append(Lifetime("bridge", times // 2 - 9, times, 4))
    load = load_lower_bound(lifetimes)
    (instance,) = reduce(lifetimes, load)
    answer, offsets = portfolio.large_first(instance, searched)
    assert answer
    check_packing(lifetimes, instance.in_bytes(offsets), load)
    assert not [o for o in in_orders(instance) if o]  # no order gives it


# Never more than 5 bytes are live, and yet they do not fit into 5; without any one they do.
FRAGMENTED = [
    Lifetime(f"t{index}", *row)
    for index, row in enumerate(
        [(0, 1, 3), (0, 3, 2), (2, 4, 1), (1, 5, 2), (3, 5, 1), (4, 6, 2), (5, 6, 3)]
    )
]


def test_a_load_that_fits_may_not_pack_and_the_conflict_is_minimal() -> None:
    others = [Lifetime(f"far{i}", 20 + i, 22 + i, 2) for i in range(10)]
    bridge = [Lifetime("bridge", 5, 21, 0), Lifetime("after", 6, 21, 1)]
    assert load_lower_bound(FRAGMENTED) == 5
    packing = pack([*others, *FRAGMENTED, *bridge], 5)
    assert (packing.status, packing.offsets, packing.solver) == ("infeasible", {}, "search")
    assert set(packing.conflict) == {item.id for item in FRAGMENTED}
    assert not fits(FRAGMENTED, 5)
    assert all(fits([i for i in FRAGMENTED if i is not left_out], 5) for left_out in FRAGMENTED)
    assert len(pack([*others, *FRAGMENTED], 5, explain=False).conflict) >= len(FRAGMENTED)


def full_house(boxes: int, capacity: int, largest: int, seed: int) -> list[Lifetime]:
    """Lifetimes that keep the memory nearly full, drawn without asking whether they fit."""
    random = Random(seed)
    live: list[Lifetime] = []
    done: list[Lifetime] = []
    step = 0
    while len(done) < boxes:
        random.shuffle(live)
        done += [replace(item, upper=step) for item in live[:2]]
        live = live[2:]
        free = capacity - sum(item.size_bytes for item in live)
        while free > 0:
            size = random.randint(1, min(largest, free))
            live.append(Lifetime(f"{step}.{free}", step, step + 1, size))
            free -= size if random.random() > 0.05 else free
        step += 1
    return done + [replace(item, upper=step) for item in live]


@pytest.mark.skipif(not cp_sat.available(), reason="highspy is loaded: OR-Tools cannot be")
@pytest.mark.parametrize(
    "block", [0, *(pytest.param(block, marks=pytest.mark.long) for block in (1, 2))]
)
def test_search_and_cp_sat_agree_where_enumeration_takes_too_long(block: int) -> None:
    verdicts = []
    for seed in range(20 * block, 20 * block + 20):
        for instance in reduce(full_house(40, 8 + seed % 9, 3 + seed % 4, seed), 8 + seed % 9):
            found, offsets = skyline.solve(instance, Clock(20))
            assert found is cp_sat.solve(instance, Clock(60), workers=1)[0]
            verdicts.append(found)
            if found:
                items = zip(instance.ids, instance.start, instance.stop, instance.size)
                lifetimes = [Lifetime(*item) for item in items]
                check_packing(lifetimes, dict(zip(instance.ids, offsets)), instance.capacity)
    assert {True, False} == set(verdicts)


def test_more_work_extends_less_and_is_never_worse() -> None:
    lifetimes = full_house(60, 40, 12, seed=3)
    extents = [
        pack_tightest(lifetimes, clock=Clock(inf).work(work)).extent_bytes
        for work in (0, 64, 512, 4096)
    ]
    assert extents == sorted(extents, reverse=True)
    again = pack_tightest(lifetimes, clock=Clock(inf).work(512))
    assert again == pack_tightest(lifetimes, clock=Clock(inf).work(512))
    assert again.extent_bytes == extents[2]


def test_nothing_to_pack() -> None:
    assert pack([], 0).status == "packed"
    assert pack([Lifetime("a", 0, 1, 0)], 0).offsets == {"a": 0}


def test_an_overload_names_only_what_it_takes() -> None:
    lifetimes = [Lifetime("small", 0, 4, 1), Lifetime("a", 0, 2, 5), Lifetime("b", 1, 3, 6)]
    packing = pack([*lifetimes, Lifetime("elsewhere", 3, 4, 9)], 10)
    assert (packing.status, packing.solver) == ("infeasible", "load")
    assert set(packing.conflict) == {"a", "b"}


def test_a_wrong_question_is_refused() -> None:
    with pytest.raises(BadInput, match="two lifetimes have the id 'a'"):
        pack([Lifetime("a", 0, 1, 1), Lifetime("a", 1, 2, 1)], 8)
    with pytest.raises(BadInput, match="negative"):
        pack([], -1)
    with pytest.raises(BadInput, match="upper 3 is not above 3"):
        Lifetime("a", 3, 3, 1)


def test_who_asks_to_stop_gets_no_answer_or_a_right_one() -> None:
    lifetimes = cut_rectangle(200, seed=5)
    packing = pack(lifetimes, 1 << 12, should_stop=lambda: True)
    assert packing.status == "unknown"
    assert packing.seconds < 2


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ({"a": 0, "b": 3}, "'b' overlaps 'a'"),
        ({"a": 0, "b": 7}, "outside the 10"),
        ({"a": -1, "b": 4}, "outside the 10"),
        ({"a": 0}, "'b' has no offset"),
        ({"a": 0, "b": 4, "c": 0}, "'c', which is not a lifetime"),
    ],
)
def test_check_says_what_is_wrong(offsets: dict[str, int], why: str) -> None:
    lifetimes = [Lifetime("a", 0, 2, 4), Lifetime("b", 1, 3, 4)]
    check_packing(lifetimes, {"a": 0, "b": 4}, 10)
    with pytest.raises(InvalidPlan, match=why):
        check_packing(lifetimes, offsets, 10)


def test_many_lifetimes_are_placed_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "MOST_BLOCKS", 20)
    monkeypatch.setattr(min_capacity, "MOST_BLOCKS", 20)
    monkeypatch.setattr(skyline, "solve", None)  # A search would fail.
    full = cut_rectangle(60, seed=4)
    assert pack(full, 1 << 12).status == "unknown"
    seen: list[Progress] = []
    found = pack_tightest(full, progress=seen.append)
    check_packing(full, found.offsets, found.extent_bytes)
    quick_extent = min(extent_of(full, make(full)) for make in (best_fit_arena, in_time_order))
    assert found.bound_bytes == 1 << 12 <= found.extent_bytes < quick_extent
    assert (seen[0].incumbent_bytes, seen[0].bound_bytes) == (quick_extent, 1 << 12)
    by_time = extent_of(full, in_time_order(full))
    assert pack_tightest(full, time_limit_s=0).extent_bytes == by_time
    chain = [Lifetime(f"t{i}", i, i + 2, 10) for i in range(30)]
    assert pack(chain, 20).status == "packed"
