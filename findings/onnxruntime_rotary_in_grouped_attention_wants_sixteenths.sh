#!/usr/bin/env bash
# onnxruntime 1.32.0, the CPU's `GroupQueryAttention` (com.microsoft), which its exporters of
# language models write for every decoder.
#
# Guessed: what a head may be in size does not depend on whether the operator also turns its vectors
# (`do_rotary`), for the turning pairs two numbers. Seen: without it any multiple of 8 runs; with it
# only multiples of 16. Nothing says so before: the checker, shape inference and the session take the
# file with heads of 8 or 24, and the run ends in an error. The same vectors, turned by
# `RotaryEmbedding` in front of an attention that turns nothing, run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -q onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > heads.py <<'PY'
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

ort.set_default_logger_severity(4)
OWN, LENGTH = "com.microsoft", 3


def model(size, turn):
    """Two heads that share one of keys and values; turned by nobody, by it, or in front of it."""
    widths = {"q": 2 * size, "k": size, "v": size}
    inputs = [helper.make_tensor_value_info(n, 1, [1, LENGTH, w]) for n, w in widths.items()]
    inputs += [helper.make_tensor_value_info(n, 1, [1, 1, 0, size]) for n in ("pk", "pv")]
    half = size // 2
    held = [
        helper.make_tensor("last", TensorProto.INT32, [1], [LENGTH - 1]),
        helper.make_tensor("total", TensorProto.INT32, [], [LENGTH]),
        helper.make_tensor("first", TensorProto.INT64, [1], [0]),
        helper.make_tensor("cos", 1, [16, half], [1.0] * 16 * half),
        helper.make_tensor("sin", 1, [16, half], [0.0] * 16 * half),
    ]
    nodes, read = [], ["q", "k", "v", "pk", "pv", "last", "total"]
    if turn == "in front":
        for name, heads in (("q", 2), ("k", 1)):
            operands = [name, "first", "cos", "sin"]
            nodes.append(
                helper.make_node(
                    "RotaryEmbedding", operands, [f"{name}t"], domain=OWN,
                    num_heads=heads, rotary_embedding_dim=0,
                )
            )
        read[:2] = ["qt", "kt"]
    elif turn == "inside":
        read += ["cos", "sin"]
    gives = ["y", "keys", "values"]
    nodes.append(
        helper.make_node(
            "GroupQueryAttention", read, gives, domain=OWN, num_heads=2, kv_num_heads=1,
            do_rotary=int(turn == "inside"),
        )
    )
    shapes = ([1, LENGTH, 2 * size], *[[1, 1, LENGTH, size]] * 2)
    ends = [helper.make_tensor_value_info(n, 1, s) for n, s in zip(gives, shapes, strict=True)]
    graph = helper.make_graph(nodes, "g", inputs, ends, held)
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(OWN, 1)]
    made = helper.make_model(graph, opset_imports=sets, ir_version=10)
    onnx.checker.check_model(made)
    onnx.shape_inference.infer_shapes(made, strict_mode=True)
    return made, inputs


for size in (8, 16, 24, 32):
    told = []
    for turn in ("by nobody", "in front", "inside"):
        made, inputs = model(size, turn)
        session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in inputs}
        feeds = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
        try:
            told.append(f"{turn}: {session.run(None, feeds)[0].shape}")
        except Exception as error:
            told.append(f"{turn}: {str(error).rsplit('Message: ', 1)[-1].strip()}")
    print(size, *told, sep=" | ")
PY
env/bin/python heads.py | tee seen.txt
diff - seen.txt <<'SEEN'
8 | by nobody: (1, 3, 16) | in front: (1, 3, 16) | inside: head_size shall be a multiple of 16. Got head_size % 16 == 8
16 | by nobody: (1, 3, 32) | in front: (1, 3, 32) | inside: (1, 3, 32)
24 | by nobody: (1, 3, 48) | in front: (1, 3, 48) | inside: head_size shall be a multiple of 16. Got head_size % 16 == 8
32 | by nobody: (1, 3, 64) | in front: (1, 3, 64) | inside: (1, 3, 64)
SEEN
echo "as it was seen"
