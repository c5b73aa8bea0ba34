"""The cheapest way through the lattice of downsets, for many budgets at once.

A state is a downset D, a step to E runs the group E∖D, and a path from nothing to everything is a
partition without cycles in an order that can run; every such partition is a path. So the shortest
path is Algorithm 1's optimum over all acyclic partitions (Optimus, eqs. 1 and 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.partition.lattice import Dag

Bytes = NDArray[np.int64]
# More than any traffic (sizes are at most 2**53), and sums of two of it do not overflow.
NEVER = 2**61
CLOCKED = 256  # Downsets between two looks at the clock.


@dataclass(frozen=True, slots=True)
class Lattice:
    """Downsets by size, and for each the steps that end there: where they begin, by which group.

    Not all downsets need be there: those of a linear order are the partitions of that order.
    """

    downsets: list[int]
    begins: list[list[int]]
    groups: list[list[int]]

    @property
    def steps(self) -> int:
        return sum(map(len, self.begins))

    def only_groups(self, wanted: NDArray[np.bool_]) -> Lattice:
        """The steps of some groups only; their numbers are those among these."""
        kept, number = wanted.tolist(), (np.cumsum(wanted) - 1).tolist()
        begins: list[list[int]] = []
        groups: list[list[int]] = []
        for froms, by in zip(self.begins, self.groups, strict=True):
            begins.append([at for at, group in zip(froms, by, strict=True) if kept[group]])
            groups.append([number[group] for group in by if kept[group]])
        return Lattice(self.downsets, begins, groups)


def lattice(
    dag: Dag,
    downsets: list[int],
    groups: Sequence[int],
    limit: float,
    clock: Clock | None = None,
) -> Lattice | None:
    """All steps between downsets by these groups.

    None where there are more than `limit`, or the time is over before all are found.

    The downsets are by size, and each but the first is another and one operator.
    """
    index = {done: k for k, done in enumerate(downsets)}
    # A group can run only where its first operator is ready; list it there.
    at: list[list[tuple[int, int, int]]] = [[] for _ in range(dag.count)]
    for number, mask in enumerate(groups):
        needs = 0
        for i in bits(mask):
            needs |= dag.predecessors[i]
        at[(mask & -mask).bit_length() - 1].append((mask, needs & ~mask, number))
    steps = Lattice(downsets, [[] for _ in downsets], [[] for _ in downsets])
    total = 0
    ready = {0: dag.sources()}
    for k, done in enumerate(downsets):
        can_run = ready.pop(done)
        for i in bits(can_run):
            larger = done | 1 << i
            if larger in index and larger not in ready:
                ready[larger] = dag.ready_after(can_run, larger, i)
            for mask, needs, number in at[i]:
                if not mask & done and not needs & ~done and (done | mask) in index:
                    end = index[done | mask]
                    steps.begins[end].append(k)
                    steps.groups[end].append(number)
                    total += 1
        if total > limit or (clock is not None and not k % CLOCKED and clock.expired()):
            return None
    return steps


def shortest_paths(way: Lattice, costs: Bytes) -> tuple[Bytes, list[list[int]]]:
    """Least cost from nothing to everything in each column of `costs`, and the groups on the way.

    `costs` has a row for each group and a column for each budget; `NEVER` where it does not fit.
    """
    far, came = _from_nothing(way, costs)
    return far[-1], [_walk_back(way, came[:, column]) for column in range(costs.shape[1])]


def cheapest_through(way: Lattice, costs: Bytes) -> Bytes:
    """The least cost from nothing to everything by way of each group, in each column."""
    far, _ = _from_nothing(way, costs)
    left = np.full(far.shape, NEVER, dtype=np.int64)
    left[-1] = 0
    through = np.full(costs.shape, NEVER, dtype=np.int64)
    for end in range(len(way.downsets) - 1, 0, -1):
        begins, groups = way.begins[end], way.groups[end]
        if begins:
            beyond = np.minimum(costs[groups] + left[end], NEVER)
            left[begins] = np.minimum(left[begins], beyond)
            through[groups] = np.minimum(through[groups], np.minimum(far[begins] + beyond, NEVER))
    return through


def _from_nothing(way: Lattice, costs: Bytes) -> tuple[Bytes, Bytes]:
    """Least cost to each downset, and which step led there."""
    columns = costs.shape[1]
    far = np.full((len(way.downsets), columns), NEVER, dtype=np.int64)
    far[0] = 0
    came = np.zeros((len(way.downsets), columns), dtype=np.int64)
    every = np.arange(columns)
    for end in range(1, len(way.downsets)):
        if way.begins[end]:
            sums = far[way.begins[end]] + costs[way.groups[end]]
            came[end] = sums.argmin(axis=0)
            far[end] = np.minimum(sums[came[end], every], NEVER)
    return far, came


def _walk_back(way: Lattice, came: Bytes) -> list[int]:
    """Groups on the best way, the first one first."""
    path: list[int] = []
    at = len(way.downsets) - 1
    while at:
        k = int(came[at])
        path.append(way.groups[at][k])
        at = way.begins[at][k]
    return path[::-1]
