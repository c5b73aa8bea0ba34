"""Views, batch norm and activations at the three granularities."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from planners.core.errors import BadInput
from planners.core.graph import Graph, Tensor
from planners.importers.passes import GRANULARITIES, Call, CallTrace, to_graph
from tests.importers.traces import SHAPE, call, meaning, run, traces


def graph(*calls: Call, outputs: str, granularity: str = "fused") -> Graph:
    inputs, weights = (Tensor("x", SHAPE, "input"),), (Tensor("w", (4,), "parameter"),)
    trace = CallTrace("net", inputs, weights, calls, tuple(outputs.split()))
    return to_graph(trace, granularity)  # type: ignore[arg-type]


def operators(found: Graph) -> list[tuple[str, str]]:
    return [(op.kind, " ".join(part.kind for part in op.parts)) for op in found.operators]


BLOCK = (
    call("conv", "conv2d", "x", "w"),
    call("norm", "batch_norm", "conv", "w"),
    call("act", "relu", "norm", unary=True),
)


def test_a_block_is_three_operators_or_two_or_one() -> None:
    kinds = {g: operators(graph(*BLOCK, outputs="act", granularity=g)) for g in GRANULARITIES}
    assert [kind for kind, _ in kinds["aten"]] == ["conv2d", "batch_norm", "relu"]
    assert kinds["folded"] == [("conv2d", "conv2d batch_norm"), ("relu", "relu")]
    assert kinds["fused"] == [("conv2d", "conv2d batch_norm relu")]


def test_what_someone_else_reads_stays_stored() -> None:
    found = graph(*BLOCK, call("sum", "add", "act", "conv"), outputs="sum")
    assert operators(found) == [
        ("conv2d", "conv2d"),
        ("batch_norm", "batch_norm relu"),
        ("add",) * 2,
    ]
    found = graph(*BLOCK, outputs="norm act")
    assert operators(found) == [("conv2d", "conv2d batch_norm"), ("relu", "relu")]


def test_an_activation_that_comes_first_goes_into_its_only_reader() -> None:
    calls = (
        call("a", "conv2d", "x", "w"),
        call("pre", "relu", "a", unary=True),
        call("b", "conv2d", "pre", "w"),
        call("c", "add", "b", "a"),
    )
    found = graph(*calls, outputs="c")
    assert operators(found) == [("conv2d", "conv2d"), ("conv2d", "relu conv2d"), ("add", "add")]
    assert found.operators[1].inputs == ("a",)
    assert found.operators[1].name == "b"


def test_a_view_is_run_again_by_each_reader() -> None:
    calls = (
        call("a", "conv2d", "x", "w"),
        call("v", "view", "a", view=True),
        call("b", "add", "v", "x"),
        call("c", "add", "b", "v"),
    )
    found = graph(*calls, outputs="c v", granularity="folded")
    assert operators(found) == [("conv2d", "conv2d"), ("add", "view add"), ("add", "view add")]
    assert found.outputs == ("c", "a")
    assert "v" not in found.tensors
    assert "v" in graph(*calls, outputs="c", granularity="aten").tensors


def test_an_activation_of_a_part_stays_an_operator() -> None:
    calls = (
        call("a", "conv2d", "x", "w"),
        call("half", "slice", "a", tensor=Tensor("half", (1, 2, 6, 6)), view=True),
        call("b", "relu", "half", tensor=Tensor("b", (1, 2, 6, 6)), unary=True),
    )
    assert operators(graph(*calls, outputs="b")) == [("conv2d", "conv2d"), ("relu", "slice relu")]


def test_a_constant_is_part_of_every_reader_with_its_parameters() -> None:
    calls = (
        call("k", "expand", "w", view=True),
        call("a", "add", "x", "k"),
        call("b", "mul", "a", "k"),
    )
    for granularity in GRANULARITIES:
        found = graph(*calls, outputs="b k", granularity=granularity)
        assert operators(found) == [("add", "expand add"), ("mul", "expand mul")]
        assert [op.parameters for op in found.operators] == [("w",), ("w",)]
        assert found.outputs == ("b",)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@given(trace=traces())
def test_operators_compute_what_the_trace_does(granularity: str, trace: CallTrace) -> None:
    found = to_graph(trace, granularity)  # type: ignore[arg-type]
    means, stored = meaning(trace), run(found, trace)
    assert stored == {name: means[name] for name in stored}
    assert set(found.outputs) <= stored.keys()
    assert Graph.from_json(json.loads(json.dumps(found.to_json()))) == found


@given(trace=traces())
def test_coarser_granularities_store_no_more(trace: CallTrace) -> None:
    aten, folded, fused = (set(to_graph(trace, g).producer) for g in GRANULARITIES)  # type: ignore
    assert fused <= folded <= aten


def test_a_network_that_is_cut_off_is_refused() -> None:
    with pytest.raises(BadInput, match="its inputs reach no operator whose value is returned"):
        graph(*BLOCK, outputs="")


def test_unknown_granularity() -> None:
    with pytest.raises(BadInput, match="'coarse' is not one of aten, folded, fused"):
        graph(*BLOCK, outputs="act", granularity="coarse")
