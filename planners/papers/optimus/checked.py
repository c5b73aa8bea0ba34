"""The partitions of Figure 14 as programs: replayed byte by byte, and timed on the scoreboard."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from planners.core.problem import Problem
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.partition.cost_model import Partition
from planners.fusion.planner import plan_partition
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import PartitionCase
from planners.papers.table import Row
from planners.simulator.simulate import simulate

MOST_INSTRUCTIONS = 60_000  # that a program replayed here may have


def rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """What the replay of Optimus's plan of each network moved, and its makespan; `traffic` is None
    of programs too long to replay here.

    Raises `InvalidPlan` where a plan is not right.
    """
    return [row(bench, PartitionCase(network)) for network in networks]


def row(bench: Bench, case: PartitionCase) -> Row:
    """One plan, replayed, unless it is kept from before."""
    result = bench.find(case)
    if result.traffic_bytes is None:
        return {"network": case.network, "traffic": None}
    key = ["check", *case, result.traffic_bytes]
    kept: Row = bench.memo.of(key, lambda: _replayed(bench, case))
    return kept


def _replayed(bench: Bench, case: PartitionCase) -> Row:
    result, model = bench.find(case), bench.base(case).model
    assert isinstance(model, GroupModel)
    chosen = FusionOptions.of({"channel_tile": case.channel_tile})
    partition = Partition(result.groups, result.traffic_bytes or 0, result.bound_bytes, "feasible")
    request = Problem(model.graph, model.machine, case.budget_bytes, chosen, Clock(600.0))
    plan = plan_partition(request, model, partition)
    if len(list(islice(plan.program.instructions, MOST_INSTRUCTIONS + 1))) > MOST_INSTRUCTIONS:
        return {"network": case.network, "traffic": None}
    trace = simulate(plan)
    return {
        "network": case.network,
        "traffic": trace.traffic_bytes,
        "equal": trace.traffic_bytes == result.traffic_bytes,
        "peak": trace.peak_bytes,
        "makespan_s": trace.makespan_s,
        "instructions": len(trace.intervals),
    }
