"""The cheapest partition of a network whose lattice is too wide, by prices of operators.

The first operator that is not covered must be in some group: taking one after the other gives
each partition once, where the lattice gives it in every order of its groups. What is kept of the
past is which operators are covered and what their groups say about the order of the others, so
that no cycle is closed later. Prices π with Σ π ≤ cost over every group, the duals of the linear
program of set partitioning, make Σ π of what is not covered a lower bound on what is to pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, gcd
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from planners.core.integers import rounded_up
from planners.core.masks import bits, positions
from planners.core.progress import Clock
from planners.fusion.partition.lattice import Dag
from planners.fusion.partition.shortest import Bytes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FIRST_WIDTH = 16
# (before, after): all operators of the first mask must run before all of the second.
_Orders: TypeAlias = frozenset[tuple[int, int]]
_Key: TypeAlias = tuple[int, _Orders]
# Lower bound on the whole, the state before and the group that led here.
_Layer: TypeAlias = dict[_Key, tuple[int, _Key | None, int]]
_Choice: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class CoverRules:
    """Which rules the search for the cheapest cover has."""

    prices: bool = True
    """What is not covered costs its prices at least: no group costs less than those of its own."""
    whole_units: bool = True
    """All costs are multiples of one unit, and so is the cost of a partition."""
    implied_orders: bool = True
    """That a group stands between operators is not kept in mind where one of its own does: no
    convex group can hold both."""


COVER_RULES = CoverRules()


@dataclass(frozen=True, slots=True)
class PartitionFound:
    """The best partition found, None where there is none yet, and a proven lower bound; and how
    many half-made partitions were looked at for it."""

    groups: tuple[int, ...] | None
    objective: int
    bound: int
    states: int = 0


def prices(count: int, groups: Sequence[int], costs: Sequence[int], clock: Clock) -> list[int]:
    """Whole prices π of operators with Σ π ≤ cost over every group, of a large sum.

    They are the duals of set partitioning, rounded so that they hold exactly.
    """
    fractional = duals(incidence(count, groups), np.array(costs, dtype=np.int64), clock)
    if fractional is None:
        return _fair_shares(count, groups, costs)
    return lowered_to_hold([floor(x) for x in fractional], groups, costs)


def incidence(count: int, groups: Sequence[int]) -> csr_array:
    """A row for each group, with a one for each of its operators."""
    # Here and not above: importing it takes longer than most searches.
    from scipy.sparse import csr_array

    places = [positions(mask) for mask in groups]
    columns = [i for place in places for i in place]
    ends = np.cumsum([0, *map(len, places)])
    return csr_array((np.ones(len(columns)), columns, ends), shape=(len(groups), count))


def duals(matrix: csr_array, costs: Bytes, clock: Clock) -> NDArray[np.float64] | None:
    """Prices of the largest sum that no group's cost is below; None where time ran out."""
    from scipy.optimize import linprog

    scale = max(1, int(costs.max(initial=1)))
    solved = linprog(
        -np.ones(matrix.shape[1]),
        A_ub=matrix,
        b_ub=costs / scale,
        bounds=(None, None),
        method="highs",
        options={"time_limit": clock.solver_s},
    )
    return None if solved.x is None else np.asarray(solved.x * scale, dtype=np.float64)


def lowered_to_hold(price: list[int], groups: Sequence[int], costs: Sequence[int]) -> list[int]:
    """Prices lowered until every group's hold: by a fair share of what is too much."""
    over = [0] * len(price)  # the most that any of its groups takes off an operator
    for mask, cost in zip(groups, costs, strict=True):
        excess = sum([price[i] for i in positions(mask)]) - cost
        if excess > 0:
            share = ceil(excess / mask.bit_count())
            for i in positions(mask):
                over[i] = max(over[i], share)
    return [x - less for x, less in zip(price, over, strict=True)]


def _fair_shares(count: int, groups: Sequence[int], costs: Sequence[int]) -> list[int]:
    """Prices without a solver: each operator's least equal share of a group's cost."""
    least = [-1] * count
    for mask, cost in zip(groups, costs, strict=True):
        share = cost // mask.bit_count()
        for i in bits(mask):
            least[i] = share if least[i] < 0 else min(least[i], share)
    return least


def cheapest_cover(
    dag: Dag,
    groups: Sequence[int],
    costs: Sequence[int],
    clock: Clock,
    known: int,
    price: Sequence[int] | None = None,
    widest: int = 1 << 20,
    rules: CoverRules = COVER_RULES,
) -> PartitionFound:
    """The cheapest acyclic partition into these groups that costs less than `known`.

    Each round keeps more of every layer, until nothing is cut that could be better; `bound` is
    proven in any case. Every operator must be among the groups alone. `price` are prices of
    operators that no group's cost is below, where they are known.
    """
    if price is None:
        price = prices(dag.count, groups, costs, clock)
    search = _LayeredSearch(dag, groups, costs, price if rules.prices else [0] * dag.count, rules)
    best = PartitionFound(None, known, search.whole(known, search.root))
    width = FIRST_WIDTH
    while best.bound < best.objective and width <= widest and not clock.expired():
        cover = search.run(width, best.objective, clock)
        bound = search.whole(cover.objective, max(best.bound, cover.bound))
        best = PartitionFound(cover.groups or best.groups, cover.objective, bound, search.states)
        clock.report(f"covers, {width} wide", best.objective, best.bound)
        width *= 4
    return best


