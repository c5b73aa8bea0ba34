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

from planners.errors import BudgetTooSmall
from planners.fusion.algorithm1 import bottom_up, top_down
from planners.fusion.candidates import Candidates
from planners.fusion.group import GroupModel
from planners.fusion.lattice import Dag, count_downsets, count_groups
from planners.fusion.online import online_partition, size_table
from planners.fusion.partition import Partition, Traits, least_traffic
from planners.fusion.search import best_partition, sweep_partitions
from planners.fusion.workloads import cifar_resnet, workload
from planners.graph.model import Graph
from planners.machine import load_machine
from planners.progress import Clock

KIB = 1024
TRAITS = Traits(least_channels=16)  # The paper's T_c.
# Table 5: groups, top-down and bottom-up ms, groups chosen; online groups, and ms bottom-up.
PAPER = {
    "vgg16": (171, 0.36, 0.48, 8, 80, 0.11),
    "resnet50": (3510, 14.59, 2.73, 31, 195, 0.29),
    "resnet152": (24250, 173.43, 5.01, 99, 467, 0.23),
    "googlenet": (50436, 514.53, 27.89, 21, 423, 0.64),
    "squeezenet1_0": (1057, 3.39, 2.19, 8, 216, 0.24),
    "timm:nasnetalarge": (29_000_000, 3.28e5, 8713.16, 328, 1627, 274.10),
}
MOST_GROUPS = 30_000  # that Algorithm 1 goes through one by one
NAMES = (*PAPER, "mobilenet_v2")


class Known:
    """A cost model's answers, kept: what is left is the search."""

    def __init__(self, model: GroupModel) -> None:
        self._model = model
        self._known: dict[int, Any] = {}

    def staircase(self, mask: int) -> Any:
        if mask not in self._known:
            self._known[mask] = self._model.staircase(mask)
        return self._known[mask]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def describe(name: str, graph: Graph, budget: int, budgets: int, time_limit: float) -> None:
    dag = Dag.of(graph)
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
    if name in PAPER:
        groups, top_down, bottom_up, chosen, online_groups, online_ms = PAPER[name]
        print(
            f"  paper: {groups} groups, {chosen} chosen, {top_down} ms top-down, "
            f"{bottom_up} ms bottom-up; online {online_groups} groups, {online_ms} ms"
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
