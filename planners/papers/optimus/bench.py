"""Partitions of the Optimus comparison: each found once, kept, and gone on from."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.partition.cost_model import GroupCosts as Costs
from planners.fusion.partition.cost_model import Partition
from planners.fusion.partition.lattice import Dag, count_downsets
from planners.fusion.planner import plan
from planners.fusion.search.exact import sweep_partitions
from planners.fusion.search.online import SizeTable, online_partition, size_table
from planners.papers.memo import Memo
from planners.papers.optimus.costs import (
    Known,
    PartitionCase,
    base_costs,
    base_of,
    graph_of,
    seen_by,
    traits_of,
)

MOST_BASES = 10  # that are held at once, for memory's sake
WIDE_DOWNSETS = 20_000  # of a network in which groups are too many to hold them all


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """A partition's traffic and proof; `traffic_bytes` is None where an operator does not fit.

    `optimal` is over all partitions at these costs; `cap` over those into groups so large.
    """

    traffic_bytes: int | None
    bound_bytes: int = 0
    status: str = "infeasible"
    cap: int | None = None
    groups: tuple[int, ...] = ()
    considered: int = 0
    seconds: float = 0.0
    need_bytes: int = 0

    @property
    def gap(self) -> float:
        return (
            (self.traffic_bytes - self.bound_bytes) / self.traffic_bytes
            if self.traffic_bytes
            else 0
        )

    @staticmethod
    def solved(partition: Partition, seconds: float) -> PartitionResult:
        return PartitionResult(
            partition.objective_bytes,
            partition.bound_bytes,
            partition.status,
            partition.cap,
            partition.groups,
            partition.considered,
            seconds,
        )


# Tiles in bands of columns too; maps that stay on chip between groups; both.
BEYOND: Mapping[str, dict[str, Any]] = {
    "tiles": {"bands": 8},
    "joint": {"bands": 1, "joint": True},
    "tiles and joint": {"bands": 8, "joint": True},
}


class Bench:
    """Finds partitions, with cost models that are used again while they are held."""

    def __init__(self, memo: Memo, time_limit_s: float) -> None:
        self.memo, self.time_limit_s = memo, time_limit_s
        self._bases: OrderedDict[PartitionCase, Known] = OrderedDict()

    def find(self, case: PartitionCase) -> PartitionResult:
        """The partition of a case."""
        return self.sweep(case, [case.budget_bytes])[0]

    def sweep(self, case: PartitionCase, budgets: Sequence[int]) -> list[PartitionResult]:
        """The partition of a case in each of these budgets; those not known are found at once."""
        cases = [case._replace(budget_bytes=budget) for budget in budgets]
        missing = [c for c in cases if self.memo.get(["find", *c]) is None]
        if missing:
            results = self._search(case, [c.budget_bytes for c in missing])
            for c, partition in zip(missing, results, strict=True):
                self.keep(c, partition)
        values = [self.memo.get(["find", *c]) for c in cases]
        return [PartitionResult(**{**value, "groups": tuple(value["groups"])}) for value in values]

    def keep(self, case: PartitionCase, result: PartitionResult) -> None:
        """Keep what was found for a case."""
        self.memo.keep(["find", *case], asdict(result), str(case))

    def way(self, case: PartitionCase, mask: int) -> Any:
        """The way of least traffic to run a group within the budget of a case."""
        model = self.model(case)
        fits = [way for way in model.staircase(mask) if way.buffer_bytes <= case.budget_bytes]
        return min(fits, key=lambda way: way.traffic_bytes)

    def model(self, case: PartitionCase) -> Costs:
        """The costs of a case, for every buffer."""
        return seen_by(case, self.base(case))

    def base(self, case: PartitionCase, *, anew: bool = False) -> Known:
        """The costs that those of a case are made of; `anew`: they know nothing yet."""
        key = base_of(case)
        if anew or key not in self._bases:
            self._bases[key] = base_costs(key)
            if len(self._bases) > MOST_BASES:
                self._bases.popitem(last=False)
        self._bases.move_to_end(key)
        return self._bases[key]

    def _search(self, case: PartitionCase, budgets: Sequence[int]) -> list[PartitionResult]:
        model, graph = self.model(case), graph_of(case.network, case.images)
        need = largest_need(model, graph)
        fit = [budget for budget in budgets if budget >= need]
        if case.fuser in BEYOND:
            return [beyond(case, budget, self.time_limit_s) for budget in budgets]
        began = time.perf_counter()
        solved = partitions(case, model, graph, fit, self.time_limit_s) if fit else []
        seconds = (time.perf_counter() - began) / max(1, len(fit))
        by_budget = {
            b: PartitionResult.solved(f, seconds) for b, f in zip(fit, solved, strict=True)
        }
        return [by_budget.get(b, PartitionResult(None, need_bytes=need)) for b in budgets]


def beyond(case: PartitionCase, budget_bytes: int, time_limit_s: float) -> PartitionResult:
    """A plan that does what the paper's do not. Raises `BudgetTooSmall`."""
    options = {"channel_tile": case.channel_tile, "time_limit": time_limit_s}
    graph = graph_of(case.network, case.images)
    options |= BEYOND[case.fuser]
    claims = plan(graph, load_machine("optimus"), budget_bytes, options).claims
    moved, bound = claims.objective_bytes, claims.bound_bytes
    return PartitionResult(moved, bound, claims.status, seconds=claims.plan_s)


def partitions(
    case: PartitionCase, model: Costs, graph: Graph, budgets: Sequence[int], time_limit_s: float
) -> list[Partition]:
    """A partition for each budget by the fuser of a case. Raises `BudgetTooSmall`."""
    traits = traits_of(case)
    if case.fuser == "optimus":
        return sweep_partitions(model, graph, budgets, Clock(time_limit_s), traits=traits)
    if case.fuser == "online":
        table = look_up_table(model, graph, time_limit_s / 2)
        return [online_partition(model, graph, b, Clock(time_limit_s), table) for b in budgets]
    return [BASELINES[case.fuser](model, graph, b, traits=traits) for b in budgets]


def look_up_table(model: Costs, graph: Graph, time_limit_s: float) -> SizeTable:
    """The online variant's table, of groups of 12 operators or, in wide networks, 5 at most."""
    largest = 5 if count_downsets(Dag.from_graph(graph)) > WIDE_DOWNSETS else 12
    return size_table(model, graph, Clock(time_limit_s), largest)


def largest_need(model: Costs, graph: Graph) -> int:
    """The least buffer in which every operator runs alone, in bytes."""
    needs = [
        min((way.buffer_bytes for way in model.staircase(1 << i)), default=0)
        for i in range(len(graph.operators))
    ]
    return max(needs, default=0)
