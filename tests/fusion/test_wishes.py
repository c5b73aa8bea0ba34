"""Fused groups that respect wishes: the best partition of those, by brute force, and conflicts."""

from __future__ import annotations

import random

import pytest
import torch

import planners as sp
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.partition.constraints import WishedGroups
from planners.fusion.partition.cost_model import Traits
from planners.fusion.partition.lattice import Dag
from planners.fusion.search import exact as search
from planners.fusion.search.exact import best_partition
from planners.wishes.conflicts import consistent
from planners.wishes.language import Wish, broken
from tests.cases import cases
from tests.fusion.families import family
from tests.fusion.models import LineModel, RandomModel, brute_force
from tests.fusion.networks import CASES, FEWER_CASES, graph_of
from tests.fusion.test_search import GROWS, NOTHING, all_costs, need, sized, verify
from tests.random_graphs import random_graph
from tests.wishes.test_wishes import chain

MACHINE = sp.load_machine("npu_small")


def pairs(graph: sp.Graph, seed: int, most: int = 3) -> list[Wish]:
    """One to `most` pairs to be fused or split, that can be had where all groups can."""
    rng, names = random.Random(seed), [op.name for op in graph.operators]
    found: list[Wish] = []
    for _ in range(rng.randint(1, most)):
        a, b = rng.sample(range(len(names)), 2)
        if rng.random() < 0.6:  # Near ones can mostly be had.
            b = a + 1 if a + 1 < len(names) else a - 1
        wish = Wish(rng.choice(("fuse", "split")), (names[a], names[b]))
        new = wish.about not in [other.about for other in found]
        if new and consistent([*found, wish], graph):
            found.append(wish)
    return found


@pytest.mark.parametrize("wide", [False, True], ids=["lattice", "cover"])
@pytest.mark.parametrize("block", range(4))
def test_the_best_partition_that_respects_wishes(
    block: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wide:
        monkeypatch.setattr(search, "MOST_DOWNSETS", 0)
    outcomes = set()
    for seed in range(25 * block, 25 * block + cases(15)):
        graph = sized(seed)
        wished, dag = WishedGroups.from_wishes(pairs(graph, seed), graph), Dag.from_graph(graph)
        for model, traits in (
            (RandomModel(graph, seed, monotone=False), NOTHING),
            (RandomModel(graph, seed, monotone=True), Traits("grows", local=False, splits=False)),
            (LineModel(graph), GROWS),
        ):
            budget = random.Random(seed).randint(1, 3) * need(model, dag.count)
            costs = all_costs(model, dag, budget)
            best = brute_force(dag, {mask: c for mask, c in costs.items() if wished.allows(mask)})
            found = best_partition(model, graph, budget, Clock(60), traits=traits, wished=wished)
            if best is None:
                assert not all(wished.allows(mask) for mask in found.groups), seed
            else:
                verify(found, model, graph, budget)
                assert all(wished.allows(mask) for mask in found.groups), seed
                assert (found.status, found.objective_bytes) == ("optimal", best), seed
            outcomes.add(best is None)
    assert outcomes == {False, True}


def test_the_smallest_groups_hold_what_lies_between() -> None:
    for seed in range(60):
        graph = random_graph(seed, 8)
        wished, dag = WishedGroups.from_wishes(pairs(graph, seed), graph), Dag.from_graph(graph)
        groups = wished.least(dag)
        assert sum(groups) == dag.everything
        for mask in groups:
            assert dag.is_convex(mask)
            assert wished.allows(mask)


@pytest.mark.parametrize("name", FEWER_CASES)
def test_plans_respect_wishes_and_run(name: str) -> None:
    module, inputs = CASES[name]
    graph = graph_of(name)
    for seed in range(2):
        wishes = pairs(graph, seed, 2) if len(graph.operators) > 1 else []
        budget = 3 * sum(graph.size_bytes(t) for t in graph.tensors)
        texts = [str(wish) for wish in wishes]
        if not consistent_with_kinds(graph, wishes):
            with pytest.raises(sp.WishesConflict, match="cannot be one group"):
                sp.plan(graph, "fusion", budget, wishes=texts)
            continue
        plan = sp.plan(graph, "fusion", budget, wishes=texts)
        sp.check(plan)
        assert broken(plan, wishes) == []
        assert plan.options["wishes"] == texts
        done = sp.execute(plan, module, inputs)
        torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)


