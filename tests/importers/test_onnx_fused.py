"""Operators that compute several at once: shapes, types and MACs worked out by hand.

Many more beside onnxruntime and onnx's reference: `benchmarks/exporters.py`, *fused operators* and
*onnxruntime's optimiser*.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from planners.core.caveats import caveats

OWN, BLOCKS, NEW = "com.microsoft", "com.microsoft.nchwc", ""
F, U8, I8 = np.float32, np.uint8, np.int8
Sizes = dict[str, tuple[int, ...]]


def loaded(
    folder: Path,
    kind: str,
    names: str,
    gives: str,
    inputs: Sizes,
    weights: dict[str, Any],
    domain: str = OWN,
    types: dict[str, int] | None = None,
    **attributes: Any,
) -> sp.Graph:
    """The graph of one such node; `_` is an operand or a value that is left out."""
    held = {name: np.zeros(w, F) if isinstance(w, tuple) else w for name, w in weights.items()}
    node = helper.make_node(
        kind,
        [n.replace("_", "") for n in names.split()],
        [n.replace("_", "") for n in gives.split()],
        name="node",
        domain=domain,
        **attributes,
    )
    starts = [
        helper.make_tensor_value_info(name, (types or {}).get(name, TensorProto.FLOAT), size)
        for name, size in inputs.items()
    ]
    ends = [helper.make_empty_tensor_value_info(name) for name in gives.split() if name != "_"]
    graph = helper.make_graph(
        [node], "g", starts, ends, [numpy_helper.from_array(a, n) for n, a in held.items()]
    )
    sets = [helper.make_opsetid("", 28), *(helper.make_opsetid(d, 1) for d in (OWN, BLOCKS))]
    path = folder / "made.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=sets).SerializeToString())
    return sp.from_onnx(path)


CASES: dict[str, tuple[dict[str, Any], Sizes, int]] = {
    "a product with its second factor turned": (
        {"kind": "FusedMatMul", "names": "a b", "gives": "y", "transB": 1, "alpha": 0.5}
        | {"inputs": {"a": (2, 3, 4), "b": (2, 5, 4)}, "weights": {}},
        {"y": (2, 3, 5)},
        2 * 3 * 4 * 5,
    ),
    "the same with the batch behind the rows": (
        {"kind": "FusedMatMul", "names": "a b", "gives": "y", "transBatchA": 1, "transBatchB": 1}
        | {"inputs": {"a": (3, 2, 4), "b": (4, 2, 5)}, "weights": {}},
        {"y": (2, 3, 5)},
        2 * 3 * 4 * 5,
    ),
    "a sum and its norm": (
        {"kind": "SkipLayerNormalization", "names": "x s g", "gives": "y _ _ sum"}
        | {"inputs": {"x": (1, 3, 8), "s": (1, 3, 8)}, "weights": {"g": (8,)}},
        {"y": (1, 3, 8), "sum": (1, 3, 8)},
        0,
    ),
    "attention with its projections and a past": (
        {"kind": "Attention", "names": "x w b _ past", "gives": "y present", "num_heads": 2}
        | {"inputs": {"x": (1, 3, 5), "past": (2, 1, 2, 4, 6)}}
        | {"weights": {"w": (5, 36), "b": (36,)}},
        {"y": (1, 3, 12), "present": (2, 1, 2, 7, 6)},
        3 * 5 * 36 + 2 * 3 * 7 * 12,
    ),
    "attention of keys and values of other lengths": (
        {"kind": "MultiHeadAttention", "names": "q k v", "gives": "y", "num_heads": 2}
        | {"inputs": {"q": (1, 3, 8), "k": (1, 5, 8), "v": (1, 5, 12)}, "weights": {}},
        {"y": (1, 3, 12)},
        3 * 5 * (8 + 12),
    ),
    "grouped attention, a step": (
        {"kind": "GroupQueryAttention", "names": "q k v pk pv ends total", "gives": "y k1 v1"}
        | {
            "inputs": {"q": (1, 1, 32), "k": (1, 1, 8), "v": (1, 1, 8)}
            | dict.fromkeys(("pk", "pv"), (1, 1, 6, 8))
        }
        | {"weights": {"ends": np.array([6], np.int32), "total": np.int32(7)}}
        | {"num_heads": 4, "kv_num_heads": 1},
        {"y": (1, 1, 32), "k1": (1, 1, 7, 8), "v1": (1, 1, 7, 8)},
        2 * 4 * 7 * 8,
    ),
    "grouped attention, a step that the cache of a window takes in": (
        {"kind": "GroupQueryAttention", "names": "q k v pk pv ends total", "gives": "y k1 v1"}
        | {
            "inputs": {"q": (1, 1, 32), "k": (1, 1, 8), "v": (1, 1, 8)}
            | dict.fromkeys(("pk", "pv"), (1, 1, 6, 8))
        }
        | {"weights": {"ends": np.array([6], np.int32), "total": np.int32(7)}}
        | {"num_heads": 4, "kv_num_heads": 1, "local_window_size": 5, "sliding_window_cache": 1},
        {"y": (1, 1, 32), "k1": (1, 1, 6, 8), "v1": (1, 1, 6, 8)},
        2 * 4 * 6 * 8,
    ),
    "grouped attention with a past of two numbers in a byte": (
        {"kind": "GroupQueryAttention", "names": "q k v pk pv ends total _ _ _ _ _ sk sv"}
        | {"gives": "y k1 v1", "types": dict.fromkeys(("pk", "pv"), TensorProto.UINT8)}
        | {
            "inputs": {"q": (1, 1, 32), "k": (1, 1, 8), "v": (1, 1, 8)}
            | dict.fromkeys(("pk", "pv"), (1, 1, 6, 4))
        }
        | {
            "weights": {"ends": np.array([6], np.int32), "total": np.int32(7)}
            | dict.fromkeys(("sk", "sv"), np.ones(1, F))
        }
        | {"num_heads": 4, "kv_num_heads": 1, "kv_cache_bit_width": 4},
        {"y": (1, 1, 32), "k1": (1, 1, 7, 4), "v1": (1, 1, 7, 4)},
        2 * 4 * 7 * 8,
    ),
    "the standard attention with a past": (
        {"kind": "Attention", "names": "q k v _ pk pv", "gives": "y k1 v1", "domain": NEW}
        | {"inputs": dict.fromkeys("qkv", (1, 2, 3, 4)) | dict.fromkeys(("pk", "pv"), (1, 2, 5, 4))}
        | {"weights": {}},
        {"y": (1, 2, 3, 4), "k1": (1, 2, 8, 4), "v1": (1, 2, 8, 4)},
        2 * 3 * 8 * (4 + 4),
    ),
    "linear attention by the delta rule": (
        {"kind": "LinearAttention", "names": "q k v _ _ beta", "gives": "y state", "domain": NEW}
        | {"inputs": {"q": (1, 5, 12), "k": (1, 5, 6), "v": (1, 5, 8), "beta": (1, 5, 2)}}
        | {"weights": {}, "q_num_heads": 4, "kv_num_heads": 2, "update_rule": "delta"},
        {"y": (1, 5, 16), "state": (1, 2, 3, 4)},
        5 * (2 * 2 + 4) * 3 * 4,
    ),
    "a causal convolution": (
        {"kind": "CausalConvWithState", "names": "x w _ past", "gives": "y state", "domain": NEW}
        | {"inputs": {"x": (1, 4, 6), "past": (1, 4, 2)}, "weights": {"w": (4, 1, 3)}},
        {"y": (1, 4, 6), "state": (1, 4, 2)},
        4 * 6 * 3,
    ),
    "a gate": (
        {"kind": "SwiGLU", "names": "a b", "gives": "y", "domain": NEW}
        | {"inputs": {"a": (2, 3), "b": (2, 3)}, "weights": {}},
        {"y": (2, 3)},
        0,
    ),
    "layers of experts, two a row": (
        {"kind": "MoE", "names": "x r w1 _ w2", "gives": "y", "k": 2}
        | {"inputs": {"x": (1, 3, 8), "r": (3, 4)}}
        | {"weights": {"w1": (4, 10, 8), "w2": (4, 8, 10)}},
        {"y": (1, 3, 8)},
        3 * 2 * (10 * 8 + 8 * 10),
    ),
    "the same in four bits": (
        {"kind": "QMoE", "names": "x r w1 s1 _ w2 s2", "gives": "y", "k": 1}
        | {"inputs": {"x": (3, 8), "r": (3, 4)}, "expert_weight_bits": 4}
        | {
            "weights": {"s1": (4, 10), "s2": (4, 8)}
            | {"w1": np.zeros((4, 10, 4), U8), "w2": np.zeros((4, 8, 5), U8)}
        },
        {"y": (3, 8)},
        3 * (10 * 8 + 8 * 10),
    ),
    "rows of a table of four bits": (
        {"kind": "GatherBlockQuantized", "names": "w i s", "gives": "y", "bits": 4}
        | {"inputs": {"i": (2, 3)}, "types": {"i": TensorProto.INT64}}
        | {"weights": {"w": np.zeros((9, 16), U8), "s": (9, 2)}},
        {"y": (2, 3, 32)},
        0,
    ),
    "an image in blocks of channels": (
        {"kind": "Conv", "names": "x w", "gives": "y", "domain": BLOCKS, "kernel_shape": [3, 3]}
        | {"inputs": {"x": (1, 3, 8, 8)}, "weights": {"w": (16, 3, 3, 3)}},
        {"y": (1, 16, 6, 6)},
        16 * 6 * 6 * 27,
    ),
    "and out of them": (
        {"kind": "ReorderOutput", "names": "x", "gives": "y", "domain": BLOCKS, "channels": 12}
        | {"inputs": {"x": (1, 16, 6, 6)}, "weights": {}},
        {"y": (1, 12, 6, 6)},
        0,
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_shapes_and_macs(tmp_path: Path, what: str) -> None:
    given, sizes, macs = CASES[what]
    graph = loaded(tmp_path, **given)
    assert {name: graph.tensors[name].shape for name in sizes} == sizes
    assert graph.macs == macs
    assert not graph.source.get("opaque")
    assert not caveats(graph).lines()


def test_sixteen_bits_before_the_standard_has_them(tmp_path: Path) -> None:
    """As onnxruntime's quantiser writes them for operator sets below 21."""
    weights = {"s": F(0.1), "z": np.uint16(0)}
    graph = loaded(tmp_path, "QuantizeLinear", "x s z", "y", {"x": (1, 4)}, weights)
    assert (graph.operators[0].kind, graph.tensors["y"].dtype) == ("quantize", "uint16")


