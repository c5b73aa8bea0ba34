"""Algorithm 1 as the paper runs it, top-down with memory and bottom-up with a table (Table 5).

cost(V) = min over G of cost(V − G) + MemoryCost(G) (Optimus, eq. 2). The paper has G hold the first
operator of V and be convex; a partition of convex groups can still have a cycle ({a, d} and {b, c}
with a → c and b → d), so here G is any group that the rest of V does not precede. Both are
kept as references: they visit every step of the lattice and assume nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag

Cost: TypeAlias = Callable[[int], int | None]  # least traffic of a group; None where it cannot run
_Best: TypeAlias = tuple[int, int]  # cost of what is left, and its first group


def top_down(dag: Dag, cost: Cost) -> tuple[int, tuple[int, ...]]:
    """Least cost and the groups in order, by recursion over what is left to run.

    Every operator must have a cost alone.
    """
    best_of: dict[int, _Best] = {0: (0, 0)}

    def solve(left: int) -> int:
        if left not in best_of:
            best_of[left] = min(
                (solve(left & ~mask) + price, mask)
                for mask in _firsts(dag, left)
                if (price := cost(mask)) is not None
            )
        return best_of[left][0]

    deep = sys.getrecursionlimit()
    sys.setrecursionlimit(max(deep, 4 * dag.count + 1000))
    try:
        least = solve(dag.everything)
    finally:
        sys.setrecursionlimit(deep)
    return least, _walk(dag, best_of)


def bottom_up(dag: Dag, cost: Cost) -> tuple[int, tuple[int, ...]]:
    """As `top_down`, by a table over what is left to run, the least left first."""
    best_from: dict[int, _Best] = {0: (0, 0)}
    for done in reversed(dag.downsets()):
        left = dag.everything & ~done
        if not left:
            continue
        best_from[left] = min(
            (best_from[left & ~mask][0] + price, mask)
            for mask in _firsts(dag, left)
            if (price := cost(mask)) is not None
        )
    return best_from[dag.everything][0], _walk(dag, best_from)


def _walk(dag: Dag, known: dict[int, _Best]) -> tuple[int, ...]:
    order: list[int] = []
    left = dag.everything
    while left:
        order.append(known[left][1])
        left &= ~order[-1]
    return tuple(order)


def _firsts(dag: Dag, left: int) -> set[int]:
    """All non-empty groups that nothing else of what is left comes before."""
    layer, groups = {0}, set[int]()
    while layer:
        layer = {
            mask | 1 << i
            for mask in layer
            for i in bits(left & ~mask)
            if not dag.predecessors[i] & left & ~mask
        }
        groups |= layer
    return groups
