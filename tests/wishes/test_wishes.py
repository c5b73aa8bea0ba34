"""Wishes: read from texts, kept or broken by replay, contradictory or not."""

from __future__ import annotations

import pickle

import pytest

import planners as sp
from planners.core.errors import WishesConflict
from planners.wishes.conflicts import consistent, minimal_conflict, require_consistent
from planners.wishes.language import Wish, broken, parse, require_known


def chain(sizes: str = "x:4 a:4 b:4 c:4 d:4") -> sp.Graph:
    """x → A → a → B → b → C → c, and D reads a and c."""
    tensors = {}
    for item in sizes.split():
        name, size = item.split(":")
        tensors[name] = sp.Tensor(name, (int(size),), "input" if name == "x" else "activation")
    wires = {"A": "x>a", "B": "a>b", "C": "b>c", "D": "a,c>d"}
    ops = []
    for name, wire in wires.items():
        reads, makes = wire.split(">")
        ops.append(sp.Operator(name, "any", tuple(reads.split(",")), (makes,)))
    return sp.Graph("chain", tensors, tuple(ops), ("x",), ("d",))


def test_texts_come_back_as_they_were() -> None:
    texts = ["keep a", "spill b", "A before B", "fuse A B", "split C D"]
    wishes = parse(texts, chain())
    assert [str(wish) for wish in wishes] == texts
    assert wishes[2] == Wish("before", ("A", "B"))


def test_equal_wishes_are_one() -> None:
    texts = ["keep a", " keep  a ", "fuse A B", "fuse B A", "A before B", "A before B"]
    assert list(map(str, parse(texts, chain()))) == ["keep a", "fuse A B", "A before B"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("keep relu", "wish 'keep relu': 'chain' has no tensor 'relu'"),
        ("kepe a", "did you mean 'keep'?"),
        ("A befor B", "did you mean 'before'?"),
        ("", 'write "keep T"'),
        ("keep", "must name one tensor, not 0"),
        ("keep a b", "must name one tensor, not 2"),
        ("fuse A", "must name two operators, not 1"),
        ("A before A", "names one operator twice"),
        ("a before B", "has no operator 'a'; did you mean 'A'?"),
        ("keep A", "has no tensor 'A'; did you mean 'a'?"),
        ("fuse A E", "has no operator 'E'"),
    ],
)
def test_what_is_no_wish_is_said_exactly(text: str, says: str) -> None:
    with pytest.raises(sp.BadInput) as found:
        parse([text], chain())
    assert says in str(found.value)
    assert "\n" not in str(found.value)


def test_the_nearest_name_is_offered() -> None:
    graph = sp.load("squeezenet1_1")
    name = next(iter(graph.producer))
    with pytest.raises(sp.BadInput, match=f"did you mean '{name}'"):
        parse([f"spill {name}x"], graph)


@pytest.mark.parametrize("texts", ["keep a", [1], None, {"keep a": 1}])
def test_wishes_are_a_list_of_texts(texts: object) -> None:
    with pytest.raises(sp.BadInput, match="list of texts"):
        parse(texts, chain())


def test_a_planner_says_which_kinds_it_knows() -> None:
    wishes = parse(["keep a", "fuse A B"], chain())
    with pytest.raises(
        sp.BadInput, match='fuse A B.*cosma does not support it; it supports "keep T"'
    ):
        require_known(wishes, ("keep",), "cosma")
    with pytest.raises(sp.BadInput, match="it supports none"):
        require_known(wishes, (), "streaming")


def names(plan: sp.Plan, *texts: str) -> list[str]:
    return [str(wish) for wish in broken(plan, parse(list(texts), plan.graph))]


def test_a_plan_without_spills_keeps_all() -> None:
    plan = sp.plan(chain(), budget="MP")
    assert names(plan, "keep a", "keep x", "keep d", "A before D") == []
    assert names(plan, "spill a", "spill b", "D before A") == ["spill a", "D before A"]


def test_what_was_stored_and_loaded_was_not_kept() -> None:
    graph = chain("x:4 a:4 b:6 c:6 d:1")
    plan = sp.plan(graph, budget="MR")  # B or C alone fill the memory, so a leaves
    assert plan.claims.noncompulsory_bytes == 8
    assert names(plan, "keep a", "keep b", "spill a", "spill b") == ["keep a"]