def test_a_product_with_a_turned_weight_is_a_linear_layer(tmp_path: Path) -> None:
    graph = loaded(tmp_path, "FusedMatMul", "a w", "y", {"a": (2, 4)}, {"w": (5, 4)}, transB=1)
    assert [(op.kind, op.macs, op.parameters) for op in graph.operators] == [("linear", 40, ("w",))]


def test_a_product_of_a_map_with_itself_reads_all_of_it(tmp_path: Path) -> None:
    for given in ({}, {"transB": 1}):
        graph = loaded(tmp_path, "FusedMatMul", "a a", "y", {"a": (4, 4)}, {}, **given)
        assert [(op.macs, op.inputs) for op in graph.operators] == [(64, ("a",))]


def test_rows_of_a_sum_are_normalised_by_themselves(tmp_path: Path) -> None:
    """What is added is read by the same rows, so that such operators fuse with those around."""
    sizes = {"x": (4, 3, 8), "s": (4, 3, 8)}
    graph = loaded(tmp_path, "SkipLayerNormalization", "x s g", "y", sizes, {"g": (8,)})
    (op,) = graph.operators
    assert [part.relation for part in op.parts or (op,)] == [("along", 2)]


def test_a_convolution_with_channels_last_is_one(tmp_path: Path) -> None:
    weights = {"s": F(0.1), "z": U8(0), "w": np.zeros((6, 4, 3, 3), I8), "o": I8(0)}
    graph = loaded(
        tmp_path,
        "QLinearConv",
        "x s z w s o s z",
        "y",
        {"x": (1, 8, 7, 4)},
        weights,
        types={"x": TensorProto.UINT8},
        channels_last=1,
    )
    (op,) = graph.operators
    assert (op.kind, op.macs, op.kernel) == ("conv2d", 6 * 5 * 6 * 4 * 9, (3, 3))
    assert graph.size_bytes(op.outputs[0]) == 6 * 6 * 5


