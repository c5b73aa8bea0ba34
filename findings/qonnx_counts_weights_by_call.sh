#!/usr/bin/env bash
# qonnx 1.0.0, onnx 1.23.2
# inference_cost counts the weights that a model needs by its nodes: those of one convolution that is called
# three times are 1728 elements of the 576 that are there; and of a bias and of a large addend it counts
# none, while "unsupported" stays empty, so that nothing seems to have been left out. Of a
# table of 8000 elements of which rows are taken it counts none either, and says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q qonnx==1.0.0 onnx==1.23.2 numpy==2.2.6
"$folder/venv/bin/python" -W ignore - >"$folder/seen" 2>"$folder/log" <<'PYTHON'
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from qonnx.core.datatype import DataType
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.util.inference_cost import inference_cost

MAP = [1, 8, 16, 16]
SHAPES = {"weight": [8, 8, 3, 3], "bias": [8], "table": [1000, 8], "addend": MAP}


def convolution(read, written):
    return helper.make_node("Conv", [*read, "weight"], [written], kernel_shape=[3, 3], pads=[1] * 4)


with_bias = convolution(["x"], "y")
with_bias.input.append("bias")
models = {
    "a convolution": [convolution(["x"], "y")],
    "the same with a bias": [with_bias],
    "the first, three times": [convolution(["x"], "a"), convolution(["a"], "b"), convolution(["b"], "y")],
    "an addend": [helper.make_node("Add", ["x", "addend"], ["y"])],
    "a table": [helper.make_node("Gather", ["table", "row"], ["y"])],
}
for name, nodes in models.items():
    read = {value for node in nodes for value in node.input}
    weights = {value: SHAPES[value] for value in SHAPES if value in read}
    constants = [numpy_helper.from_array(np.ones(shape, np.float32), value) for value, shape in weights.items()]
    is_table = "row" in read
    x = ("row", TensorProto.INT64, [1]) if is_table else ("x", TensorProto.FLOAT, MAP)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8] if is_table else MAP)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*x)], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    onnx.checker.check_model(model)
    wrapped = ModelWrapper(model)
    for value in weights:
        wrapped.set_tensor_datatype(value, DataType["INT4"])
    cost = inference_cost(wrapped, discount_sparsity=False)["total_cost"]
    there = sum(int(np.prod(shape)) for shape in weights.values())
    print(
        f"{name}: {cost['total_mem_w_elems']:.0f} of {there} elements,",
        f"{cost['total_mem_w_bits']:.0f} bits, unsupported: {cost['unsupported']}",
    )
PYTHON
grep elements "$folder/seen" | diff - <(cat <<'SEEN'
a convolution: 576 of 576 elements, 2304 bits, unsupported: set()
the same with a bias: 576 of 584 elements, 2304 bits, unsupported: set()
the first, three times: 1728 of 576 elements, 6912 bits, unsupported: set()
an addend: 0 of 2048 elements, 0 bits, unsupported: set()
a table: 0 of 8000 elements, 0 bits, unsupported: {'Gather'}
SEEN
)
echo "as it was seen"
