#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# STFT's schema says that `onesided` is 1 where it is left out: half of the spectrum of real numbers.
# onnx's own shape inference takes it for 0 there, and has all of it; onnx's reference and onnxruntime
# give the half. A file without value infos, as exporters of mel front ends write it, has a product
# behind its spectrum that does not fit by inference, and runs: strict inference refuses it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)
print("by the schema:", onnx.defs.get_schema("STFT", 17).attributes["onesided"].default_value.i)
signal = np.random.default_rng(0).standard_normal((1, 1600, 1)).astype(np.float32)
for given in ({}, {"onesided": 1}):
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"], **given)
    held = [
        numpy_helper.from_array(np.array(160, np.int64), "step"),
        numpy_helper.from_array(np.ones(400, np.float32), "window"),
    ]
    start = helper.make_tensor_value_info("x", TensorProto.FLOAT, signal.shape)
    end = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "spectrum", [start], [end], held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    dims = onnx.shape_inference.infer_shapes(made).graph.output[0].type.tensor_type.shape.dim
    inferred = tuple(axis.dim_value for axis in dims)
    (right,) = ReferenceEvaluator(made).run(None, {"x": signal})
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"x": signal})
    print(given or "nothing said", "inferred", inferred, "reference", right.shape, "run", found.shape)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN' && echo "as it was seen"
by the schema: 1
nothing said inferred (1, 8, 400, 2) reference (1, 8, 201, 2) run (1, 8, 201, 2)
{'onesided': 1} inferred (1, 8, 201, 2) reference (1, 8, 201, 2) run (1, 8, 201, 2)
SEEN
