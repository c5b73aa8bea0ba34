"""The best partition known so far, bettered in larger and larger spaces until it is proven.

First no fusion; then runs of operators that follow each other in an order of all, for a few orders
(Efficient-S and more); then all groups. Each space is searched for what is better than the best so
far only, so that a longer search is never worse, and with the rules of `search/bounded`, so that
few groups are costed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.cost.incremental_bounds import Growing
from planners.fusion.cost.refills import least_in_a_group
from planners.fusion.partition.cost_model import least_traffic
from planners.fusion.partition.lattice import (
    Dag,
    by_depth,
    by_levels,
    count_downsets,
    downsets_of,
    prefixes,
)
from planners.fusion.partition.shortest import NEVER, cheapest_through, lattice
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.bounded import Bounded, GroupRules, Grower
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.search.set_partition import PartitionFound

CHAIN = 4  # operators in a chain
# Operators in the runs that are looked at first; then twice as many each time.
FIRST_RUNS = 4


class Anytime:
    """The best partitions known for some budgets, and spaces to look for better ones in."""

    def __init__(
        self,
        model: GroupModel,
        graph: Graph,
        budgets: Sequence[int],
        rules: GroupRules,
    ) -> None:
        self.candidates = Candidates(model, graph, model.traits)
        self.dag: Dag = self.candidates.dag
        self.model, self.graph, self.budgets, self.rules = model, graph, budgets, rules
        self._alone = [1 << i for i in range(self.dag.count)]
        steps = [self.candidates.cost(mask) for mask in self._alone]
        costs = [[least_traffic(step, budget) for budget in budgets] for step in steps]
        self._alone_costs = np.array(costs, dtype=np.int64).reshape(-1, len(budgets))
        self._apart = model.apart
        self.considered = self.dag.count
        self.compulsory_bytes = compulsory_bytes(graph)
        self.best = [
            PartitionFound(tuple(self._alone), int(total), 0)
            for total in self._alone_costs.sum(axis=0)
        ]
        self._orders: list[list[int]] = []
        for order in (list(range(self.dag.count)), by_levels(self.dag), by_depth(self.dag)):
            if order not in self._orders:
                self._orders.append(order)
        self._runs = deque((FIRST_RUNS, order) for order in self._orders)
        self._growth: tuple[Grower, Bounded, Iterator[int]] | None = None

    @property
    def below(self) -> list[int]:
        """What a partition must cost less than, for each budget."""
        return [partition.objective for partition in self.best]

    def least_bytes(self) -> list[int]:
        """What any partition moves at least, for each budget, without a look at groups: each
        operator alone, or what its parameters cost in any group."""
        candidates = self.candidates
        assert candidates.floors is not None
        assert candidates.refills is not None
        totals = np.zeros(len(self.budgets), dtype=np.int64)
        for i, alone in enumerate(self._alone_costs):
            parameters = candidates.tables[i].parameter_bytes
            if self._apart[i] >> i & 1:
                totals += alone
            else:
                grouped = least_in_a_group(
                    i, candidates.floors, candidates.refills, parameters, self.budgets
                )
                totals += np.minimum(alone, np.array(grouped, dtype=np.int64))
        return [max(self.compulsory_bytes, int(total)) for total in totals]

    def look_at_chains(self, cap: int | None, clock: Clock) -> None:
        """A few operators that follow each other without a branch: soon much better than none."""
        dag = self.dag
        follows = [
            i > 0
            and dag.predecessors[i] == 1 << (i - 1)
            and dag.successors[i - 1] == 1 << i
            and not self._apart[i] >> i & 1
            and not self._apart[i - 1] >> (i - 1) & 1
            for i in range(dag.count)
        ]
        chains_bounded = Bounded()
        chains = self._alone
        for size in range(2, CHAIN + 1 if cap is None else min(CHAIN, cap) + 1):
            longer = []
            for mask in chains:
                last = mask.bit_length()
                if last == dag.count or not follows[last]:
                    continue
                larger = mask | 1 << last
                if clock.expired():
                    break
                if self.candidates.room(larger, max(self.budgets)):
                    longer.append(larger)
                    steps = self.candidates.cost(larger)
                    costs = [least_traffic(steps, budget) for budget in self.budgets]
                    row = [NEVER if cost is None else cost for cost in costs]
                    chains_bounded.groups.append(larger)
                    chains_bounded.parts.append(np.array([row], dtype=np.int64))
            chains = longer
            chains_bounded.complete = size
        self._better(chains_bounded, prefixes(dag), clock)
        clock.report("chains", max(self.below))

    def look_at_runs(self, cap: int | None, clock: Clock) -> int | None:
        """Runs of operators in some orders, short ones in all orders first; it goes on where it
        was. Where there is one order only these are all groups: up to which size they were looked
        at, as `look_at_all`."""
        complete: int | None = 1
        while self._runs and not clock.expired():
            most, order = self._runs[0]
            size = most if cap is None else min(most, cap)
            runs_bounded = self._grower(order).runs(clock, size)
            self._better(runs_bounded, downsets_of(order), clock)
            complete = runs_bounded.complete
            self.considered = max(self.considered, self.dag.count + len(runs_bounded.groups))
            if clock.cut:
                break  # It is done again.
            self._runs.popleft()
            if complete == size and size != cap:  # None is longer.
                self._runs.append((2 * most, order))
        clock.report(f"runs in {len(self._orders)} orders", max(self.below))
        return complete if self.one_order else 1

    @property
    def one_order(self) -> bool:
        """Whether operators can follow each other in one way only."""
        return count_downsets(self.dag) == self.dag.count + 1

    def look_at_all(
        self, cap: int | None, clock: Clock, most_groups: int, most_steps: int
    ) -> int | None:
        """All groups of at most `cap` operators; it goes on where it was. Up to which size they
        were looked at; None where no larger one is worth it."""
        if self._growth is None:
            grower, bounded = self._grower(range(self.dag.count)), Bounded()
            self._growth = grower, bounded, grower.every(bounded, cap, most_groups)
        grower, bounded, growth = self._growth
        grower.beat(self.below)
        half = clock.among(2)
        for size in growth:
            clock.report(f"groups of {size} operators: {len(bounded.groups)} in all")
            if half.expired():
                break
        self.considered = self.dag.count + len(bounded.groups)
        clock.report(f"{self.considered} groups", max(self.below))
        if not self._better(bounded, self.dag.downsets(), clock, most_steps):
            return 1
        return bounded.complete

    def _grower(self, order: Sequence[int]) -> Grower:
        candidates = self.candidates
        assert candidates.floors is not None
        assert candidates.refills is not None
        growing = Growing(
            self.graph, self.dag, candidates.tables, candidates.floors, candidates.refills, order
        )
        return Grower(growing, self._apart, self.budgets, self.below, self.rules)

    def _better(
        self, found: Bounded, downsets: list[int], clock: Clock, most_steps: int | None = None
    ) -> bool:
        """Look for better partitions into these groups; whether there was room and time to.

        Without a `most_steps` they are few, and looked through whatever the time.
        """
        groups = [*self._alone, *found.groups]
        costs = np.concatenate([self._alone_costs, found.costs(len(self.budgets))])
        if most_steps is None:
            way = lattice(self.dag, downsets, groups, inf)
        else:
            way = lattice(self.dag, downsets, groups, most_steps, clock)
        if way is None:
            return False
        if self.rules.through:
            through = cheapest_through(way, costs)
            near = np.asarray((through < np.array(self.below)).any(axis=1), dtype=bool)
            near[: self.dag.count] = True
            groups = [groups[row] for row in np.flatnonzero(near)]
            costs = costs[near]
            way = way.only_groups(near)
        if most_steps is not None and clock.expired():
            return False
        offers = Offers(self.candidates, self.budgets, (groups, costs))
        least, paths, bounds = offers.shortest(way, clock, self.below)
        for k, best in enumerate(self.best):
            if least[k] < best.objective and offers.known[paths[k]].all():
                masks = tuple(groups[row] for row in paths[k])
                best = PartitionFound(masks, int(least[k]), 0)
            bound = min(int(bounds[k]), best.objective)
            self.best[k] = PartitionFound(best.groups, best.objective, bound)
        return True
