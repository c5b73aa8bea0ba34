"""Plans with tensors on chip between groups: valid, executed, and never worse than without."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

import planners as sp
from planners.core.machine import with_scratchpad
from planners.core.masks import bits
from planners.core.plan import Claims, Plan
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import shortened, traffic_of
from planners.fusion.emit.program import emit
from planners.fusion.joint.addresses import lay_out_jointly
from planners.fusion.joint.planner import lower_bounds
from planners.fusion.joint.resident_cost import HeldCosts
from planners.fusion.joint.search import GroupRoute
from planners.fusion.joint.space import GroupSpace, GroupState, Leg, within
from planners.fusion.partition.lattice import Dag
from planners.fusion.partition.shortest import lattice
from planners.fusion.search.exact import find_groups
from planners.simulator.account import account
from tests.cases import in_turn
from tests.fusion.networks import CASES, MIXED, graph_of

MACHINE = sp.load_machine("npu_small")


def least_budget(graph: sp.Graph) -> int:
    model = GroupModel(graph, MACHINE, {})
    ways = [model.staircase(1 << i) for i in range(len(graph.operators))]
    return max(way[0].buffer_bytes for way in ways)


class Anything:
    """Random routes: any groups, anything on chip, whatever that costs."""

    def __init__(self, graph: sp.Graph, budget: int, seed: int) -> None:
        self.model = GroupModel(graph, MACHINE, {})
        self.costs = HeldCosts(self.model, graph)
        self.rng = random.Random(seed)
        self.budget = budget
        offers = find_groups(self.model, graph, [budget], Clock(60))
        dag = Dag.from_graph(graph)
        way = lattice(dag, dag.downsets(), offers.groups, 1_000_000)
        assert way is not None
        self.space = GroupSpace(way, offers.groups, self.costs, budget)

    def route(self) -> GroupRoute:
        state, legs, cost = GroupState(0, 0, 0), [], 0
        while state.done != self.space.everything:
            groups = [m for m in self.space.onward[state.done] if m.bit_count() < 4]
            group = self.rng.choice(groups)
            order, _ = self.space.candidates(state, group)
            out = sum(tensor for tensor in order if self.rng.random() < 0.4)
            terms = self.space.terms(state, group, sum(order), out)
            paid = within(self.costs.steps(group, terms.held), terms.room)
            assert paid is not None
            legs.append(Leg(group, terms.held, state.resident & out))
            cost += terms.apart + paid
            state = self.space.after(state, group, sum(order), out)
        return GroupRoute(tuple(legs), cost)


@pytest.mark.parametrize(
    ("name", "seed", "coarser"),
    in_turn(CASES, [(seed, coarser) for seed in range(2) for coarser in (False, True)]),
)
def test_whatever_stays_on_chip_is_computed_as_pytorch_does(
    name: str, seed: int, coarser: bool
) -> None:
    module, inputs = CASES[name]
    graph = graph_of(name)
    budget = 3 * sum(graph.size_bytes(t) for t in graph.tensors)
    anything = Anything(graph, budget, seed)
    route = anything.route()
    placed = lay_out_jointly(anything.model, anything.costs, route.legs, budget, Clock(60))
    assert placed is not None
    laid = tuple(each.laid for each in placed)
    if coarser:
        fewer = shortened(anything.model, placed, 0, Clock(60), double_buffer=True)
        laid = tuple(each.laid for each in fewer)
    cost_bytes = route.cost_bytes + traffic_of(laid) - traffic_of([each.laid for each in placed])
    program = emit(graph, with_scratchpad(MACHINE, budget), laid, budget)
    moved = account(graph, program)
    claims = Claims(
        status="feasible",
        objective_bytes=cost_bytes,
        bound_bytes=0,
        compulsory_bytes=moved.compulsory_bytes,
        noncompulsory_bytes=cost_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        plan_s=0,
        solver="",
    )
    plan = Plan("fusion", graph, with_scratchpad(MACHINE, budget), budget, program, claims)
    assert sp.check(plan).traffic_bytes == cost_bytes
    done = sp.execute(plan, module, inputs)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*CASES, *MIXED])
def test_more_held_never_costs_more_and_bounds_are_bounds(name: str) -> None:
    graph = graph_of(name)
    model = GroupModel(graph, MACHINE, {})
    low_budget = least_budget(graph)
    costs, rng = HeldCosts(model, graph), random.Random(name)
    for budget in (low_budget, 3 * low_budget, 20 * low_budget):
        offers = find_groups(model, graph, [budget], Clock(60))
        low = lower_bounds(model, offers)
        for mask in rng.sample(offers.groups, min(20, len(offers.groups))):
            around = costs.around(mask)
            held = sum(1 << k for k in bits(around.reads | around.makes) if rng.random() < 0.5)
            moved = {k: costs.tensors.size[k] for k in bits(around.makes)} | around.touched
            streamed = sum(moved[k] for k in moved if not held >> k & 1)
            traffic = within(costs.steps(mask, held), budget - costs.tensors.bytes(held))
            if traffic is not None:
                bound = low(mask)
                assert bound is not None
                assert bound + streamed <= traffic
            for k in bits((around.reads | around.makes) & ~held):
                for buffer, traffic in costs.steps(mask, held):
                    more = within(costs.steps(mask, held | 1 << k), buffer)
                    assert more is not None
                    assert more <= traffic - moved[k]


def budgets_of(graph: sp.Graph) -> list[int]:
    least, everything = least_budget(graph), sum(graph.size_bytes(t) for t in graph.tensors)
    return [2 * least, (least + everything) // 4, everything]


OFTEN = ("chain", "two heads", "random 1", "windows", "one for all images")


@pytest.mark.parametrize(
    "name",
    [n if n in OFTEN else pytest.param(n, marks=pytest.mark.long) for n in (*CASES, *MIXED)],
)
def test_joint_plans_are_valid_and_never_worse_than_either(name: str) -> None:
    module, inputs = (CASES | MIXED)[name]
    graph = graph_of(name)
    last: int | None = None
    for budget in sorted(budgets_of(graph)):
        plan = sp.plan(graph, "fusion", budget, joint=True)
        report = sp.check(plan)
        assert plan.claims.objective_bytes == report.traffic_bytes
        assert plan.claims.status == "optimal"
        assert report.traffic_bytes <= sp.plan(graph, "fusion", budget).claims.objective_bytes
        try:
            whole = sp.plan(graph, "cosma", budget, schedule="joint", parameters=True)
        except sp.BudgetTooSmall:
            pass
        else:
            assert report.traffic_bytes <= whole.claims.offchip_bytes
        assert last is None or report.traffic_bytes <= last
        last = report.traffic_bytes
        done = sp.execute(plan, module, inputs)
        torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)
    assert last == report.compulsory_bytes


@pytest.mark.long
def test_less_moves_than_by_groups_or_by_residency_alone() -> None:
    graph = sp.load("resnet18", input_shape=(1, 3, 64, 64))
    joint = sp.plan(graph, "fusion", "128KiB", joint=True)
    sp.check(joint)
    assert joint.claims.status == "optimal"
    assert any("stay on chip" in note for note in joint.notes)
    apart = sp.plan(graph, "fusion", "128KiB").claims.objective_bytes
    assert joint.claims.objective_bytes < apart
    done = sp.execute(joint)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-2, atol=1e-2)
    again = sp.Plan.from_json(joint.to_json())
    assert sp.check(again) == sp.check(joint)


def test_joint_is_a_search_of_its_own() -> None:
    for other in ({"online": True}, {"baseline": "dnnvm"}, {"free_local_layers": True}):
        with pytest.raises(sp.BadInput, match="is a search of its own"):
            sp.plan(graph_of("chain"), "fusion", 10_000, joint=True, **other)


@pytest.mark.parametrize("budget", [1000, 2000])
def test_what_stays_is_no_worse_than_groups_alone_where_sums_are_wide(budget: int) -> None:
    """Accumulators of int8 take four bytes: tensors that stay whole have no room for them."""
    graph = graph_of("chain")
    tensors = {name: replace(t, dtype="int8") for name, t in graph.tensors.items()}
    graph = replace(graph, tensors=tensors, bytes_per_element="native")
    alone = sp.plan(graph, "fusion", budget)
    joint = sp.plan(graph, "fusion", budget, joint=True)
    assert joint.claims.objective_bytes <= alone.claims.objective_bytes
    assert joint.claims.bound_bytes <= joint.claims.objective_bytes
