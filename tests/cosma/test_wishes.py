"""Plans that respect wishes: the best of those that do, by brute force, and what is in the way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import planners as sp
from planners.core.best_first import NO_LIMIT
from planners.core.progress import Clock
from planners.cosma.ilp.export import export_ilp
from planners.cosma.model.constraints import WishedStays, reordered
from planners.cosma.model.net import net_of
from planners.cosma.order.joint import _largest
from planners.cosma.order.shortest_path import OrderSearch
from planners.cosma.order.space import OrderSpace
from planners.cosma.order.suffix_bounds import Tails
from planners.wishes.language import Wish, broken, parse
from tests.cases import cases
from tests.cosma.brute_force import NEVER, optimum, optimum_by_size
from tests.cosma.small_cases import Case, crowded_case, small_case
from tests.cosma.wishful import random_wishes
from tests.wishes.test_wishes import chain

CASES = int(os.environ.get("SPILLWAY_CASES", cases(24, 240)))


def least(case: Case, wishes: Sequence[Wish], schedule: str, budget: int) -> int | None:
    """By brute force, for the order that stands for `default` or for any."""
    any_order = schedule != "default"
    graph = (
        case.graph if any_order else reordered(case.graph, WishedStays.from_wishes(wishes).before)
    )
    parameters = case.parameters
    return optimum(graph, budget, any_order=any_order, parameters=parameters, wishes=wishes)


def wrong(case: Case, wishes: Sequence[Wish], schedule: str, **options: object) -> str:
    """What a plan with wishes claims wrongly; nothing where all is right and proven."""
    texts = [str(wish) for wish in wishes]
    best = least(case, wishes, schedule, case.budget)
    settings = {"parameters": case.parameters, "schedule": schedule, "wishes": texts, **options}
    try:
        plan = sp.plan(case.graph, budget=case.budget, **settings)
    except sp.WishesConflict as error:
        return "" if best is None else f"{texts}: {error}"
    moved = sp.check(plan).noncompulsory_bytes
    if broken(plan, wishes):
        return f"{texts}: broken"
    if plan.claims.status != "optimal" or moved != best or plan.claims.bound_bytes != best:
        return f"{texts}: {best}, not {plan.claims}"
    return ""


@pytest.mark.parametrize(
    ("make", "schedule"),
    [
        (small_case, "default"),
        (small_case, "joint"),
        (crowded_case, "default"),
        pytest.param(crowded_case, "joint", marks=pytest.mark.long),
    ],
)
def test_the_least_traffic_that_respects_wishes(make: object, schedule: str) -> None:
    count = CASES if make is small_case else CASES // 3
    cases = {seed: make(seed) for seed in range(count)}  # type: ignore[operator]
    found = {seed: wrong(case, random_wishes(case, seed), schedule) for seed, case in cases.items()}
    assert {seed: text for seed, text in found.items() if text} == {}


def test_parts_and_the_papers_ilp_respect_wishes_too() -> None:
    for seed in range(0, cases(20), 2):
        case = small_case(seed, 6)
        assert wrong(case, random_wishes(case, seed), "dnc") == ""
    for seed, schedule in enumerate(("default", "joint")):
        case = small_case(seed, 4)
        assert wrong(case, random_wishes(case, seed), schedule, method="ilp") == ""


@pytest.mark.parametrize(("seed", "schedule"), [(2, "joint"), (3, "default")])
def test_the_papers_ilp_respects_other_wishes(seed: int, schedule: str) -> None:
    case = small_case(seed, 4)
    assert wrong(case, random_wishes(case, seed), schedule, method="ilp") == ""


def conflict(case: Case, wishes: Sequence[Wish], schedule: str) -> sp.WishesConflict | None:
    settings = {"parameters": case.parameters, "schedule": schedule}
    try:
        sp.plan(case.graph, budget=case.budget, wishes=list(map(str, wishes)), **settings)
    except sp.WishesConflict as error:
        return error
    return None


@pytest.mark.parametrize(
    ("schedule", "seeds"),
    [("default", 60), ("joint", 150), pytest.param("joint", 240, marks=pytest.mark.long)],
)
def test_what_is_in_the_way_is_minimal_and_its_need_exact(schedule: str, seeds: int) -> None:
    conflicts = 0
    for seed in range(seeds):
        case = small_case(seed)
        case = case._replace(budget=sp.budgets(case.graph, parameters=case.parameters).MR)
        wishes = [w for w in random_wishes(case, seed, 5) if w.kind != "spill"]
        error = conflict(case, wishes, schedule)
        if error is None:
            continue
        conflicts += 1
        named = [wish for wish in wishes if str(wish) in error.wishes]
        assert least(case, named, schedule, error.need_bytes) is not None, seed
        assert least(case, named, schedule, error.need_bytes - 1) is None, seed
        for wish in named:
            others = [other for other in named if other != wish]
            assert least(case, others, schedule, case.budget) is not None, seed
    assert conflicts >= 3


def test_every_bound_finds_the_same_least_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.cosma.order.suffix_bounds.FREE_STRIDE", 3)
    monkeypatch.setattr("planners.cosma.order.suffix_bounds.STRIDE", 2)
    infeasible = 0
    for seed in range(150):
        case = small_case(seed, 9)
        wishes = random_wishes(case, seed, 5)
        wished, budget = WishedStays.from_wishes(wishes), case.budget
        if seed % 3 == 0:
            budget = sp.budgets(case.graph, parameters=case.parameters).MR
        graph = reordered(case.graph, wished.before)
        every = {"any_order": True, "parameters": case.parameters, "wishes": wishes}
        best = optimum_by_size(graph, budget, **every)
        infeasible += best >= NEVER
        net = net_of(graph, case.parameters, budget, wished)
        tails = Tails(net)
        while tails.first > 0:
            tails.extend(Clock(60))
        for bound in (None, _largest(net), tails.bound_for(OrderSpace(net))):
            search = OrderSearch(OrderSpace(net), NO_LIMIT, bound)
            search.run(Clock(60), 10**7)
            route = search.route()
            assert (NEVER if route is None else route.cost_bytes) == min(best, NEVER), seed
    assert infeasible


def test_an_order_that_was_not_given_is_told() -> None:
    case = small_case(4)
    names = list(case.graph.index)
    wish = next(
        f"{b} before {a}"
        for a, b in zip(names, names[1:], strict=False)
        if not set(case.graph.operators[case.graph.index[a]].outputs)
        & set(case.graph.operators[case.graph.index[b]].inputs)
    )
    plan = sp.plan(case.graph, budget="MP", wishes=[wish])
    assert any(wish in note and "1 pair(s)" in note for note in plan.notes)
    assert plan.graph == case.graph
    assert broken(plan, parse([wish], case.graph)) == []


def test_the_nearer_of_two_orders_is_taken() -> None:
    tensors = {"x": sp.Tensor("x", (1,), "input")}
    ops = []
    wires = {"a": "x", "b": "a", "c": "b", "d": "c", "e": "x"}  # a chain and one beside it
    for name, source in wires.items():
        tensors[f"t{name}"] = sp.Tensor(f"t{name}", (1,))
        ops.append(
            sp.Operator(name, "any", (source if source == "x" else f"t{source}",), (f"t{name}",))
        )
    graph = sp.Graph("aside", tensors, tuple(ops), ("x",), ("td", "te"))
    order = [op.name for op in reordered(graph, [("e", "a")]).operators]
    assert order == ["e", "a", "b", "c", "d"]
    order = [op.name for op in reordered(graph, [("e", "d")]).operators]
    assert order == ["a", "b", "c", "e", "d"]


def test_wishes_are_of_the_plan_in_a_file(tmp_path: object) -> None:
    case = small_case(4)
    tensor = next(iter(case.graph.producer))
    plan = sp.plan(case.graph, budget="MP", wishes=[f" keep {tensor}", f"keep  {tensor}"])
    path = f"{tmp_path}/plan.json"
    plan.save(path)
    assert sp.Plan.load(path).options["wishes"] == [f"keep {tensor}"]
    assert sp.plan(case.graph, budget="MP").options["wishes"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"wishes": ["fuse op0 op1"]},
            'cosma does not support it; it supports "keep T", "spill T"',
        ),
        ({"wishes": ["keep t0"], "replacement": "belady"}, "use replacement='optimal'"),
        ({"wishes": ["spill t0"], "objective": "peak"}, "objective='peak' spills nothing"),
        ({"wishes": ["keep w"]}, "parameters=True"),
        ({"wishes": ["keep t00"]}, "did you mean 't0'?"),
        ({"wishes": 3}, "must be texts"),
        ({"wishes": [3]}, "not (3,)"),
        ({"wishes": "keep t00"}, "did you mean 't0'?"),  # a text is one wish
    ],
)
def test_what_cannot_be_wished_for_is_said(options: dict[str, object], says: str) -> None:
    tensors = {n: sp.Tensor(n, (2,)) for n in ("t0", "t1")}
    tensors |= {"x": sp.Tensor("x", (2,), "input"), "w": sp.Tensor("w", (2,), "parameter")}
    ops = (
        sp.Operator("op0", "any", ("x",), ("t0",), ("w",)),
        sp.Operator("op1", "any", ("t0",), ("t1",), ("w",)),
    )
    graph = sp.Graph("two", tensors, ops, ("x",), ("t1",))
    with pytest.raises(sp.BadInput) as found:
        sp.plan(graph, **options)  # type: ignore[arg-type]
    assert says in str(found.value)


@pytest.mark.parametrize("objective", ["peak", "traffic_then_latency"])
def test_other_objectives_respect_wishes(objective: str) -> None:
    for seed in range(cases(4, 16)):
        case = small_case(seed, 6)
        wishes = [w for w in random_wishes(case, seed) if w.kind != "spill"]
        for schedule in ("default", "mpmf", "joint"):
            plan = sp.plan(
                case.graph,
                budget=4 * case.budget,
                parameters=case.parameters,
                schedule=schedule,
                objective=objective,
                wishes=[str(wish) for wish in wishes],
            )
            sp.check(plan)
            assert broken(plan, wishes) == []


def test_without_spills_too_small_a_memory_is_no_wishs_fault() -> None:
    case = small_case(4)
    tensor = next(iter(case.graph.producer))
    needed = sp.budgets(case.graph, parameters=case.parameters).MP
    with pytest.raises(sp.BudgetTooSmall) as found:
        sp.plan(
            case.graph,
            budget=needed - 1,
            parameters=case.parameters,
            schedule="joint",
            objective="peak",
            wishes=[f"keep {tensor}"],
        )
    assert not isinstance(found.value, sp.WishesConflict)


def test_an_exported_ilp_has_rows_for_wishes(tmp_path: Path) -> None:
    graph = chain()
    wishes = ["keep a", "spill b", "A before D"]
    settings = {"schedule": "joint", "wishes": wishes}
    export_ilp(graph, 12, settings, lp=tmp_path / "wished.lp")
    text = (tmp_path / "wished.lp").read_text()
    assert all(row in text for row in ("keep_a_t", "spill_b_t", "before_a_d"))
