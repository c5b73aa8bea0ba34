"""What a tap tells: facts of the source, and what the plan does with them."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.names import path_of, shortened, tensor_path
from app.kinds.facts import operator_facts, steps_text, tensor_facts, transfers, window
from app.model.state import operator_selection, tensor_selection
from app.views.panels.tables import detail_rows, story_rows
from planners.core.program import Load, Store


@pytest.fixture(scope="module")
def spilled() -> DisplayedPlan:
    """A plan that moves tensors for want of memory."""
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    plan = sp.plan(graph, planner="cosma", budget="MR", schedule="default")
    return show(json.dumps(plan.to_json()))


def test_an_operator_tells_its_module_shapes_window_and_when_it_runs(
    spilled: DisplayedPlan,
) -> None:
    graph = spilled.graph
    first = next(op for op in graph.operators if op.kernel and op.stride and op.stride[0] == 2)
    told = [row["text"] for row in detail_rows(spilled, operator_selection(first.name))]
    assert told[0] == f"{first.name}: {first.kind}"
    assert any(first.block in text for text in told)
    assert any("→" in text and "×" in text for text in told)
    assert window(first) in told
    assert any(text.startswith("runs in step") for text in told)
    assert any(text == "bound by steps of the array that are not full" for text in told)
    rows = operator_facts(spilled, first.name)
    size = sum(map(graph.size_bytes, (*first.inputs, *first.parameters, *first.outputs)))
    assert [f"{first.macs / size:.3g} MAC/B"] in [row["cells"] for row in rows]


def test_a_tensor_tells_who_makes_and_reads_it_when_and_how_often_it_moved(
    spilled: DisplayedPlan,
) -> None:
    graph = spilled.graph
    for name in graph.tensors:
        moves = [i for i in spilled.plan.program.instructions if isinstance(i, Load | Store)]
        mine = [i for i in moves if i.piece.tensor == name]
        loads, stores, seconds = transfers(spilled, name)
        assert loads == sum(isinstance(i, Load) for i in mine), name
        assert stores == len(mine) - loads
        assert (seconds > 0) == bool(mine)
    name = graph.inputs[0]
    told = [row["text"] for row in tensor_facts(spilled, name)]
    assert told[-1].startswith("moves 1× in, ")
    middle = graph.operators[3].outputs[0]
    when = detail_rows(spilled, tensor_selection(middle))
    assert any(row["text"].startswith("written in step") for row in when)


def test_names_are_paths_shortened_in_the_middle(spilled: DisplayedPlan) -> None:
    graph = spilled.graph
    operator = next(op for op in graph.operators if op.block)
    assert path_of(graph, operator.name) == f"{operator.block} · {operator.kind}"
    assert tensor_path(graph, operator.outputs[0]) == path_of(graph, operator.name)
    assert tensor_path(graph, graph.inputs[0]) == graph.inputs[0]
    assert shortened("encoder.layers.7.mlp.linear", 40) == "encoder.layers.7.mlp.linear"
    for most in range(3, 27):
        short = shortened("encoder.layers.7.mlp.linear", most)
        assert len(short) == most
        assert short[0] == "e"
        assert short[-1] == "r"


def test_steps_are_counted_from_one_and_neighbours_joined() -> None:
    assert steps_text([]) == "no step"
    assert steps_text([0]) == "step 1"
    assert steps_text([0, 1, 2, 7]) == "steps 1–3, 8"
    assert steps_text(range(0, 40, 2)) == "steps 1, 3, 5, 7, 9, 11 and 14 more"


def test_a_tensor_that_leaves_says_why_at_once() -> None:
    graph = sp.load("resnet18", input_shape=(1, 3, 64, 64))
    plan = sp.plan(graph, "cosma", "MR", parameters=True, schedule="default")
    shown = show(json.dumps(plan.to_json()))
    left = [name for name, moved in shown.moved_bytes.items() if moved]
    assert left
    for gone in left:
        told = detail_rows(shown, tensor_selection(gone))
        assert told[0]["text"].startswith(f"{gone}: ")
        when, why = told[1]["text"].split(": ", 1)
        said = story_rows(shown, int(when.removeprefix("step ")) - 1)
        assert why in [row["text"] for row in said if row["mark"] == "▲"]
        assert "short of keeping" in why


def test_a_tensor_that_stays_for_long_before_it_leaves_says_why() -> None:
    """x waits on chip for twenty steps, and makes room for the one that needs all."""
    chain = [f"t{k}" for k in range(20)]
    sizes = {"x": 40, **dict.fromkeys(chain, 20), "wide": 100, "thin": 20, "end": 20}
    tensors = {"in": sp.Tensor("in", (4,), "input")}
    tensors |= {name: sp.Tensor(name, (size,)) for name, size in sizes.items()}
    wires: dict[str, tuple[str, ...]] = {"x": ("in",)}
    wires |= {made: (read,) for read, made in pairwise(["in", *chain, "wide", "thin"])}
    wires["end"] = ("thin", "x")
    ops = tuple(sp.Operator(f"op_{made}", "any", reads, (made,)) for made, reads in wires.items())
    graph = sp.Graph("long", tensors, ops, ("in",), ("end",))
    shown = show(json.dumps(sp.plan(graph, "cosma", 150, schedule="default").to_json()))
    assert "x (40 B) was spilled" in detail_rows(shown, tensor_selection("x"))[1]["text"]