class _LayeredSearch:
    """Layers of half-made partitions, by the first operator that is not covered."""

    def __init__(
        self,
        dag: Dag,
        groups: Sequence[int],
        costs: Sequence[int],
        price: Sequence[int],
        rules: CoverRules,
    ) -> None:
        self.dag, self.rules = dag, rules
        self.states = 0
        self.root = sum(price)
        self.unit = gcd(*costs) if rules.whole_units else 1
        # What a group costs beyond the prices of its operators, what comes before and after it.
        self.at: list[list[_Choice]] = [[] for _ in range(dag.count)]
        for mask, cost in zip(groups, costs, strict=True):
            beyond = cost - sum(price[i] for i in bits(mask))
            before = after = 0
            for i in bits(mask):
                before |= dag.ancestors[i]
                after |= dag.descendants[i]
            self.at[(mask & -mask).bit_length() - 1].append((beyond, mask, before, after))
        for listed in self.at:
            listed.sort()
        self._news: dict[tuple[int, int, int], bool] = {}

    def whole(self, objective: int, bound: int) -> int:
        """A bound as a cost that can be, all of which are multiples of the unit."""
        return min(objective, rounded_up(bound, self.unit))

    def run(self, width: int, known: int, clock: Clock) -> PartitionFound:
        """The best partition under `known` that keeps to the `width` cheapest of each layer."""
        layers: list[_Layer] = [{} for _ in range(self.dag.count + 1)]
        layers[0][0, frozenset()] = (self.root, None, 0)
        bound = known
        for first in range(self.dag.count):
            layer = layers[first]
            for rank, key in enumerate(sorted(layer, key=lambda key: layer[key][0])):
                if rank == width or clock.expired():
                    bound = min(bound, layer[key][0])
                    break
                self._extend(layers, first, key, layer[key][0], known)
        goal = layers[-1].get((self.dag.everything, frozenset()))
        if goal is None:
            return PartitionFound(None, known, bound)
        return PartitionFound(self._groups(layers), goal[0], min(bound, goal[0]))

    def _extend(
        self,
        layers: list[_Layer],
        first: int,
        key: _Key,
        sofar: int,
        known: int,
    ) -> None:
        """Cover the first operator by each group that fits; `sofar` bounds the whole from below."""
        covered, orders = key
        self.states += 1
        for beyond, mask, before, after in self.at[first]:
            total = sofar + beyond
            if total > known - self.unit:
                return
            if mask & covered:
                continue
            now = covered | mask
            if orders or before & ~now:
                implied = self._orders(now, mask, before, after, orders)
                if implied is None:
                    continue
            else:
                implied = orders
            to = (~now & (now + 1)).bit_length() - 1
            old = layers[to].get((now, implied))
            if old is None or total < old[0]:
                layers[to][now, implied] = (total, key, mask)

    def _orders(
        self, covered: int, mask: int, before: int, after: int, orders: _Orders
    ) -> _Orders | None:
        """What the groups so far, and one more, imply for the rest; None where it closes a cycle.

        What convexity takes care of is not written down.
        """
        changed = bool(orders)
        while changed:
            changed = False
            for early, late in orders:
                leads, follows = (before | mask) & late, (after | mask) & early
                if leads and follows:
                    return None
                if leads and early & ~before:
                    before, changed = before | early, True
                if follows and late & ~after:
                    after, changed = after | late, True
        if before & after & ~mask:
            return None
        left = ~covered
        implied = {(early & left, late & left) for early, late in orders}
        if self._is_news(mask, before & left, after & left):
            implied.add((before & left, after & left))
        return frozenset(pair for pair in implied if pair[0] and pair[1])

    def _is_news(self, mask: int, before: int, after: int) -> bool:
        """Whether a group stands between operators that none of its own stands between.

        Where one of its own does, no convex group can hold both.
        """
        if not self.rules.implied_orders:
            return True
        key = (mask, before, after)
        is_news = self._news.get(key)
        if is_news is None:
            is_news = any(after & ~self._beyond(mask, i) for i in bits(before))
            self._news[key] = is_news
        return is_news

    def _beyond(self, mask: int, i: int) -> int:
        """What comes after those of a group that come after an operator."""
        beyond = 0
        for j in bits(mask & self.dag.descendants[i]):
            beyond |= self.dag.descendants[j]
        return beyond

    def _groups(self, layers: list[_Layer]) -> tuple[int, ...]:
        chosen: list[int] = []
        key: _Key | None = (self.dag.everything, frozenset())
        while key is not None:
            covered = key[0]
            to = (~covered & (covered + 1)).bit_length() - 1
            _, key, mask = layers[to][key]
            if mask:
                chosen.append(mask)
        return tuple(chosen)
