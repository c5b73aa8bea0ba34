#!/usr/bin/env bash
# onnx-tool 1.0.1, onnx 1.23.2
# compress_memory plans two squeeze-and-excitation blocks on maps of 32 KiB in the room of four maps,
# and the same network on maps of 2 MiB in the room of three; two and the few averages are enough for
# either. A hole is split only where more than one mebibyte would be left over, so that in a network
# with small maps an average of 32 bytes takes the room of a map. Where holes are split, the plan that
# is returned no longer says what the first tensor there had: 64 bytes for an input of 2 MiB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx-tool==1.0.1 onnx==1.23.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import numpy as np
import onnx
import onnx_tool
from onnx import TensorProto, helper, numpy_helper

layers = [
    ("Conv", ["x", "w"], "a"),
    ("GlobalAveragePool", ["a"], "b"),
    ("Conv", ["b", "w"], "c"),
    ("Sigmoid", ["c"], "d"),
    ("Mul", ["a", "d"], "e"),
    ("Conv", ["e", "w"], "f"),
    ("GlobalAveragePool", ["f"], "g"),
    ("Conv", ["g", "w"], "h"),
    ("Sigmoid", ["h"], "i"),
    ("Mul", ["f", "i"], "j"),
    ("Conv", ["j", "w"], "y"),
]
for side in (32, 64, 128, 256):
    graph = helper.make_graph(
        [helper.make_node(kind, read, [written]) for kind, read, written in layers],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, side, side])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, side, side])],
        [numpy_helper.from_array(np.ones((8, 8, 1, 1), np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    planned = onnx_tool.Model(model).graph
    planned.shape_infer(None)
    blocks, total = planned.compress_memory()
    map_bytes = 4 * 8 * side * side
    at, size = blocks["x"]
    average = blocks["b"][1]
    print(f"maps of {map_bytes}: {total}, {total / map_bytes:.2f} maps; x has {size}, an average {average}")
PYTHON
grep maps "$folder/seen" | diff - <(cat <<'SEEN'
maps of 32768: 131072, 4.00 maps; x has 32768, an average 32768
maps of 131072: 524288, 4.00 maps; x has 131072, an average 131072
maps of 524288: 2097152, 4.00 maps; x has 524288, an average 524288
maps of 2097152: 6291456, 3.00 maps; x has 64, an average 64
SEEN
)
echo "as it was seen"
