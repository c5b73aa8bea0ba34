"""Groups on offer to a search, each with a lower bound until its cost is computed.

Costing a group takes longer than searching over it, and most groups are on no path that is near the
best one even at their bounds. So the search is run at the bounds; groups near the best path have
their bounds sharpened or their costs computed; and so on, until all costs on the best path are
known: it is then the best of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planners.core.progress import Clock
from planners.fusion.partition.cost_model import least_traffic
from planners.fusion.partition.shortest import (
    NEVER,
    Bytes,
    Lattice,
    cheapest_through,
    shortest_paths,
)
from planners.fusion.search.candidates import Candidates

# Of the groups nearest to a best way, so many have bounds sharpened and costs computed at once.
SHARPENED = 1024
ASKED = 48
BOUNDED_ASKED = 6  # where bounds are good already
LAST_LOOKS = 6
# Cost of an operator alone that wishes want in a group: so many times all operators alone.
DEAR = 64


def _alone(mask: int) -> bool:
    return mask.bit_count() == 1


class Offers:
    """All groups found within some budgets, in rows, with their least traffic, in columns.

    `costs` are lower bounds where not `known`, and `NEVER` where a group does not fit. `bounded`:
    other groups than the candidates found, with bounds that are not to be sharpened.
    """

    def __init__(
        self,
        candidates: Candidates,
        budgets: Sequence[int],
        bounded: tuple[Sequence[int], Bytes] | None = None,
    ) -> None:
        self.candidates, self.budgets = candidates, budgets
        self.groups = list(bounded[0]) if bounded else self._found()
        self._alike: dict[object, list[int]] = {}
        for row, mask in enumerate(self.groups):
            self._alike.setdefault(candidates.key(mask), []).append(row)
        self.costs: Bytes = bounded[1].copy() if bounded else self._crossing()
        self.known = np.zeros(len(self.groups), dtype=bool)
        self.sharp = np.full(len(self.groups), bounded is not None)
        self._asked = BOUNDED_ASKED if bounded else ASKED
        self.ask(row for row, mask in enumerate(self.groups) if _alone(mask))
        if candidates.wished:
            self._make_dear()

    def _found(self) -> list[int]:
        """All groups among the candidates that may fit and be wanted."""
        candidates, most = self.candidates, max(self.budgets)
        return [
            m
            for m in candidates.masks
            if candidates.floor(m) <= most and (_alone(m) or self.allows(m))
        ]

    def _crossing(self) -> Bytes:
        """What crosses around each group, where its floor is within the budget."""
        costs: Bytes = np.empty((len(self.groups), len(self.budgets)), dtype=np.int64)
        for rows in self._alike.values():
            mask = self.groups[rows[0]]
            least, floor = self.candidates.model.least_traffic(mask), self.candidates.floor(mask)
            costs[rows] = [least if floor <= budget else NEVER for budget in self.budgets]
        return costs

    def allows(self, mask: int) -> bool:
        """Whether wishes let a partition have this group."""
        wished = self.candidates.wished
        return wished is None or wished.allows(mask)

    def _make_dear(self) -> None:
        """Operators that must not be alone cost more alone than any partition would."""
        alone = [row for row, mask in enumerate(self.groups) if _alone(mask)]
        dear = DEAR * np.maximum(1, np.where(self.costs < NEVER, self.costs, 0)[alone].sum(axis=0))
        for row in alone:
            if not self.allows(self.groups[row]):
                self.costs[row] = dear

    def ask(self, rows: Iterable[int], clock: Clock | None = None) -> None:
        """Find what these groups cost, and with them all of equal looks, while time allows."""
        for row in rows:
            if clock is not None and clock.expired():
                return
            if not self.known[row]:
                steps = self.candidates.cost(self.groups[row])
                self._set(row, [least_traffic(steps, budget) for budget in self.budgets])
                self.known[self._like(row)] = True

    def sharpen(self, rows: Iterable[int], clock: Clock | None = None) -> None:
        """Find a better bound for these groups, and for all of equal looks, while time allows."""
        for row in rows:
            if clock is not None and clock.expired():
                return
            if not (self.known[row] or self.sharp[row]):
                self._set(row, self.candidates.least_traffic(self.groups[row], self.budgets))
                self.sharp[self._like(row)] = True

    def settle(self, rows: Sequence[int], clock: Clock, most: int | None = None) -> None:
        """Sharpen the bounds of these groups; cost the first of those already sharp."""
        most = self._asked if most is None else most
        sharp = [row for row in rows if self.sharp[row] and not self.known[row]]
        self.sharpen(rows, clock)
        self.ask(sharp[:most], clock)

    def shortest(
        self, way: Lattice, clock: Clock, below: Sequence[int] | None = None
    ) -> tuple[Bytes, list[list[int]], Bytes]:
        """The cheapest way in each column, its groups by row, and what none is cheaper than.

        Where the clock ends, the cheapest of the groups whose cost is known. Ways that cost no less
        than `below` are of no interest.
        """
        while True:
            least, paths = shortest_paths(way, self.costs)
            open_ = [
                k
                for k, path in enumerate(paths)
                if not all(self.known[path]) and (below is None or least[k] < below[k])
            ]
            if not open_:
                return least, paths, least
            if clock.expired():
                return *self._last_look(way), least
            through = np.where(self.known[:, None], NEVER, cheapest_through(way, self.costs))
            for column in open_:
                near = np.argsort(through[:, column], kind="stable")[:SHARPENED]
                fits = through[near, column] < NEVER
                self.settle([*paths[column], *(int(row) for row in near[fits])], clock)

    def _last_look(self, way: Lattice) -> tuple[Bytes, list[list[int]]]:
        """The cheapest way by groups whose cost is known, and a few more of the best ways'."""
        for _ in range(LAST_LOOKS):
            _, paths = shortest_paths(way, self.costs)
            self.ask(row for path in paths for row in path)
        return shortest_paths(way, np.where(self.known[:, None], self.costs, NEVER))

    def _set(self, row: int, costs: Sequence[int | None]) -> None:
        self.costs[self._like(row)] = [NEVER if cost is None else cost for cost in costs]

    def _like(self, row: int) -> list[int]:
        return self._alike[self.candidates.key(self.groups[row])]