def test_blocks_are_as_wide_as_what_reads_them(tmp_path: Path) -> None:
    """Three channels filled up to eight, for a convolution of eight."""
    nodes = [
        helper.make_node("ReorderInput", ["x"], ["b"], domain=BLOCKS),
        helper.make_node("Conv", ["b", "w"], ["y"], domain=BLOCKS, kernel_shape=[1, 1]),
    ]
    start = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 4, 4))
    weight = numpy_helper.from_array(np.zeros((16, 8, 1, 1), F), "w")
    end = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph(nodes, "g", [start], [end], [weight])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(BLOCKS, 1)]
    path = tmp_path / "blocks.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=sets).SerializeToString())
    read = sp.from_onnx(path)
    assert (read.tensors["b"].shape, read.macs) == ((1, 8, 4, 4), 16 * 8 * 16)


@pytest.mark.parametrize(
    ("kind", "names", "inputs", "attributes"),
    [
        ("FusedMatMul", "a b", {"a": (2, 3), "b": (4, 5)}, {}),
        ("MultiHeadAttention", "q k v", dict.fromkeys("qkv", (1, 3, 8)), {"num_heads": 0}),
        ("GroupQueryAttention", "q k v", dict.fromkeys("qkv", (1, 3, 8)), {"num_heads": 2}),
        ("SkipLayerNormalization", "x s g", {"x": (), "s": (), "g": ()}, {}),
        ("GatherBlockQuantized", "w i", {"w": (3, 4), "i": (2,)}, {"bits": 0}),
        ("QLinearConv", "x", {"x": (1, 4, 4, 3)}, {"channels_last": 1}),
        ("NhwcMaxPool", "x", {"x": ()}, {}),
    ],
)
def test_operands_that_do_not_suit_are_refused_by_name(
    tmp_path: Path, kind: str, names: str, inputs: Sizes, attributes: dict[str, Any]
) -> None:
    types = {"w": TensorProto.UINT8}
    with pytest.raises(sp.BadInput, match=rf"made\.onnx: node 'node' \({kind}\)"):
        loaded(tmp_path, kind, names, "y", inputs, {}, types=types, **attributes)
