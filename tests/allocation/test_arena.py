"""TFLite's arena: the smallest gap that is large enough, else after the last block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.allocation import Lifetime, LinearArena, best_fit_arena, check_packing
from planners.allocation.arena import Block, best_gap
from planners.core.errors import InvalidPlan


def test_blocks_go_to_the_smallest_gap_and_ties_to_the_lowest() -> None:
    arena = LinearArena(1000, alignment=1)
    for id, size in [("a", 100), ("x", 10), ("b", 50), ("y", 10), ("c", 50), ("z", 10)]:
        arena.allocate(id, size)
    for id in "abc":
        arena.free(id)
    assert arena.holes() == [(0, 100), (110, 160), (170, 220), (230, 1000)]
    assert arena.allocate("d", 40) == 110
    assert arena.allocate("e", 60) == 0
    assert arena.allocate("f", 200) == 230
    assert arena.allocate("g", 571) is None
    assert [block.id for block in arena.blocks] == ["e", "x", "d", "y", "z", "f"]


def test_an_aligned_gap_is_compared_as_tflite_does() -> None:
    """From its aligned offset, with the whole of the best gap before (`simple_memory_arena.cc`)."""
    blocks = [Block(0, 1, "a"), Block(48, 1, "b"), Block(96, 1, "c")]
    assert best_gap(blocks, 20, 16) == 64
    assert best_gap(blocks, 20) == 1


def test_offsets_are_aligned_but_the_end_need_not_be() -> None:
    arena = LinearArena(100)
    assert arena.allocate("a", 1) == 0
    assert arena.allocate("b", 36) == 64
    assert arena.holes() == [(1, 64)]
    assert arena.allocate("c", 1) is None


def test_a_block_is_placed_only_where_it_can_lie() -> None:
    arena = LinearArena(10)
    arena.place("a", 3, 4)
    for id, offset, why in [("a", 0, "already"), ("b", 6, "overlaps"), ("b", 9, "outside")]:
        with pytest.raises(InvalidPlan, match=why):
            arena.place(id, offset, 2)
    with pytest.raises(KeyError):
        arena.free("b")
    assert "a" in arena
    assert "b" not in arena


lifetimes_strategy = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(0, 300)), max_size=30
).map(lambda rows: [Lifetime(f"t{i}", a, a + n, size) for i, (a, n, size) in enumerate(rows)])


@given(lifetimes_strategy, st.sampled_from([1, 64]))
def test_best_fit_by_size_is_a_packing(lifetimes: list[Lifetime], alignment: int) -> None:
    offsets = best_fit_arena(lifetimes, alignment=alignment)
    check_packing(lifetimes, offsets, 1 << 30)
    assert all(offset % alignment == 0 for offset in offsets.values())
