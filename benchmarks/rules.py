"""What each rule of a search buys: states expanded and processor seconds with and without it.

    python benchmarks/rules.py [--searches orders,tails,peaks,makespans,joint,covers,groups,plans,
        packings,turns,cliques,rings,sizes,own_rings,ways] [--instances 20]
        [--limit 4] [--states 20000] [--csv benchmarks/rules.csv]

Each rule is switched off alone, on twenty instances of its search: random graphs (orders, tails,
peaks: 30 to 49 operators; makespans and plans of groups: 2 to 4), random lifetimes, layers and
tasks, or networks. A run ends at its proof, after so many seconds or states. Printed for each rule:
of how many instances the search has its proof with all rules and without this one; then, over those
where both have it, the sums of states and of seconds, and the geometric mean of the ratios of
states.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import planners as sp
from planners.allocation.generate import cut_rectangle
from planners.allocation.heaviest_clique import CLIQUE_RULES, CliqueRules, heaviest_clique
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.skyline.rules import PACKING_RULES, PackingRules
from planners.allocation.skyline.search import (
    STOP_EVERY,
    BranchingRule,
    RisingSearch,
    SkylineSearch,
)
from planners.catalogue.vmcu import TABLE_2, bottleneck
from planners.core.best_first import NO_LIMIT
from planners.core.errors import BudgetTooSmall
from planners.core.progress import Clock
from planners.core.rules import names, without
from planners.cosma.latency.bound import ScheduleSeconds
from planners.cosma.latency.exact import MAKESPAN_RULES, MakespanRules, MakespanSearch
from planners.cosma.model.net import Net, net_of
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.peak import Footprints, PeakSearch
from planners.cosma.order.rules import ORDER_RULES, PEAK_RULES, OrderRules, PeakRules
from planners.cosma.order.shortest_path import OrderSearch
from planners.cosma.order.space import OrderSpace
from planners.cosma.order.suffix_bounds import Tails
from planners.fusion.cost.group import GroupModel
from planners.fusion.joint.resident_cost import HeldCosts
from planners.fusion.joint.search import JointSearch
from planners.fusion.joint.space import JOINT_RULES, GroupSpace, JointRules
from planners.fusion.latency.exact import ENUMERATION_RULES, Enumeration, EnumerationRules
from planners.fusion.partition.lattice import Dag, downsets_of
from planners.fusion.partition.shortest import NEVER, lattice
from planners.fusion.search.bounded import GROUP_RULES, GroupRules
from planners.fusion.search.exact import best_partition, find_groups
from planners.fusion.search.set_partition import COVER_RULES, CoverRules, cheapest_cover
from planners.overlap.search.chain import WAY_RULES, WayRules, cuts, ways_of_block
from planners.streaming.schedule import exact as streaming_fronts
from planners.streaming.schedule.exact import FRONT_RULES, FrontRules, front_three_stages
from planners.streaming.several import least_partitioned
from planners.streaming.several import search as search_of
from planners.streaming.several.search import SHARING_RULES, SharingRules

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.allocation.test_pack import full_house
from tests.cosma.test_latency import small
from tests.fusion.every_plan import budget_of, small_net
from tests.fusion.test_latency import MACHINES
from tests.fusion.test_latency_exact import FEW_PLANS
from tests.random_graphs import random_graph
from tests.streaming.events import random_tasks
from tests.streaming.nets import random_layers

NETWORKS = (
    *("squeezenet1_1", "shufflenet_v2_x1_0", "resnet18", "mobilenet_v2", "densenet121"),
    *("googlenet", "inception_v3", "efficientnet_b0", "mnasnet1_0", "resnet50"),
    *("regnet_y_400mf", "vgg11", "alexnet", "mobilenet_v3_small", "vit_b_16", "convnext_tiny"),
    *("swin_t", "resnext50_32x4d", "mcunet_vww1", "wide_resnet50_2"),
)
KIB = 1024
WARM = 4  # times the limit, for what is cached: what the model says of groups
LONGEST_GROUP = 4  # operators, of groups that follow the order


class Outcome(NamedTuple):
    states: int
    proven: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """A search to take rules from: all of them, and how it runs on the instance of a number."""

    rules: Any
    run: Callable[[int, Any, Clock, int], Outcome]


class RuleRow(NamedTuple):
    """One rule's line of the table; states and seconds are of instances proven both ways."""

    search: str
    rule: str
    proven_with: int
    proven_without: int
    states_with: int
    states_without: int
    seconds_with: float
    seconds_without: float
    mean_ratio_of_states: float


