"""Groups on offer to a search, each with a lower bound until its cost is asked for.

A cost model takes longer over a group than a search does, and most groups are on no way that is
near the best one even at their bounds. So the search is run at the bounds, the groups near the
best way are costed, and again, until the best way has none that is not: it is the best of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.fusion.candidates import Candidates
from planners.fusion.partition import least_traffic
from planners.fusion.shortest import NEVER, Bytes, Lattice, cheapest_through, shortest_paths
from planners.progress import Clock

# So many of the groups nearest to a best way are costed at once.
AT_ONCE = 48


class Offers:
    """All groups found within some budgets, in rows, with their least traffic, in columns.

    `costs` are lower bounds where not `known`, and `NEVER` where a group does not fit.
    """

    def __init__(self, candidates: Candidates, budgets: Sequence[int]) -> None:
        self.candidates, self.budgets = candidates, budgets
        self.groups: list[int] = []
        self._alike: dict[object, list[int]] = {}
        lows: list[list[int]] = []
        bounds: dict[object, list[int]] = {}
        for mask in candidates.masks:
            floor = candidates.floor(mask)
            if floor > max(budgets):
                continue
            key = candidates.key(mask)
            if key not in bounds:
                bounds[key] = [_bound(candidates, mask, budget) for budget in budgets]
            if min(bounds[key]) == NEVER:
                continue
            self._alike.setdefault(key, []).append(len(self.groups))
            self.groups.append(mask)
            lows.append(bounds[key])
        self.costs: Bytes = np.array(lows, dtype=np.int64)
        self.known = np.zeros(len(self.groups), dtype=bool)
        self.ask([row for row, mask in enumerate(self.groups) if mask.bit_count() == 1])

    def ask(self, rows: Sequence[int]) -> None:
        """Cost these groups, and with them all that look alike."""
        for row in rows:
            if not self.known[row]:
                mask = self.groups[row]
                steps = self.candidates.cost(mask)
                least = [least_traffic(steps, budget) for budget in self.budgets]
                alike = self._alike[self.candidates.key(mask)]
                self.costs[alike] = [NEVER if cost is None else cost for cost in least]
                self.known[alike] = True

    def ask_all(self, clock: Clock) -> bool:
        """Cost every group; whether the clock allowed it."""
        for row in range(len(self.groups)):
            if clock.expired():
                return False
            self.ask([row])
        return True

    def shortest(self, way: Lattice, clock: Clock) -> tuple[Bytes, list[list[int]], Bytes]:
        """The cheapest way in each column, its groups by row, and what none is cheaper than.

        Where the clock ends, the cheapest of the groups whose cost is known.
        """
        while True:
            least, paths = shortest_paths(way, self.costs)
            open_ = [k for k, path in enumerate(paths) if not all(self.known[path])]
            if not open_:
                return least, paths, least
            if clock.expired():
                costs = np.where(self.known[:, None], self.costs, NEVER)
                return *shortest_paths(way, costs), least
            through = np.where(self.known[:, None], NEVER, cheapest_through(way, self.costs))
            for column in open_:
                near = np.argsort(through[:, column], kind="stable")[:AT_ONCE]
                fits = through[near, column] < NEVER
                self.ask([*paths[column], *(int(row) for row in near[fits])])


def _bound(candidates: Candidates, mask: int, budget_bytes: int) -> int:
    if candidates.floor(mask) > budget_bytes:
        return NEVER
    least = candidates.least_traffic(mask, budget_bytes)
    return NEVER if least is None else least