def consistent_with_kinds(graph: sp.Graph, wishes: list[Wish]) -> bool:
    """Whether each of the smallest groups is of operators that fuse at all."""
    model = GroupModel(graph, MACHINE, {})
    return all(model.fuses(mask) for mask in WishedGroups.from_wishes(wishes, graph).classes)


def test_what_is_kept_does_not_leave_its_group() -> None:
    graph, budget = family("fires"), "3KiB"
    free = sp.plan(graph, "fusion", budget)
    tensor = next(t for t in graph.producer if broken(free, [Wish("keep", (t,))]))
    plan = sp.plan(graph, "fusion", budget, wishes=[f"keep {tensor}"])
    assert broken(plan, [Wish("keep", (tensor,))]) == []
    assert plan.claims.status == "optimal"
    assert plan.claims.objective_bytes > free.claims.objective_bytes
    spilled = sp.plan(graph, "fusion", budget, wishes=[f"spill {tensor}"])
    assert spilled.claims.objective_bytes == free.claims.objective_bytes


def test_a_group_that_does_not_fit_is_named_with_its_need() -> None:
    graph = family("fires")
    ops = graph.operators
    wishes = [f"split {ops[0].name} {ops[1].name}", f"fuse {ops[2].name} {ops[10].name}"]
    with pytest.raises(sp.WishesConflict) as found:
        sp.plan(graph, "fusion", "1KiB", wishes=wishes)
    assert found.value.wishes == (wishes[1],)
    model = GroupModel(graph, MACHINE, FusionOptions().values())
    mask = WishedGroups.from_wishes([Wish("fuse", (ops[2].name, ops[10].name))], graph).classes[0]
    assert min(p.buffer_bytes for p in model.staircase(mask)) == found.value.need_bytes
    assert found.value.have_bytes == 1024
    enough = sp.plan(graph, "fusion", found.value.need_bytes, wishes=wishes)
    assert broken(enough, [Wish("fuse", (ops[2].name, ops[10].name))]) == []


@pytest.mark.parametrize("name", FEWER_CASES)
def test_plans_with_tensors_on_chip_respect_wishes_too(name: str) -> None:
    module, inputs = CASES[name]
    graph = graph_of(name)
    kept = [t for t in graph.producer if graph.consumers[t]]
    for seed in range(2):
        rng = random.Random(seed)
        wishes = [w for w in pairs(graph, seed, 1) if w.kind == "split"]
        if kept:
            wishes.append(Wish("keep" if seed % 2 else "spill", (rng.choice(kept),)))
        texts = [str(wish) for wish in wishes]
        budget = sum(graph.size_bytes(t) for t in graph.tensors)
        plan = sp.plan(graph, "fusion", budget, joint=True, wishes=texts)
        assert sp.check(plan).traffic_bytes == plan.claims.objective_bytes
        assert broken(plan, wishes) == []
        done = sp.execute(plan, module, inputs)
        torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wishes": ["conv2d before cat"]}, 'fusion does not support it; it supports "fuse A B"'),
        ({"wishes": ["fuse conv2d cat"], "online": True}, "online does not support wishes"),
        ({"wishes": ["fuse conv2d cat"], "baseline": "dnnvm"}, "dnnvm does not support wishes"),
        ({"wishes": ["keep {input}"]}, "fusion keeps what an operator makes"),
    ],
)
def test_what_cannot_be_wished_for_is_said(options: dict[str, object], says: str) -> None:
    graph = family("fires")
    texts = [str(text).format(input=graph.inputs[0]) for text in options["wishes"]]  # type: ignore[attr-defined]
    with pytest.raises(sp.BadInput) as found:
        sp.plan(graph, "fusion", "3KiB", **(options | {"wishes": texts}))  # type: ignore[arg-type]
    assert says in str(found.value)


def test_with_tensors_on_chip_a_conflict_needs_no_more_than_cosma() -> None:
    graph = chain("x:4 a:4 b:6 c:6 d:1")
    with pytest.raises(sp.WishesConflict) as found:
        sp.plan(graph, "fusion", 12, joint=True, time_limit=5, wishes=["keep a", "split A B"])
    error = found.value
    assert (error.wishes, error.operator, error.need_bytes) == (("keep a",), "C", 16)
