#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# A MaxPool with auto_pad SAME_LOWER and dilations gives two elements by onnx's shape inference and
# by the operator's text (size over stride, rounded up), and one in onnxruntime, which pads as if the
# window were not dilated. A convolution with the same attributes is refused there when it runs, so
# that the pool, which is not, comes as a surprise: nothing says that the tensor is another one.
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

onnxruntime.set_default_logger_severity(4)
weight = numpy_helper.from_array(np.ones((1, 1, 2), np.float32), "w")
for kind in ("MaxPool", "Conv"):
    pool = kind == "MaxPool"
    given = {"auto_pad": "SAME_LOWER", "strides": [2], "dilations": [3], "kernel_shape": [2]}
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(kind, ["x"] if pool else ["x", "w"], ["y"], **given)],
        "g",
        [value("x", TensorProto.FLOAT, [1, 1, 3])],
        [value("y", TensorProto.FLOAT, None)],
        [] if pool else [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    axes = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
    session = onnxruntime.InferenceSession(model.SerializeToString())
    try:
        found = list(session.run(None, {"x": np.ones((1, 1, 3), np.float32)})[0].shape)
    except Exception as error:
        found = "refused" if "Dilation not supported" in str(error) else str(error)
    print(kind, "inferred", [axis.dim_value for axis in axes], "run", found)
PYTHON
diff "$folder/seen" - <<'SEEN'
MaxPool inferred [1, 1, 2] run [1, 1, 1]
Conv inferred [1, 1, 2] run refused
SEEN
echo "as it was seen"
