"""All ways to share a handful of lifetimes out among memories, with all of their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

from planners.allocation.banks.model import BankProblem
from planners.allocation.problem.model import Lifetime, load_lower_bound
from planners.core.integers import rounded_up


def fits(items: Sequence[Lifetime], capacity: int) -> bool:
    """Whether lifetimes can lie in a memory: each order, each as low as those before it let it.

    Any placement, pushed down, is that of the order of its addresses.
    """
    if load_lower_bound(items) > capacity:
        return False
    for order in permutations(items):
        top: dict[str, int] = {}
        for k, item in enumerate(order):
            under = [t for t in order[:k] if t.lower < item.upper and item.lower < t.upper]
            at = rounded_up(max((top[t.id] for t in under), default=0), item.alignment)
            top[item.id] = at + item.size_bytes
            if top[item.id] > capacity:
                break
        else:
            return True
    return False


def least(problem: BankProblem) -> tuple[int, ...] | None:
    """Bytes touched in the slowest bank, the one before, …: the least of all assignments."""
    known: dict[tuple[int, frozenset[str]], bool] = {}

    def held(bank: int, items: Sequence[Lifetime]) -> bool:
        key = (bank, frozenset(item.id for item in items))
        if key not in known:
            known[key] = fits(items, problem.banks[bank].size_bytes)
        return known[key]

    best = None
    for way in product(range(len(problem.banks)), repeat=len(problem.lifetimes)):
        parts = [
            [t for t, k in zip(problem.lifetimes, way, strict=True) if k == bank]
            for bank in range(len(problem.banks))
        ]
        cost = tuple(sum(map(problem.bytes_touched, part)) for part in reversed(parts[1:]))
        if (best is None or cost < best) and all(held(k, part) for k, part in enumerate(parts)):
            best = cost
    return best
