"""The best partition for one budget after another, immediately: known costs are reused."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.partition.cost_model import Partition, require_singles
from planners.fusion.partition.lattice import count_downsets, prefixes
from planners.fusion.partition.shortest import (
    NEVER,
    Bytes,
    Lattice,
    cheapest_through,
    lattice,
    shortest_paths,
)
from planners.fusion.search.bound import forced_bytes
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import MOST_DOWNSETS, MOST_GROUPS, MOST_STEPS
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.search.online import SizeTable, online_partition, size_table

GRID = 10  # budgets, evenly in ratio, at which every group gets a bound beforehand
AT_ONCE = 8  # groups near the best way that are costed together


@dataclass
class GroupsInReach:
    """The groups within the largest budget asked for so far, in a lattice of what has run.

    `grid` are budgets at which each has a cost or a bound, `floors` the least bytes of each;
    `is_exact`: the lattice has every order. `staircases` are kept of those that mattered.
    """

    candidates: Candidates
    offers: Offers
    lattice: Lattice
    is_exact: bool
    grid: list[int]
    floors: Bytes
    staircases: dict[int, Bytes] = field(default_factory=dict)


class PartitionsByBudget:
    """A graph's partitions by budget, for a slider.

    The groups within the largest budget requested are found once, with the lattice of downsets,
    and bounded at a grid of budgets: a bound at one holds for every smaller one. Staircases of
    the groups that mattered are kept. A partition at a budget in between is then a shortest path
    or a few, with hardly a group to be costed. With `online` or a baseline it is that search, on
    a cost model that knows its groups already.
    """

    def __init__(self, graph: Graph, machine: Machine, options: Mapping[str, Any]) -> None:
        self.graph, self.chosen = graph, FusionOptions.from_values(options)
        self.model = GroupModel(graph, machine, self.chosen.values())
        self.reach_bytes = 0
        self._table: SizeTable | None = None
        self._in_reach: GroupsInReach | None = None

    @property
    def least_bytes(self) -> int:
        """The least budget: every operator fits alone."""
        singles = [self.model.staircase(1 << i) for i in range(len(self.graph.operators))]
        return max((min(w.buffer_bytes for w in ways) for ways in singles if ways), default=0)

    def alone_bytes(self, budget_bytes: int) -> tuple[int | None, ...]:
        """The least traffic of each operator alone; None where it does not fit."""
        ways = [self.model.best(1 << i, budget_bytes) for i in range(len(self.graph.operators))]
        return tuple(way.traffic_bytes if way else None for way in ways)

    def reach(self, budget_bytes: int, clock: Clock) -> None:
        """Prepare for every budget up to this one; if the clock ends, large groups are left out."""
        if budget_bytes <= self.reach_bytes:
            return
        require_singles(self.model, self.graph, budget_bytes)
        if self.chosen.online:
            self._table = self._table or size_table(self.model, self.graph, clock)
        elif not self.chosen.baseline:
            self._in_reach = self._prepared(budget_bytes, clock)
        self.reach_bytes = budget_bytes

    def partition(self, budget_bytes: int, clock: Clock) -> Partition:
        """The best partition within a budget; `optimal` where that is proven.

        Raises `BudgetTooSmall` where an operator alone does not fit.
        """
        require_singles(self.model, self.graph, budget_bytes)
        self.reach(budget_bytes, clock)
        if self._table:
            return online_partition(self.model, self.graph, budget_bytes, clock, self._table)
        if self.chosen.baseline:
            return BASELINES[self.chosen.baseline](self.model, self.graph, budget_bytes)
        reach = self._in_reach
        assert reach is not None
        path, cost, least = _shortest(reach, budget_bytes, clock)
        whole = reach.is_exact and _is_complete(reach.candidates, budget_bytes)
        forced = forced_bytes(self.graph, reach.candidates, budget_bytes)
        bound = min(cost, max(least, forced) if whole else forced)
        return Partition(
            groups=tuple(reach.offers.groups[row] for row in path),
            objective_bytes=cost,
            bound_bytes=bound,
            status="optimal" if bound == cost else "feasible",
            considered=len(reach.offers.groups),
        )

    def _prepared(self, budget_bytes: int, clock: Clock) -> GroupsInReach:
        """Find the groups, bound them on the grid, and cost those that matter there."""
        candidates = Candidates(self.model, self.graph, self.model.traits)
        candidates.grow(budget_bytes, None, clock, MOST_GROUPS)
        least = max(1, min(self.least_bytes, budget_bytes))
        ratio = budget_bytes / least
        grid = sorted({round(least * ratio ** (k / (GRID - 1))) for k in range(GRID)})
        grid[-1] = budget_bytes
        offers = Offers(candidates, grid)
        dag, groups = candidates.dag, offers.groups
        narrow = count_downsets(dag) <= MOST_DOWNSETS
        exact = lattice(dag, dag.downsets(), groups, MOST_STEPS) if narrow else None
        in_order = exact or lattice(dag, prefixes(dag), groups, MOST_STEPS)
        assert in_order is not None, "an order has no more steps than groups"
        floors = np.array([candidates.floor(mask) for mask in groups], dtype=np.int64)
        offers.shortest(in_order, clock)
        return GroupsInReach(candidates, offers, in_order, exact is not None, grid, floors)


def _shortest(reach: GroupsInReach, budget_bytes: int, clock: Clock) -> tuple[list[int], int, int]:
    """The cheapest way, by row, its cost, and what none is cheaper than."""
    offers, costs = reach.offers, _costs(reach, budget_bytes)
    while True:
        (least,), (path,) = shortest_paths(reach.lattice, costs)
        if all(offers.known[path]):
            return path, int(least), int(least)
        if clock.expired():
            known_costs = np.where(offers.known[:, None], costs, NEVER)
            (cost,), (path,) = shortest_paths(reach.lattice, known_costs)
            return path, int(cost), int(least)
        by_row = cheapest_through(reach.lattice, costs)
        through = np.where(offers.known[:, None], NEVER, by_row)[:, 0]
        near = np.argsort(through, kind="stable")[:AT_ONCE]
        before = offers.known.copy()
        offers.ask([int(row) for row in near if through[row] < NEVER])
        for row in np.flatnonzero(offers.known & ~before):
            costs[row] = _cost(reach, int(row), budget_bytes)


def _costs(reach: GroupsInReach, budget_bytes: int) -> Bytes:
    """The least traffic of each group within a budget, or a bound on it, as a column."""
    offers = reach.offers
    column = bisect_left(reach.grid, budget_bytes)
    costs = np.where(reach.floors <= budget_bytes, offers.costs[:, column], NEVER)
    for row in np.flatnonzero(offers.known):
        costs[row] = _cost(reach, int(row), budget_bytes)
    return costs[:, None]


def _cost(reach: GroupsInReach, row: int, budget_bytes: int) -> int:
    """The least traffic of a group whose staircase is known; `NEVER` where it does not fit."""
    steps = reach.staircases.get(row)
    if steps is None:
        points = reach.candidates.cost(reach.offers.groups[row])
        steps = reach.staircases[row] = np.array(sorted(points), dtype=np.int64).reshape(-1, 2)
    fitting = int(np.searchsorted(steps[:, 0], budget_bytes, side="right"))
    return int(steps[:fitting, 1].min()) if fitting else NEVER


def _is_complete(candidates: Candidates, budget_bytes: int) -> bool:
    """Whether every group within a budget was found, even if the clock ended early."""
    if candidates.complete is None:
        return True
    largest = [mask for mask in candidates.masks if mask.bit_count() == candidates.complete]
    return not any(candidates.room(mask, budget_bytes) for mask in largest)
