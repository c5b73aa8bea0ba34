#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# A ConvTranspose with auto_pad SAME_UPPER and output_padding has another size in onnx's shape
# inference than when onnxruntime runs it: 17 and 16 for eight elements at stride 2. Inference adds
# the output padding to stride x size; the runtime takes stride x size for all there is. Both accept
# the model, so sizes that a tool takes from inference are not those of the tensors at run time.
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

given = {"auto_pad": "SAME_UPPER", "strides": [2], "output_padding": [1]}
value = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("ConvTranspose", ["x", "w"], ["y"], **given)],
    "g",
    [value("x", TensorProto.FLOAT, [1, 1, 8])],
    [value("y", TensorProto.FLOAT, None)],
    [numpy_helper.from_array(np.ones((1, 1, 3), np.float32), "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
axes = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
print("onnx infers", [axis.dim_value for axis in axes])
onnxruntime.set_default_logger_severity(4)
session = onnxruntime.InferenceSession(model.SerializeToString())
found = session.run(None, {"x": np.ones((1, 1, 8), np.float32)})[0]
print("onnxruntime gives", list(found.shape))
PYTHON
diff "$folder/seen" - <<'SEEN'
onnx infers [1, 1, 17]
onnxruntime gives [1, 1, 16]
SEEN
echo "as it was seen"