# ---- searches ------------------------------------------------------------------------------------


@cache
def _tight(seed: int) -> Net:
    """A random network in little more than its largest operator needs."""
    graph = random_graph(seed, 30 + seed, largest=9)
    b = sp.budgets(graph)
    return net_of(graph, False, b.MR + (b.MP - b.MR) // 10)


def orders(seed: int, rules: OrderRules, clock: Clock, states: int) -> Outcome:
    search = OrderSearch(OrderSpace(_tight(seed), rules), NO_LIMIT)
    search.run(clock, states)
    return Outcome(search.states, search.done)


def orders_with_tails(seed: int, rules: OrderRules, clock: Clock, states: int) -> Outcome:
    net = _tight(seed)
    tails = Tails(net, rules)
    while tails.first > 0 and not clock.expired():
        tails.extend(clock)
    space = OrderSpace(net, rules)
    search = OrderSearch(space, NO_LIMIT, tails.bound_for(space))
    search.run(clock, states)
    return Outcome(tails.states + search.states, search.done)


def peaks(seed: int, rules: PeakRules, clock: Clock, states: int) -> Outcome:
    graph = random_graph(seed, 30 + seed, largest=9)
    search = PeakSearch(Footprints(graph, False), rules)
    search.run(clock, states)
    return Outcome(search.states, search.done)


def makespans(seed: int, rules: MakespanRules, clock: Clock, states: int) -> Outcome:
    graph, machine, budget, counted = small(seed)
    schedule = tuple(range(len(graph.operators)))
    seconds = ScheduleSeconds(ScheduleProblem(graph, schedule, counted, budget), machine)
    search = MakespanSearch(seconds, 1e9, True, rules)
    search.run(clock, states)
    return Outcome(search.states, search.done)


@cache
def _network(number: int) -> tuple[GroupModel, Dag, list[int], int]:
    """A network's cost model, its operators, groups of them in their order, and a budget in which
    each operator fits."""
    graph = sp.load(NETWORKS[number % len(NETWORKS)])
    model = GroupModel(graph, sp.load_machine("optimus"), {})
    dag, count = Dag.from_graph(graph), len(graph.operators)
    runs = [
        ((1 << length) - 1) << first
        for length in range(1, LONGEST_GROUP + 1)
        for first in range(count - length + 1)
    ]
    least = max(model.staircase(1 << i)[0].buffer_bytes for i in range(count))
    return model, dag, [mask for mask in runs if dag.is_convex(mask)], max(128 * KIB, least)


@cache
def _held(number: int) -> HeldCosts:
    model = _network(number)[0]
    return HeldCosts(model, model.graph)


def joint(number: int, rules: JointRules, clock: Clock, states: int) -> Outcome:
    model, dag, groups, budget = _network(number)
    way = lattice(dag, downsets_of(range(len(model.graph.operators))), groups, NO_LIMIT)
    assert way is not None
    search = JointSearch(GroupSpace(way, groups, _held(number), budget, rules=rules), NO_LIMIT)
    search.run(clock, most_turns=10 * states)
    return Outcome(search.turns, search.done)


def covers(number: int, rules: CoverRules, clock: Clock, states: int) -> Outcome:
    dag, groups, costs, best = _offered(number)
    found = cheapest_cover(dag, groups, costs, clock, known=best + 1, rules=rules)
    return Outcome(found.states, found.bound == found.objective)


@cache
def _offered(number: int) -> tuple[Dag, list[int], list[int], int]:
    """Groups of a network, whatever their order, with what they cost at least, and the cost of the
    best partition into groups."""
    model, dag, _, budget = _network(number)
    offers = find_groups(model, model.graph, [budget], Clock(60), cap=LONGEST_GROUP)
    costs = {m: int(c) for m, c in zip(offers.groups, offers.costs[:, 0], strict=True) if c < NEVER}
    known = cheapest_cover(dag, list(costs), list(costs.values()), Clock(60), NEVER)
    return dag, list(costs), list(costs.values()), known.objective


def groups_grown(number: int, rules: GroupRules, clock: Clock, states: int) -> Outcome:
    model, _, _, budget = _network(number)
    try:
        found = best_partition(model, model.graph, budget, clock, rules=rules)
    except BudgetTooSmall:
        return Outcome(0, False)
    return Outcome(found.considered, found.status == "optimal")


def plans(number: int, rules: EnumerationRules, clock: Clock, states: int) -> Outcome:
    seed, machine = FEW_PLANS[number % len(FEW_PLANS)], list(MACHINES.values())[number % 4]
    graph = small_net(seed)
    budget = budget_of(graph, machine, seed % 5)
    every = Enumeration(GroupModel(graph, machine, {}), budget, double_buffer=True, rules=rules)
    best = every.best(float("inf"), clock)
    return Outcome(every.timed, best.complete)


@cache
def _full_memory(number: int) -> Instance:
    """Lifetimes with little room to spare."""
    capacity = 8 + number % 9
    return max(reduce(full_house(50, capacity, 3 + number % 4, number), capacity), key=len)


def packings(number: int, rules: PackingRules, clock: Clock, states: int) -> Outcome:
    skyline = SkylineSearch(_full_memory(number), rules)
    fits = skyline.run(BranchingRule(), states, clock)
    return Outcome(skyline.nodes, fits is not None)


def packings_in_turns(number: int, rules: PackingRules, clock: Clock, states: int) -> Outcome:
    instance = max(reduce(cut_rectangle(100, seed=number), 4300), key=len)
    part = clock.work(states // STOP_EVERY)
    fits, _ = RisingSearch(instance, rules).run(part)
    return Outcome(part.looks * STOP_EVERY, fits is not None)


def cliques(number: int, rules: CliqueRules, clock: Clock, states: int) -> Outcome:
    random, count = Random(number), 40 + number
    pairs = [(a, b) for a in range(count) for b in range(a) if random.random() < 0.5]
    conflicts: list[set[int]] = [set() for _ in range(count)]
    for a, b in pairs:
        conflicts[a].add(b)
        conflicts[b].add(a)
    weights = [random.randint(1, 90) for _ in range(count)]
    part = clock.work(states)
    heaviest_clique(weights, conflicts, part, rules)
    return Outcome(part.looks, not part.cut)


def ring_pairs(number: int, rules: FrontRules, clock: Clock, states: int) -> Outcome:
    """The front of two rings of their own sizes: pairs that are evaluated."""
    layers = random_layers(Random(number), most=40, largest=60)
    evaluated = 0
    delays = streaming_fronts._delays

    def counted(layers: Any, cpu: Any, gpu: Any, start: Any) -> Any:
        nonlocal evaluated
        evaluated += cpu.shape[1]
        return delays(layers, cpu, gpu, start)

    with mock.patch.object(streaming_fronts, "_delays", counted):
        front_three_stages(layers, rules=rules)
    return Outcome(evaluated, True)


def ring_sizes(number: int, rules: FrontRules, clock: Clock, states: int) -> Outcome:
    """The front of two rings of one size without end: sizes that are evaluated."""
    layers = random_layers(Random(number), most=40, largest=60)
    with mock.patch.object(
        streaming_fronts, "three_stages", wraps=streaming_fronts.three_stages
    ) as evaluated:
        front_three_stages(layers, twice=True, rules=rules)
    return Outcome(evaluated.call_count, True)


def own_rings(number: int, rules: SharingRules, clock: Clock, states: int) -> Outcome:
    tasks = random_tasks(Random(number), 4, largest=60)
    least = least_partitioned(replace(search_of(tasks, "edf", 3, clock), rules=rules))
    return Outcome(least.tried, least.proven)


def ways(number: int, rules: WayRules, clock: Clock, states: int) -> Outcome:
    """The ways of a block that are placed."""
    shapes = list(TABLE_2.values())
    graph = bottleneck(shapes[number % len(shapes)])
    blocks = pairwise(cuts(graph))
    placed = [way for block in blocks for way in ways_of_block(graph, *block, rules=rules)]
    return Outcome(len(placed), True)


TRIALS = {
    "orders": Trial(ORDER_RULES, orders),
    "tails": Trial(ORDER_RULES, orders_with_tails),
    "peaks": Trial(PEAK_RULES, peaks),
    "makespans": Trial(MAKESPAN_RULES, makespans),
    "joint": Trial(JOINT_RULES, joint),
    "covers": Trial(COVER_RULES, covers),
    "groups": Trial(GROUP_RULES, groups_grown),
    "plans": Trial(ENUMERATION_RULES, plans),
    "packings": Trial(PACKING_RULES, packings),
    "turns": Trial(PACKING_RULES, packings_in_turns),
    "cliques": Trial(CLIQUE_RULES, cliques),
    "rings": Trial(FRONT_RULES, ring_pairs),
    "sizes": Trial(FRONT_RULES, ring_sizes),
    "own_rings": Trial(SHARING_RULES, own_rings),
    "ways": Trial(WAY_RULES, ways),
}
APART = {  # rules that a search does not look at
    "orders": ("tail", "tail_states"),
    "packings": ("tighter",),
    "turns": tuple(rule for rule in names(PACKING_RULES) if rule != "tighter"),
    "rings": ("monotone",),
    "sizes": ("each_alone",),
}

# ---- the table -----------------------------------------------------------------------------------


def timed(
    trial: Trial, number: int, rules: Any, limit_s: float, states: int
) -> tuple[Outcome, float]:
    gc.collect()
    began = time.process_time()
    outcome = trial.run(number, rules, Clock(limit_s), states)
    return outcome, time.process_time() - began


def rows(searches: Iterable[str], instances: int, limit_s: float, states: int) -> Iterator[RuleRow]:
    """The table's lines: each instance is searched with all rules and without each, in turns."""
    for search in searches:
        trial = TRIALS[search]
        off = [rule for rule in names(trial.rules) if rule not in APART.get(search, ())]
        pairs: dict[str, list[tuple[tuple[Outcome, float], tuple[Outcome, float]]]] = {
            rule: [] for rule in off
        }
        for number in range(instances):
            trial.run(number, trial.rules, Clock(WARM * limit_s), states)
            full = timed(trial, number, trial.rules, limit_s, states)
            for rule in off:
                less = without(trial.rules, rule)
                pairs[rule].append((full, timed(trial, number, less, limit_s, states)))
        for rule in off:
            both = [(a, b) for a, b in pairs[rule] if a[0].proven and b[0].proven]
            logs = [np.log(max(1, b.states) / max(1, a.states)) for (a, _), (b, _) in both]
            yield RuleRow(
                search,
                rule,
                sum(a.proven for (a, _), _ in pairs[rule]),
                sum(b.proven for _, (b, _) in pairs[rule]),
                sum(a.states for (a, _), _ in both),
                sum(b.states for _, (b, _) in both),
                round(sum(s for (_, s), _ in both), 3),
                round(sum(s for _, (_, s) in both), 3),
                round(float(np.exp(np.mean(logs))), 3) if logs else 0.0,
            )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--searches", default=",".join(TRIALS))
    ask.add_argument("--instances", type=int, default=20)
    ask.add_argument("--limit", type=float, default=4.0, help="seconds for each run")
    ask.add_argument("--states", type=int, default=20_000)
    ask.add_argument("--csv", type=Path)
    asked = ask.parse_args()
    print("proofs, states and processor seconds: with all rules -> without this one")
    table = []
    for row in rows(asked.searches.split(","), asked.instances, asked.limit, asked.states):
        table.append(row)
        print(
            f"{row.search:<10} {row.rule:<18} {row.proven_with:>3} -> {row.proven_without:<3} "
            f"{row.states_with:>8} -> {row.states_without:<8} "
            f"{row.seconds_with:>8.2f} -> {row.seconds_without:<8.2f} "
            f"x {row.mean_ratio_of_states:.2f}",
            flush=True,
        )
    if asked.csv:
        with asked.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, RuleRow._fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row._asdict() for row in table)


if __name__ == "__main__":
    main()
