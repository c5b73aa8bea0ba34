#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# onnxruntime's quantisers with per_channel=True give a MatMul a scale for each column of its weight,
# whatever the weight's rank: where that is not two (a vector, a stack of matrices) quantize_dynamic
# and quantize_static with QOperator write, without a word, files that onnxruntime itself refuses
# when it runs them. With QDQ, and with per_channel=False, the same networks run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
cd "$folder"
venv/bin/python - >seen 2>/dev/null <<'PYTHON'
import logging

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization as q

logging.disable(logging.ERROR)
onnxruntime.set_default_logger_severity(4)
chance = np.random.default_rng(0)
x = chance.standard_normal((3, 5, 5)).astype(np.float32)


class Data(q.CalibrationDataReader):
    def __init__(self):
        self.left = [{"x": x}]

    def get_next(self):
        return self.left.pop() if self.left else None


def static(form, by_channel):
    kinds = {"activation_type": q.QuantType.QUInt8, "weight_type": q.QuantType.QInt8}
    return lambda: q.quantize_static(
        "net.onnx", "small.onnx", Data(), quant_format=form, per_channel=by_channel, **kinds
    )


def dynamic(by_channel):
    return lambda: q.quantize_dynamic("net.onnx", "small.onnx", per_channel=by_channel)


for shape in ((5, 7), (5,), (3, 5, 7)):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, x.shape)],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(chance.standard_normal(shape).astype(np.float32), "w")],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), "net.onnx")
    for by_channel in (False, True):
        for name, write in (
            ("dynamic", dynamic(by_channel)),
            ("QOperator", static(q.QuantFormat.QOperator, by_channel)),
            ("QDQ", static(q.QuantFormat.QDQ, by_channel)),
        ):
            write()
            try:
                onnxruntime.InferenceSession("small.onnx").run(None, {"x": x})
                found = "runs"
            except Exception:
                found = "does not run"
            print("weight", list(shape), name, "by channel" if by_channel else "whole", found)
PYTHON
diff seen - <<'SEEN'
weight [5, 7] dynamic whole runs
weight [5, 7] QOperator whole runs
weight [5, 7] QDQ whole runs
weight [5, 7] dynamic by channel runs
weight [5, 7] QOperator by channel runs
weight [5, 7] QDQ by channel runs
weight [5] dynamic whole runs
weight [5] QOperator whole runs
weight [5] QDQ whole runs
weight [5] dynamic by channel does not run
weight [5] QOperator by channel does not run
weight [5] QDQ by channel runs
weight [3, 5, 7] dynamic whole runs
weight [3, 5, 7] QOperator whole runs
weight [3, 5, 7] QDQ whole runs
weight [3, 5, 7] dynamic by channel does not run
weight [3, 5, 7] QOperator by channel does not run
weight [3, 5, 7] QDQ by channel runs
SEEN
echo "as it was seen"
