"""The packing search without its rules: the same, in more nodes."""

from __future__ import annotations

from random import Random

import pytest

from planners.allocation import Lifetime, check_packing
from planners.allocation.problem.instance import reduce
from planners.allocation.skyline.rules import PACKING_RULES, PackingRules
from planners.allocation.skyline.search import BranchingRule, RisingSearch, SkylineSearch
from planners.core.progress import Clock
from planners.core.rules import names, without, without_any
from tests.allocation.test_pack import FRAGMENTED, fits, full_house
from tests.cases import cases

RULES = (
    PACKING_RULES,
    without_any(PACKING_RULES),
    *(without(PACKING_RULES, name) for name in names(PACKING_RULES)),
)


def packed(lifetimes: list[Lifetime], capacity: int, rules: PackingRules) -> bool:
    """Whether runs in turns find a packing; it is checked."""
    offsets: dict[str, int] = {}
    for instance in reduce(lifetimes, capacity):
        found, places = RisingSearch(instance, rules).run(Clock(60))
        assert found is not None
        if not found:
            return False
        offsets |= instance.in_bytes(places)
    check_packing(lifetimes, offsets, capacity)
    return True


def drawn(seed: int) -> tuple[list[Lifetime], int]:
    """A few lifetimes that leave little room; in half of the cases two are alike."""
    random = Random(seed)
    capacity = 4 + seed % 4
    lifetimes = full_house(4 + seed % 4, capacity, 3, seed)[:7]
    if seed % 2:
        lower = random.randrange(3)
        lifetimes += [Lifetime(f"twin{i}", lower, lower + 2, 1) for i in range(2)]
    return lifetimes, capacity + seed % 3


@pytest.mark.parametrize("seed", range(cases(40)))
def test_no_rule_of_packing_decides_what_is_found(seed: int) -> None:
    lifetimes, capacity = drawn(seed)
    best = fits(lifetimes, capacity)
    for rules in RULES:
        assert packed(lifetimes, capacity, rules) is best, rules


@pytest.mark.parametrize("capacity", [5, 6])
def test_no_rule_of_packing_decides_what_is_proven_not_to_fit(capacity: int) -> None:
    for rules in RULES:
        assert packed(FRAGMENTED, capacity, rules) is (capacity > 5), rules


def test_each_rule_of_packing_changes_the_search() -> None:
    alone = set(names(PACKING_RULES)) - {"tighter"}  # That is of several searches.
    changed: set[str] = set()
    for seed in range(12):
        for instance in reduce(full_house(30, 9, 4, seed), 9):
            usual = nodes(SkylineSearch(instance))
            for name in alone - changed:
                if nodes(SkylineSearch(instance, without(PACKING_RULES, name))) != usual:
                    changed.add(name)
    assert changed == alone


def nodes(search: SkylineSearch) -> int:
    search.run(BranchingRule(), 3000, Clock(60))
    return search.nodes
