#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# With auto_pad SAME_UPPER and a stride larger than the window, the same six elements are read at
# different places by a convolution and by a pool: the convolution takes elements 0 and 3, the
# average pool 1 and 4. The needed padding is negative there (-2): one kernel takes it for none, the
# other leaves out an element in front. A planner that gives both one rule names wrong elements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

weight = numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "w")
for kind in ("Conv", "AveragePool"):
    pool = kind == "AveragePool"
    given = {"auto_pad": "SAME_UPPER", "strides": [3], "kernel_shape": [1]}
    node = helper.make_node(kind, ["x"] if pool else ["x", "w"], ["y"], **given)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "g",
        [value("x", TensorProto.FLOAT, [1, 1, 6])],
        [value("y", TensorProto.FLOAT, [1, 1, 2])],
        [] if pool else [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    print(kind, "reads", session.run(None, {"x": x})[0].astype(int).ravel().tolist())
PYTHON
diff "$folder/seen" - <<'SEEN'
Conv reads [0, 3]
AveragePool reads [1, 4]
SEEN
echo "as it was seen"
