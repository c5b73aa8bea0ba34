"""Orders of all operators, other than the default one, in which groups may follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag


def by_levels(dag: Dag) -> list[int]:
    """Operators by the longest path that leads to them."""
    level = [0] * dag.count
    for i in range(dag.count):
        level[i] = max((level[j] + 1 for j in bits(dag.predecessors[i])), default=0)
    return sorted(range(dag.count), key=lambda i: (level[i], i))


def by_depth(dag: Dag) -> list[int]:
    """Each operator as late as what reads it allows: one branch after the other."""
    order: list[int] = []
    seen = 0
    for last in reversed(range(dag.count)):
        if dag.successors[last]:
            continue
        stack = [(last, False)]
        while stack:
            i, ready = stack.pop()
            if ready:
                order.append(i)
            elif not seen >> i & 1:
                seen |= 1 << i
                stack.append((i, True))
                stack += [(j, False) for j in bits(dag.predecessors[i])]
    return order


def prefixes(dag: Dag) -> list[int]:
    """The downsets of the default order of operators."""
    return downsets_of(range(dag.count))


def downsets_of(order: Iterable[int]) -> list[int]:
    """What has run after each operator of an order, and before the first."""
    return [0, *accumulate((1 << i for i in order), int.__or__)]
