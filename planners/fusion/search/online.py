"""The online variant: few groups, by rules, in milliseconds (Optimus, section 6, Algorithm 3).

An operator is fused with all that read it or with none of them, groups grow along shared data
only, and no group is larger than a table, built beforehand, allows for the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.partition.cost_model import (
    GroupCosts,
    Partition,
    Traits,
    require_singles,
)
from planners.fusion.partition.lattice import Dag
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import MOST_GROUPS, solve
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.tile.cuts import parameter_bytes
from planners.fusion.tile.ways import Steps

# Refilled more often, parameters are taken to cost more than fusion saves: a quarter of the height
# by a quarter of the width (section 6).
MOST_REFILLS = 16
ENDLESS = Clock(inf)
# Groups are looked at up to this size; the table says nothing of larger ones.
LARGEST = 32


@dataclass(frozen=True, slots=True)
class SizeTable:
    """`memo[n]`: the least buffer in which a group of n operators does not refill its parameters
    more than 16 times; it never falls with n. `memo[0]` is 0.
    """

    memo: tuple[int, ...]

    def limit(self, budget_bytes: int) -> int:
        """The most operators that a group may have; at least one."""
        return max(1, *(n for n, need in enumerate(self.memo) if need <= budget_bytes))


def size_table(model: GroupCosts, graph: Graph, clock: Clock, largest: int = LARGEST) -> SizeTable:
    """The table of a network, built offline, over the groups that the rules allow.

    It ends with the largest group there is, or of `largest` operators, or with the clock.
    """
    candidates = Candidates(model, graph, Traits("any"))
    least: dict[int, int] = {}
    for mask in allowed_groups(candidates.dag, largest, clock):
        need = _useful_buffer(candidates.cost(mask), _parameter_bytes(graph, mask))
        if need is not None:
            size = mask.bit_count()
            least[size] = min(least.get(size, need), need)
        if clock.expired():
            break
    memo = [0]
    for size in range(1, max(least, default=0) + 1):
        # Where no group has this size, a larger one stands for it.
        memo.append(max(memo[-1], min(need for n, need in least.items() if n >= size)))
    return SizeTable(tuple(memo))


def online_partition(
    model: GroupCosts, graph: Graph, budget_bytes: int, clock: Clock, table: SizeTable
) -> Partition:
    """The best partition into groups that the rules and the table allow: a heuristic.

    `feasible`, unless it moves no more than it must. Raises `BudgetTooSmall`.
    """
    require_singles(model, graph, budget_bytes)
    candidates = Candidates(model, graph, Traits("any"))
    groups = allowed_groups(candidates.dag, table.limit(budget_bytes), clock.among(2))
    candidates.masks = dict.fromkeys(islice(groups, MOST_GROUPS))
    offers = Offers(candidates, [budget_bytes])
    (cover,) = solve(offers, clock)
    assert cover.groups is not None
    floor = min(compulsory_bytes(graph), cover.objective)
    return Partition(
        groups=cover.groups,
        objective_bytes=cover.objective,
        bound_bytes=floor,
        status="optimal" if floor == cover.objective else "feasible",
        considered=len(offers.groups),
    )


def allowed_groups(dag: Dag, largest: int, clock: Clock = ENDLESS) -> Iterator[int]:
    """Groups that obey the rules, from single operators up, none twice, as time allows.

    One grows by what shares data with it, and by all that the rules then require.
    """
    seen = {1 << i for i in range(dag.count)}
    layer = sorted(seen)
    while layer:
        yield from layer
        grown = set()
        for mask in layer:
            if clock.expired():
                return
            near = 0
            for i in bits(mask):
                near |= dag.relatives[i]
            for i in bits(near & ~mask):
                larger = completed(dag, mask | 1 << i, largest)
                if larger is not None and larger not in seen:
                    seen.add(larger)
                    grown.add(larger)
        layer = sorted(grown)


def completed(dag: Dag, mask: int, largest: int) -> int | None:
    """The least set around these operators that obeys the rules; None where it is too large.

    It is convex, and has all readers of an operator of which it has any.
    """
    while True:
        larger = mask | dag.between(mask)
        for i in bits(larger):
            if dag.successors[i] & larger:
                larger |= dag.successors[i]
        if larger.bit_count() > largest:
            return None
        if larger == mask:
            return mask
        mask = larger


def obeys(dag: Dag, mask: int) -> bool:
    """Whether each member has all of its readers in the group or none."""
    return all(dag.successors[i] & mask in (0, dag.successors[i]) for i in bits(mask))


def _useful_buffer(steps: Steps, parameters: int) -> int | None:
    """The least buffer in which parameters are loaded at most 16 times."""
    if not steps:
        return None
    most = steps[-1][1] + (MOST_REFILLS - 1) * parameters
    return min(buffer for buffer, traffic in steps if traffic <= most)


def _parameter_bytes(graph: Graph, mask: int) -> int:
    """Of a group: no two of its operators share one."""
    return sum(parameter_bytes(graph, graph.operators[i]) for i in bits(mask))
