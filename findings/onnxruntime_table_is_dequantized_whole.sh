#!/usr/bin/env bash
# onnxruntime 1.32.0, onnx 1.23.2
# A table of int8 behind DequantizeLinear, of which Gather reads four rows, becomes floats whole in each
# run: 256000 bytes for 1024 that are read, at every level of optimisation. So does a convolution's
# weight whose map is of floats, which is 1152 bytes here, and a weight that two operators read. A
# product of matrices and a convolution between quantised maps have kernels for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
cd "$folder"
venv/bin/python - >seen <<'PYTHON'
import json

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ort.set_default_logger_severity(3)
node = helper.make_node
shapes = {"t_q": (1000, 64), "c_q": (8, 4, 3, 3), "w_q": (64, 32)}
held = [numpy_helper.from_array(np.ones(shape, np.int8), name) for name, shape in shapes.items()]
held += [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.int8(0), "z")]


def floats(name):
    return node("DequantizeLinear", [f"{name}_q", "s", "z"], [name])


def run(title, nodes, given, level=99):
    code = TensorProto.INT64 if given.dtype == np.int64 else TensorProto.FLOAT
    read = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", code, given.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [tensor for tensor in held if tensor.name in read],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel(level)
    options.enable_profiling = True
    providers = ["CPUExecutionProvider"]
    session = ort.InferenceSession(model.SerializeToString(), options, providers=providers)
    session.run(None, {"x": given})
    with open(session.end_profiling()) as file:
        ran = [event["args"] for event in json.load(file) if "kernel_time" in event["name"]]
    whole = [each for each in ran if each["op_name"] == "DequantizeLinear" and int(each["parameter_size"]) > 100]
    print(title, [int(each["output_size"]) for each in whole])


rows, map_, vector = np.arange(4), np.ones((1, 4, 8, 8), np.float32), np.ones((2, 64), np.float32)
quantise = [node("QuantizeLinear", ["x", "s", "z"], ["xq"]), node("DequantizeLinear", ["xq", "s", "z"], ["d"])]
give = [node("QuantizeLinear", ["o", "s", "z"], ["oq"]), node("DequantizeLinear", ["oq", "s", "z"], ["y"])]
for level in (0, 1, 2, 99):
    run(f"four rows of a table, level {level}:", [floats("t"), node("Gather", ["t", "x"], ["y"])], rows, level)
run("convolution of floats:", [floats("c"), node("Conv", ["x", "c"], ["y"])], map_)
run("convolution of whole numbers:", [*quantise, floats("c"), node("Conv", ["d", "c"], ["o"]), *give], map_)
run("product:", [floats("w"), node("MatMul", ["x", "w"], ["y"])], vector)
more = [node("ReduceSum", ["w"], ["t"], keepdims=0), node("Add", ["a", "t"], ["y"])]
run("product, and another reader:", [floats("w"), node("MatMul", ["x", "w"], ["a"]), *more], vector)
PYTHON
diff seen - <<'SEEN'
four rows of a table, level 0: [256000]
four rows of a table, level 1: [256000]
four rows of a table, level 2: [256000]
four rows of a table, level 99: [256000]
convolution of floats: [1152]
convolution of whole numbers: []
product: []
product, and another reader: [8192, 8192]
SEEN
echo "as it was seen"
