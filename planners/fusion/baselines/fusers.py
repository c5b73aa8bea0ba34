"""What Optimus is compared with: no fusion, earlier fusers and the oracle, on any cost model.

Each searches its own restricted space for the best partition in it; `feasible` therefore, unless
its traffic is a bound for every partition. They have the same cost model as Optimus; earlier
fusers keep the parameters of a whole group on chip (Optimus, section 2.3), which `ResidentGroups`
makes of any cost model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from math import inf
from typing import Protocol, TypeAlias

import numpy as np

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.fusion.partition.cost_model import (
    GroupCosts,
    Partition,
    StaircasePoint,
    Traits,
    executable,
    least_traffic,
    require_singles,
    traits_of,
)
from planners.fusion.partition.lattice import Dag, by_levels
from planners.fusion.partition.shortest import lattice, shortest_paths
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.candidates import Candidates

# Runs that may be fused, and an order of all operators in which each run is contiguous.
Choice: TypeAlias = tuple[list[list[int]], Sequence[int]]


ENDLESS = Clock(inf)


class Baseline(Protocol):
    """The best partition that a rule allows."""

    def __call__(
        self,
        model: GroupCosts,
        graph: Graph,
        budget_bytes: int,
        *,
        traits: Traits | None = None,
        clock: Clock = ENDLESS,
    ) -> Partition:
        """Raises `BudgetTooSmall` where an operator does not fit alone."""


class ResidentGroups:
    """A cost model whose groups run only in the way of least traffic: all of their parameters stay.

    Operators alone run as they did.
    """

    def __init__(self, model: GroupCosts) -> None:
        self._model = model

    def staircase(self, mask: int) -> Sequence[StaircasePoint]:
        """As the model's, of groups its last step alone."""
        ways = self._model.staircase(mask)
        return ways[-1:] if mask.bit_count() > 1 else ways

    def fuses(self, mask: int) -> bool:
        """As the model."""
        return self._model.fuses(mask)

    def least_traffic(self, mask: int) -> int:
        """As the model."""
        return self._model.least_traffic(mask)


def _by(rule: Callable[[Dag], list[Choice]]) -> Baseline:
    """The best partition over all choices that a rule offers for a graph."""

    @wraps(rule)
    def plan(
        model: GroupCosts,
        graph: Graph,
        budget_bytes: int,
        *,
        traits: Traits | None = None,
        clock: Clock = ENDLESS,
    ) -> Partition:
        candidates = Candidates(model, graph, traits or traits_of(model))
        choices = rule(candidates.dag)
        clocks = [clock.share((k + 1) / len(choices)) for k in range(len(choices))]
        partitions = [
            _best(candidates, graph, budget_bytes, part, *choice)
            for part, choice in zip(clocks, choices, strict=True)
        ]
        return min(partitions, key=lambda partition: partition.objective_bytes)

    return plan


@_by
def no_fusion(dag: Dag) -> list[Choice]:
    """Every operator alone."""
    return [([], range(dag.count))]


@_by
def fused_layer(dag: Dag) -> list[Choice]:
    """Layers that follow each other without a branch (Alwani et al., MICRO 2016).

    In the default order each layer of a group is the only reader of the one before it, and reads
    nothing else that an operator made.
    """
    runs: list[list[int]] = []
    for i in range(dag.count):
        follows = i and dag.predecessors[i] == 1 << (i - 1) and dag.successors[i - 1] == 1 << i
        if follows:
            runs[-1].append(i)
        else:
            runs.append([i])
    return [(runs, range(dag.count))]


@_by
def dnnvm(dag: Dag) -> list[Choice]:
    """Paths without branch operators (Xing et al., FPGA 2019).

    An operator that waits for several others, or that several wait for, is a barrier: it stays
    alone. In between, paths may be fused wherever they are in the default order.
    """
    around = zip(dag.predecessors, dag.successors)
    barrier = [max(b.bit_count(), a.bit_count()) > 1 for b, a in around]
    runs: list[list[int]] = []
    of: dict[int, list[int]] = {}
    for i in range(dag.count):
        before = dag.predecessors[i].bit_length() - 1
        if not barrier[i] and before >= 0 and not barrier[before]:
            of[i] = of[before]
            of[i].append(i)
        else:
            of[i] = [i]
            runs.append(of[i])
    # Paths share nothing with each other, so in some order each is contiguous.
    masks = {sum(1 << i for i in run): run for run in runs}
    order = [i for mask in executable(dag, masks) or () for i in masks[mask]]
    return [(runs, order)]


@_by
def efficient_s(dag: Dag) -> list[Choice]:
    """Operators next to each other in one order of all, branches or not (Zheng et al., 2020).

    The better of two orders: the default one, and the one by levels of the paper's Fig. 5(b).
    """
    return [([order], order) for order in (list(range(dag.count)), by_levels(dag))]


def oracle(graph: Graph) -> Partition:
    """Everything in one group that moves no more than it must: a bound, not a partition to run."""
    least = compulsory_bytes(graph)
    return Partition((Dag.from_graph(graph).everything,), least, least, "bound")


BASELINES: Mapping[str, Baseline] = {
    "no_fusion": no_fusion,
    "fused_layer": fused_layer,
    "dnnvm": dnnvm,
    "efficient_s": efficient_s,
}


def _best(
    known: Candidates,
    graph: Graph,
    budget_bytes: int,
    clock: Clock,
    runs: Iterable[list[int]],
    order: Iterable[int],
) -> Partition:
    """The best partition into operators alone and parts of these runs, within one order of all.

    Runs are contiguous in the order.
    """
    require_singles(known.model, graph, budget_bytes)
    costs = {1 << i: least_traffic(known.cost(1 << i), budget_bytes) for i in order}
    for run in runs:
        costs |= _parts(known, run, budget_bytes, clock)
    offered = [mask for mask, cost in costs.items() if cost is not None]
    table = np.array([[costs[mask]] for mask in offered], dtype=np.int64)
    done = 0
    downsets = [0, *(done := done | 1 << i for i in order)]
    way = lattice(known.dag, downsets, offered, limit=len(offered) * len(downsets))
    assert way is not None
    least, paths = shortest_paths(way, table)
    floor = min(compulsory_bytes(graph), int(least[0]))
    return Partition(
        groups=tuple(offered[k] for k in paths[0]),
        objective_bytes=int(least[0]),
        bound_bytes=floor,
        status="optimal" if least[0] == floor else "feasible",
        considered=len(offered),
    )


def _parts(
    known: Candidates, run: list[int], budget_bytes: int, clock: Clock
) -> dict[int, int | None]:
    """Costs of a run's contiguous parts, of two operators or more, that may fit: the short first.

    Those that were costed when the time is over.
    """
    costs: dict[int, int | None] = {}
    parts = {first: 1 << first for first in run}
    for size in range(2, len(run) + 1):
        longer = {}
        for first, last in zip(run, run[size - 1 :]):
            if first not in parts:
                continue
            if clock.expired():
                return costs
            mask = parts[first] | 1 << last
            if known.room(mask, budget_bytes):
                longer[first] = mask
                costs[mask] = least_traffic(known.cost(mask), budget_bytes)
        parts = longer
    return costs
