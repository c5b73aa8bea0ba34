"""Table 5: how many groups there are, which are chosen, and how long finding them takes.

CPU seconds with a cost model that knows nothing yet (*cold*), and of the search alone once every
cost is known. Beside ours Algorithm 1 as the paper runs it, at known costs, where groups are few.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.fusion.baselines.algorithm1 import bottom_up, top_down
from planners.fusion.partition.cost_model import GroupCosts as Costs
from planners.fusion.partition.cost_model import Partition, least_traffic
from planners.fusion.partition.lattice import Dag, count_downsets, count_groups
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import best_partition
from planners.fusion.search.online import online_partition
from planners.papers.optimus.bench import (
    WIDE_DOWNSETS,
    Bench,
    PartitionResult,
    look_up_table,
)
from planners.papers.optimus.costs import PartitionCase, base_costs, base_of, graph_of, traits_of
from planners.papers.report import Row

Result = TypeVar("Result")

MOST_GROUPS = 30_000  # that Algorithm 1 goes through one by one
ENOUGH_S = 0.2  # a search shorter than this is timed more than once


def rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """A row of Table 5 for each network; found anew unless it is kept."""
    limit = bench.time_limit_s
    return [bench.memo.of(["table 5", n, limit], partial(row, bench, n)) for n in networks]


def row(bench: Bench, network: str) -> Row:
    """Counts and seconds of a network; the bench keeps the costs."""
    case = PartitionCase(network)
    graph = graph_of(network, case.images)
    dag = Dag.of(graph)
    entry: Row = {
        "network": network,
        "operators": dag.count,
        "successors": max(after.bit_count() for after in dag.successors),
        "groups": count_groups(dag),
        "downsets": count_downsets(dag),
    }
    try:
        entry |= _searched(bench, case, graph, dag)
    except BudgetTooSmall as error:
        return entry | {"status": str(error)}
    if entry["groups"] <= MOST_GROUPS:
        entry |= _algorithm_1(case, bench.base(case), graph, dag)
    if entry["downsets"] <= WIDE_DOWNSETS:
        entry["chosen_printed"] = len(bench.find(case._replace(accounting="printed")).groups)
    return entry


def _searched(bench: Bench, case: PartitionCase, graph: Graph, dag: Dag) -> Row:
    known, traits, limit = bench.base(case, anew=True), traits_of(case), bench.time_limit_s

    def search() -> Partition:
        return best_partition(known, graph, case.budget_bytes, Clock(limit), traits=traits)

    best, cold_s = _timed(search)
    table = look_up_table(known, graph, limit / 2)

    def online(model: Costs) -> Partition:
        return online_partition(model, graph, case.budget_bytes, Clock(limit), table)

    quick, online_cold_s = _timed(lambda: online(base_costs(base_of(case))))
    bench.keep(case, PartitionResult.of(best, cold_s))
    bench.keep(case._replace(fuser="online"), PartitionResult.of(quick, online_cold_s))
    return {
        "fit": best.considered,
        "chosen": len(best.groups),
        "status": best.status,
        "gap": best.gap,
        "cap": best.cap,
        "cold_s": cold_s,
        # A search that the clock ended would only end there again.
        "search_s": _least_s(search) if best.status == "optimal" else None,
        "online_groups": quick.considered,
        "online_cold_s": online_cold_s,
        "online_s": _least_s(lambda: online(known)),
        "online_more": quick.objective_bytes / best.objective_bytes - 1,
        "bytes": best.objective_bytes,
    }


def _algorithm_1(case: PartitionCase, known: Costs, graph: Graph, dag: Dag) -> Row:
    """Algorithm 1 both ways, over all groups that fit, at costs already known."""
    candidates = Candidates(known, graph, traits_of(case))
    candidates.grow(case.budget_bytes, None, Clock(600.0), MOST_GROUPS)
    costs = {m: least_traffic(s, case.budget_bytes) for m, s in candidates.steps.items()}
    (down, _), down_s = _timed(lambda: top_down(dag, costs.get))
    (up, _), up_s = _timed(lambda: bottom_up(dag, costs.get))
    return {"top_down_s": down_s, "bottom_up_s": up_s, "top_down": down, "bottom_up": up}


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    began = time.process_time()
    result = call()
    return result, time.process_time() - began


def _least_s(call: Callable[[], object]) -> float:
    """The least of a few runs, of a long one once."""
    first = _timed(call)[1]
    return min(first, *(_timed(call)[1] for _ in range(4))) if first < ENOUGH_S else first
