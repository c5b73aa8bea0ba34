"""The search under all searches: on ways through a grid, whose least cost is counted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest

from planners.core.best_first import NO_LIMIT, BestFirstSearch, SearchNode
from planners.core.progress import Clock, TimeOver

SIDE = 6
Place = tuple[int, int]


class GridSearch(BestFirstSearch[Place, int, Place]):
    """From one corner to the other, right and down; each field has a toll."""

    def __init__(self, seed: int, *, limit: int = NO_LIMIT, bottleneck: bool = False) -> None:
        super().__init__(limit, 0)
        self.rng, self.bottleneck = random.Random(seed), bottleneck
        self.toll = [[self.rng.randint(0, 9) for _ in range(SIDE)] for _ in range(SIDE)]
        self.breaks_off = 0
        self.begin((0, 0), 0, (0, 0))

    def expand(
        self, node: SearchNode[Place, int, Place], clock: Clock | None
    ) -> Iterator[tuple[int, Place, Place]]:
        (row, column), cost, _, _ = node
        for after in ((row + 1, column), (row, column + 1)):
            if max(after) < SIDE:
                toll = self.toll[after[0]][after[1]]
                yield (max(cost, toll) if self.bottleneck else cost + toll), after, after
            if self.breaks_off:
                self.breaks_off -= 1
                raise TimeOver

    def is_goal(self, state: Place) -> bool:
        return state == (SIDE - 1, SIDE - 1)

    def rank(self, state: Place) -> int:
        return -sum(state)

    def by_hand(self) -> int:
        """The least cost, from the end."""

        @cache
        def left(row: int, column: int) -> int:
            if (row, column) == (SIDE - 1, SIDE - 1):
                return 0
            ahead = [(row + 1, column), (row, column + 1)]
            tolls = [(self.toll[r][c], left(r, c)) for r, c in ahead if max(r, c) < SIDE]
            return min(max(pair) if self.bottleneck else sum(pair) for pair in tolls)

        return left(0, 0)


@pytest.mark.parametrize("bottleneck", [False, True])
def test_the_least_cost_is_found_whether_costs_add_up_or_not(bottleneck: bool) -> None:
    for seed in range(20):
        search = GridSearch(seed, bottleneck=bottleneck)
        search.run(None)
        assert search.done
        assert search.goal is not None
        assert search.goal[1] == search.least == search.by_hand()
        assert [place for _, _, place, _ in search.path()][-1] == (SIDE - 1, SIDE - 1)


def test_it_goes_on_where_it_was_and_its_bound_is_true_meanwhile() -> None:
    for seed in range(20):
        whole, parts = GridSearch(seed), GridSearch(seed)
        whole.run(None)
        while not parts.done:
            before = parts.states
            parts.run(Clock(60), 2)
            assert parts.states <= before + 2
            assert parts.least <= whole.least
        assert parts.path() == whole.path()


def test_a_state_whose_time_was_over_is_expanded_again() -> None:
    for seed in range(20):
        whole, broken = GridSearch(seed), GridSearch(seed)
        whole.run(None)
        for _ in range(5):
            broken.breaks_off = 1
            broken.run(None)
            broken.breaks_off = 0
        broken.run(None)
        assert broken.least == whole.least


def test_nothing_below_the_limit_is_proven_too() -> None:
    for seed in range(10):
        least = GridSearch(seed).by_hand()
        search = GridSearch(seed, limit=least)
        search.run(None)
        assert search.done
        assert search.goal is None
        assert search.least == least
        over = GridSearch(seed, limit=least + 1)
        over.run(None)
        assert over.goal is not None


def test_an_expired_clock_ends_it_at_its_next_look() -> None:
    search = GridSearch(1)
    search.turns_a_look = 1  # type: ignore[misc]
    search.run(Clock(0))
    assert search.turns == 1
    assert not search.done
