#!/usr/bin/env bash
# onnxruntime 1.32.0, onnx 1.23.2
# ONNX's Attention (operator set 23) takes keys and values of the past, and may give those of the
# present: both are optional, apart from each other. A model that reads a cache and does not return
# it (the last step of a generation, or a cache that is only read, as of an encoder's) passes onnx's
# checker and its reference; onnxruntime loads it too, and refuses it when it runs. With an output
# for the present that nobody reads it runs, and gives what the reference gives: a plan for it holds
# a copy of the whole cache that the model does not ask for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)
SIZES = {"q": (1, 2, 1, 8), "k": (1, 2, 1, 8), "v": (1, 2, 1, 8)}
SIZES |= {"past_key": (1, 2, 5, 8), "past_value": (1, 2, 5, 8)}
rng = np.random.default_rng(0)
feeds = {name: rng.standard_normal(size).astype(np.float32) for name, size in SIZES.items()}


def model(gives):
    node = helper.make_node("Attention", ["q", "k", "v", "", "past_key", "past_value"], gives)
    starts = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in SIZES.items()]
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 2, 1, 8))]
    graph = helper.make_graph([node], "attention", starts, ends)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(made, full_check=True)
    return made


for gives in (["y"], ["y", "present_key", "present_value"]):
    made = model(gives)
    (right,) = ReferenceEvaluator(made).run(None, feeds)
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    try:
        (found,) = session.run(None, feeds)
        said = f"runs, {'as' if np.allclose(found, right, atol=1e-5) else 'unlike'} the reference"
    except Exception as error:
        said = "refused: " + str(error).strip().split(" was false. ")[-1]
    print(f"gives {', '.join(gives)}: {said}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN' && echo "as it was seen"
gives y: refused: The implementation does not support past_key provided and present_key being null.
gives y, present_key, present_value: runs, as the reference
SEEN
