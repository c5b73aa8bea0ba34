"""How long the search over fused groups takes, beside the paper's Table 5.

    python benchmarks/fusion_search.py [MODEL ...] [--kib 128] [--budgets 20] [--depths 56 110 1202]

For each network: operators, convex groups and downsets (counted), groups that fit and those that
the cost model was asked for, groups chosen, and seconds: of all, of the search once the model
knows its costs, of the online variant with its table, and of a sweep of as many budgets up to 8
times this one, beside one plan at the largest. Where groups are few enough also Algorithm 1 as
printed, at known costs. --depths times ResNets for CIFAR of such depths, to see how it all grows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.progress import Clock
from planners.fusion.baselines.algorithm1 import bottom_up, top_down
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.cost_model import Partition, Traits, least_traffic
from planners.fusion.partition.lattice import Dag, count_downsets, count_groups
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import best_partition, sweep_partitions
from planners.fusion.search.online import online_partition, size_table
from planners.papers.optimus.costs import Known
from planners.papers.optimus.paper import TABLE_5
from planners.papers.optimus.workloads import cifar_resnet, workload

KIB = 1024
TRAITS = Traits(least_channels=16)  # The paper's T_c.
MOST_GROUPS = 30_000  # that Algorithm 1 goes through one by one
NAMES = (*TABLE_5, "mobilenet_v2")


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def describe(name: str, graph: Graph, budget: int, budgets: int, time_limit: float) -> None:
    dag = Dag.from_graph(graph)
    print(
        f"\n{name}: {dag.count} operators, {count_groups(dag):.4g} groups, "
        f"{count_downsets(dag):.4g} downsets"
    )
    model = cost_model(graph)
    known = Known(model)
    try:
        found, all_s = timed(
            lambda: best_partition(known, graph, budget, Clock(time_limit), traits=TRAITS)
        )
    except BudgetTooSmall as error:
        print(f"  {error}")
        return
    _, search_s = timed(
        lambda: best_partition(known, graph, budget, Clock(time_limit), traits=TRAITS)
    )
    print(
        f"  best: {found.considered} groups fit, {model.evaluations} costed, "
        f"{len(found.groups)} chosen, {found.objective_bytes} bytes, {told(found)}; "
        f"{all_s:.3f} s, of which search {search_s:.3f} s"
    )
    table, table_s = timed(lambda: size_table(known, graph, Clock(time_limit), 12))
    online, online_s = timed(
        lambda: online_partition(known, graph, budget, Clock(time_limit), table)
    )
    more = online.objective_bytes / found.objective_bytes - 1
    print(
        f"  online: {online.considered} groups of at most {table.limit(budget)}, "
        f"{more:.2%} more traffic; {online_s:.4f} s (table {table_s:.3f} s)"
    )
    if name in TABLE_5:
        paper = TABLE_5[name]
        print(
            f"  paper: {paper.groups} groups, {paper.chosen} chosen, {paper.top_down_ms} ms "
            f"top-down, {paper.bottom_up_ms} ms bottom-up; online {paper.online_groups} groups, "
            f"{paper.online_bottom_up_ms} ms"
        )
    if count_groups(dag) <= MOST_GROUPS:
        reference(dag, known, graph, budget, found.objective_bytes)
    if budgets:
        sweep(graph, [budget + k * 7 * budget // max(1, budgets - 1) for k in range(budgets)])


def reference(dag: Dag, model: Known, graph: Graph, budget: int, best: int) -> None:
    """Algorithm 1 as the paper runs it, both ways, over the same groups at costs already known."""
    found = Candidates(model, graph, TRAITS)
    found.grow(budget, None, Clock(600), 10**7)
    costs = {mask: least_traffic(steps, budget) for mask, steps in found.steps.items()}
    (down, _), down_s = timed(lambda: top_down(dag, costs.get))
    (up, _), up_s = timed(lambda: bottom_up(dag, costs.get))
    assert down == up == best
    print(
        f"  Algorithm 1 as printed: {down_s:.3f} s top-down, {up_s:.3f} s bottom-up, same traffic"
    )


def sweep(graph: Graph, budgets: Sequence[int]) -> None:
    """Many budgets beside the largest alone, each with a model that knows nothing yet."""
    one, one_s = timed(
        lambda: best_partition(cost_model(graph), graph, budgets[-1], Clock(600), traits=TRAITS)
    )
    many, many_s = timed(
        lambda: sweep_partitions(cost_model(graph), graph, budgets, Clock(600), traits=TRAITS)
    )
    assert many[-1].objective_bytes == one.objective_bytes
    print(f"  {len(budgets)} budgets: {many_s:.3f} s, {many_s / one_s:.2f} times the largest alone")


def told(found: Partition) -> str:
    if found.status == "optimal":
        return "optimal"
    return f"gap {found.gap:.2%}" + (f", best of groups up to {found.cap}" if found.cap else "")


def cost_model(graph: Graph) -> GroupModel:
    return GroupModel(graph, load_machine("optimus"), {"channel_tile": TRAITS.least_channels})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=NAMES)
    parser.add_argument("--kib", type=int, default=128)
    parser.add_argument("--budgets", type=int, default=0)
    parser.add_argument("--depths", type=int, nargs="*", default=[])
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    graphs = {name: workload(name) for name in options.models if not options.depths}
    graphs |= {f"ResNet-{depth} (CIFAR)": cifar_resnet(depth) for depth in options.depths}
    for name, graph in graphs.items():
        describe(name, graph, options.kib * KIB, options.budgets, options.time_limit)


if __name__ == "__main__":
    main()
