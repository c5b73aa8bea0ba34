#!/usr/bin/env bash
# onnx 1.23.2, onnxconverter-common 1.16.0
# A model that enlarges an image needs more memory at a time after convert_float_to_float16 than
# before: 393216 bytes in place of 327680. The converter leaves Resize in float32 (it is on the default
# list of those) with a conversion on either side, so that the large tensor is there in both types at
# once. All else takes half; the file is half as large; the peak is a fifth higher.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxconverter-common==1.16.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxconverter_common import float16


def alive(model):
    """The bytes at each node: what it makes and what it or a later one reads."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    sizes = {}
    for value in [*graph.input, *graph.output, *graph.value_info]:
        kind = value.type.tensor_type
        bytes_each = helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
        sizes[value.name] = bytes_each * math.prod(axis.dim_value for axis in kind.shape.dim)
    found = []
    for at, node in enumerate(graph.node):
        made = {name for before in graph.node[: at + 1] for name in before.output} | {"x"}
        read = {name for after in graph.node[at:] for name in after.input} | {"y"}
        found.append((node.op_type, sum(sizes[name] for name in made & (read | set(node.output)))))
    return found


constants = [
    numpy_helper.from_array(np.ones((16, 4, 3, 3), np.float32), "w1"),
    numpy_helper.from_array(np.ones((1, 16, 1, 1), np.float32), "w2"),
    numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "twice"),
]
graph = helper.make_graph(
    [
        helper.make_node("Conv", ["x", "w1"], ["a"], kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Resize", ["a", "", "twice"], ["b"], mode="nearest"),
        helper.make_node("Conv", ["b", "w2"], ["y"], kernel_shape=[1, 1]),
    ],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 32, 32])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 64, 64])],
    constants,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
for name, made in (("float32", model), ("float16", float16.convert_float_to_float16(model))):
    onnx.checker.check_model(made)
    found = alive(made)
    print(name, max(size for _, size in found), *found)
PYTHON
diff "$folder/seen" - <<'SEEN'
float32 327680 ('Conv', 81920) ('Resize', 327680) ('Conv', 278528)
float16 393216 ('Conv', 40960) ('Cast', 98304) ('Resize', 327680) ('Cast', 393216) ('Conv', 139264)
SEEN
echo "as it was seen"
