#!/usr/bin/env bash
# onnx 1.23.2, onnxruntime 1.32.0
# quantize_static with per_channel=True makes a pointwise layer of 256 channels with biases from 2048
# bytes of float constants into 4618 of int8 ones. Beside a channel's weight lie seventeen bytes:
# the weight's scale and zero point, the bias, and a scale and a zero point (all 0, four bytes each)
# of the bias too. Per tensor it is 1303. A depthwise layer of 3 x 3 goes from 10240 to 6666 bytes:
# two thirds, not a quarter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0
"$folder/venv/bin/python" - "$folder" >"$folder/seen" <<'PYTHON'
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

folder = Path(sys.argv[1])
chance = np.random.default_rng(0)


class Reader(CalibrationDataReader):
    def __init__(self, shape):
        self.left = [{"x": chance.standard_normal(shape).astype(np.float32)} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


def held(path):
    return sum(numpy_helper.to_array(constant).nbytes for constant in onnx.load(path).graph.initializer)


for name, ins, window, groups in (("pointwise", 1, 1, 1), ("depthwise", 256, 3, 256)):
    shape = (256, 1, window, window)
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[window, window], group=groups)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ins, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256, 9 - window, 9 - window])],
        [
            numpy_helper.from_array(chance.standard_normal(shape).astype(np.float32), "w"),
            numpy_helper.from_array(chance.standard_normal(256).astype(np.float32), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "float.onnx")
    sizes = [held(folder / "float.onnx")]
    for each in (False, True):
        quantize_static(folder / "float.onnx", folder / "int8.onnx", Reader((1, ins, 8, 8)), per_channel=each)
        sizes.append(held(folder / "int8.onnx"))
    print(name, "float %d, int8 per tensor %d, per channel %d" % tuple(sizes))
PYTHON
diff "$folder/seen" - <<'SEEN'
pointwise float 2048, int8 per tensor 1303, per channel 4618
depthwise float 10240, int8 per tensor 3351, per channel 6666
SEEN
echo "as it was seen"
