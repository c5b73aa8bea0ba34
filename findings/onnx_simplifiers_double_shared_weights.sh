#!/usr/bin/env bash
# onnx 1.23.2, onnxsim 0.8.1, onnxslim 0.1.98
# A convolution's weights that two places of a model use (as in a recurrent or a siamese network), each with
# its own batch normalisation, are written twice by both simplifiers: 9728 bytes become 18560. They
# fold each normalisation into a copy of the weights and never ask whether that is worth it. Two nodes less,
# the same results, and nearly twice the flash.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxsim==0.8.1 onnxslim==0.1.98
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import numpy as np
import onnx
import onnxsim
import onnxslim
from onnx import TensorProto, helper, numpy_helper

chance = np.random.default_rng(0)
constants = [numpy_helper.from_array(chance.standard_normal((16, 16, 3, 3)).astype(np.float32), "w")]
nodes, at = [], "x"
for step in "12":
    names = [step + part for part in ("scale", "shift", "mean", "variance")]
    constants += [numpy_helper.from_array(chance.random(16).astype(np.float32) + 0.5, name) for name in names]
    nodes.append(helper.make_node("Conv", [at, "w"], ["c" + step], kernel_shape=[3, 3], pads=[1] * 4))
    at = "y" if step == "2" else "n" + step
    nodes.append(helper.make_node("BatchNormalization", ["c" + step, *names], [at]))
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 8, 8]) for name in "xy")
graph = helper.make_graph(nodes, "g", [x], [y], constants)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.checker.check_model(model)
for name, made in (("given", model), ("onnxsim", onnxsim.simplify(model)[0]), ("onnxslim", onnxslim.slim(model))):
    held = sum(numpy_helper.to_array(constant).nbytes for constant in made.graph.initializer)
    print(name, [node.op_type for node in made.graph.node], held)
PYTHON
diff "$folder/seen" - <<'SEEN'
given ['Conv', 'BatchNormalization', 'Conv', 'BatchNormalization'] 9728
onnxsim ['Conv', 'Conv'] 18560
onnxslim ['Conv', 'Conv'] 18560
SEEN
echo "as it was seen"