def test_a_graph_input_that_comes_again_was_not_kept() -> None:
    tensors = {n: sp.Tensor(n, (4,), "input" if n == "x" else "activation") for n in "xabc"}
    tensors |= {"b": sp.Tensor("b", (9,)), "c": sp.Tensor("c", (2,))}
    ops = (
        sp.Operator("A", "any", ("x",), ("a",)),
        sp.Operator("B", "any", ("a",), ("b",)),
        sp.Operator("C", "any", ("b", "x"), ("c",)),
    )
    graph = sp.Graph("again", tensors, ops, ("x",), ("c",))
    kept, away = sp.plan(graph, budget=17), sp.plan(graph, budget=16)
    assert names(away, "keep x", "spill x") == ["keep x"]
    assert names(kept, "keep x", "spill x") == ["spill x"]


def test_operators_alone_are_split() -> None:
    plan = sp.plan(chain(), budget="MP")
    assert names(plan, "split A B", "fuse A B") == ["fuse A B"]


def test_groups_of_a_fused_program_are_found() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    plan = sp.plan(graph, "fusion", "96KiB", time_limit=5)
    groups: dict[str, set[str]] = {}
    for item in plan.program.instructions:
        if hasattr(item, "operator"):
            groups.setdefault(plan.program.steps[item.step].split()[0], set()).add(item.operator)
    order = [op.name for op in graph.operators]
    pairs = list(zip(order, order[1:], strict=False))
    fused = [f"fuse {a} {b}" for a, b in pairs if any({a, b} <= g for g in groups.values())]
    split = [f"split {a} {b}" for a, b in pairs if f"fuse {a} {b}" not in fused]
    assert fused
    assert split
    assert names(plan, *fused, *split) == []
    assert len(names(plan, *(w.replace("fuse", "split") for w in fused))) == len(fused)


@pytest.mark.parametrize(
    ("texts", "fine"),
    [
        (["keep a", "spill b"], True),
        (["keep a", "spill a"], False),
        (["A before B", "C before D"], True),
        (["B before A"], False),
        (["D before B"], False),
        (["fuse A B", "split B C"], True),
        (["fuse A B", "fuse B C", "split C A"], False),
        (["fuse A C", "split A B"], False),  # B lies between
        (["fuse A B", "fuse C D", "split A D"], True),
        (["fuse A B", "split A C", "split A D"], True),
    ],
)
def test_contradictions_are_found(texts: list[str], fine: bool) -> None:
    graph = chain()
    assert consistent(parse(texts, graph), graph) == fine


def test_a_conflict_names_a_minimal_set() -> None:
    graph = chain()
    wishes = parse(["keep b", "keep a", "A before D", "spill a", "spill c"], graph)
    with pytest.raises(WishesConflict) as found:
        require_consistent(wishes, graph, 100)
    assert found.value.wishes == ("keep a", "spill a")
    assert str(found.value) == (
        "infeasible at any budget: 'keep a' and 'spill a': contradict each other"
    )
    again = pickle.loads(pickle.dumps(found.value))
    assert (str(again), again.wishes) == (str(found.value), found.value.wishes)


def test_a_conflict_with_the_budget_says_what_is_needed() -> None:
    error = WishesConflict(("keep a",), 20, 16, "B", ("a", "b"))
    assert isinstance(error, sp.BudgetTooSmall)
    assert str(error) == (
        "infeasible: with 'keep a', operator 'B' (a, b) needs 20 bytes at once, "
        "the budget is 16, short by 4; without it the budget is enough"
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.need_bytes, again.wishes) == (str(error), 20, ("keep a",))


def test_the_deletion_filter_leaves_nothing_that_could_go() -> None:
    wishes = parse(["keep a", "keep b", "keep c", "keep d"], chain())
    weight = {"a": 3, "b": 1, "c": 4, "d": 2}

    def possible(some: object) -> bool:
        return sum(weight[wish.names[0]] for wish in some) <= 6  # type: ignore[attr-defined]

    least = minimal_conflict(wishes, possible)
    assert not possible(least)
    assert all(possible([other for other in least if other != wish]) for wish in least)
