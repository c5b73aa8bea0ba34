"""The best partition for one budget after the other, at once: groups are found and costed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planners.fusion.baselines import BASELINES
from planners.fusion.bound import forced_bytes
from planners.fusion.candidates import Candidates
from planners.fusion.group import GroupModel
from planners.fusion.lattice import count_downsets
from planners.fusion.online import SizeTable, online_partition, size_table
from planners.fusion.options import checked
from planners.fusion.partition import Partition, Traits, require_singles
from planners.fusion.search import MOST_DOWNSETS, MOST_GROUPS, MOST_STEPS, prefixes
from planners.fusion.shortest import NEVER, Bytes, Lattice, lattice, shortest_paths
from planners.graph.model import Graph
from planners.machine import Machine
from planners.progress import Clock


class Live:
    """A graph's partitions by budget, for a slider.

    The groups within the largest budget asked for so far are kept, with their staircases and the
    lattice of downsets: none of these change with a smaller budget, so a partition is then one
    pass over costs and one shortest path. A larger budget finds the groups anew. With `online` or
    a baseline it is that search, on a cost model that knows its groups already.
    """

    def __init__(self, graph: Graph, machine: Machine, options: Mapping[str, Any]) -> None:
        self.graph, self.chosen = graph, checked(options)
        self.model = GroupModel(graph, machine, self.chosen)
        self.reach_bytes = 0
        self._table: SizeTable | None = None

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
        """Be ready for every budget up to this one; a clock that ends leaves out large groups."""
        if budget_bytes <= self.reach_bytes:
            return
        require_singles(self.model, self.graph, budget_bytes)
        if self.chosen["online"] and self._table is None:
            self._table = size_table(self.model, self.graph, clock)
        if not (self.chosen["online"] or self.chosen["baseline"]):
            self._candidates = Candidates(self.model, self.graph, Traits())
            self._candidates.grow(budget_bytes, None, clock, MOST_GROUPS)
            self._keep(budget_bytes, clock)
        self.reach_bytes = budget_bytes

    def partition(self, budget_bytes: int, clock: Clock) -> Partition:
        """The best partition within a budget; `optimal` where that is proven.

        Raises `BudgetTooSmall` where an operator alone does not fit.
        """
        require_singles(self.model, self.graph, budget_bytes)
        self.reach(budget_bytes, clock)
        if self._table:
            return online_partition(self.model, self.graph, budget_bytes, clock, self._table)
        if self.chosen["baseline"]:
            return BASELINES[self.chosen["baseline"]](self.model, self.graph, budget_bytes)
        costs = self._costs(budget_bytes)
        (cost,), (path,) = shortest_paths(self._lattice, costs[:, None])
        forced = forced_bytes(self.graph, self._candidates, budget_bytes)
        proven = self._exact and self._complete(budget_bytes)
        bound = int(cost) if proven else min(int(cost), forced)
        return Partition(
            groups=tuple(self._groups[k] for k in path),
            objective_bytes=int(cost),
            bound_bytes=bound,
            status="optimal" if bound == cost else "feasible",
            considered=int((costs < NEVER).sum()),
        )

    def _keep(self, budget_bytes: int, clock: Clock) -> None:
        """The groups that fit with their staircases end to end, and the ways through them."""
        found, dag = self._candidates, self._candidates.dag
        self._groups = [mask for mask in found.steps if found.fits(mask, budget_bytes)]
        ways = [found.steps[mask] for mask in self._groups]
        flat = np.array([point for steps in ways for point in steps], dtype=np.int64)
        self._buffers, self._traffic = flat[:, 0], flat[:, 1]
        self._first = np.cumsum([0, *map(len, ways[:-1])])
        narrow = count_downsets(dag) <= MOST_DOWNSETS and not clock.expired()
        exact = lattice(dag, dag.downsets(), self._groups, MOST_STEPS) if narrow else None
        self._exact = exact is not None
        self._lattice: Lattice = exact or self._in_order()

    def _in_order(self) -> Lattice:
        """The ways through the default order of operators: of any width, without a proof."""
        dag = self._candidates.dag
        found = lattice(dag, prefixes(dag), self._groups, MOST_STEPS)
        assert found is not None, "an order has no more steps than groups"
        return found

    def _costs(self, budget_bytes: int) -> Bytes:
        """The least traffic of each group within a budget; `NEVER` where it does not fit."""
        fitting = np.where(self._buffers <= budget_bytes, self._traffic, NEVER)
        found: Bytes = np.minimum.reduceat(fitting, self._first)
        return found

    def _complete(self, budget_bytes: int) -> bool:
        """Whether every group within a budget is there, however early the clock ended."""
        found = self._candidates
        if found.complete is None:
            return True
        largest = [mask for mask in found.steps if mask.bit_count() == found.complete]
        return not any(found.room(mask, budget_bytes) for mask in largest)
