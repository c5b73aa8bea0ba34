#!/usr/bin/env bash
# torch 2.13.0, onnx 1.23.2, onnxscript 0.7.2, onnxruntime 1.32.0
# torch.onnx.export (dynamo=True) writes an LSTM with proj_size without a word, as ONNX's LSTM, which
# has no projection: the weight of the projection is not in the file, and hidden_size is the size
# after it, so that the first eight of sixteen rows of the weights are left, gates cut in two. The
# file says shapes that contradict the node: onnx's strict inference refuses it, and so does
# onnxruntime when it runs. The older exporter (dynamo=False) refuses the module by name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.32.0
cd "$folder"
venv/bin/python - >/dev/null 2>&1 <<'PYTHON'
import logging

import onnx
import onnxruntime
import torch

logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(4)
seen = open("seen", "w")
net, x = torch.nn.LSTM(5, 4, proj_size=2).eval(), torch.randn(6, 2, 5)
print("parameters", [list(p.shape) for p in net.parameters()], file=seen)
torch.onnx.export(net, (x,), "net.onnx", dynamo=True, external_data=False, verbose=False)
model = onnx.load("net.onnx")
held = {t.name: list(t.dims) for t in model.graph.initializer}
(node,) = (n for n in model.graph.node if n.op_type == "LSTM")
sizes = {a.name: a.i for a in node.attribute}
print("LSTM of", sizes["hidden_size"], "reads", [held[n] for n in node.input if n in held], file=seen)
try:
    onnx.checker.check_model(model, full_check=True)
except onnx.shape_inference.InferenceError:
    print("onnx refuses it", file=seen)
try:
    onnxruntime.InferenceSession("net.onnx").run(None, {model.graph.input[0].name: x.numpy()})
except Exception as error:
    print("onnxruntime:", str(error).partition("Status Message: ")[2], file=seen)
try:
    torch.onnx.export(net, (x,), "old.onnx", dynamo=False)  # which prints the network
except torch.onnx.errors.SymbolicValueError as error:
    print("dynamo=False:", str(error).split(".")[0].split(": ", 1)[1], file=seen)
PYTHON
diff seen - <<'SEEN'
parameters [[16, 5], [16, 2], [16], [16], [2, 4]]
LSTM of 2 reads [[1, 8, 5], [1, 8, 2], [1, 16], [1, 2, 2], [1, 2, 4]]
onnx refuses it
onnxruntime: Input initial_c must have shape {1,2,2}. Actual:{1,2,4}
dynamo=False: ONNX export of operator LSTM, LSTMs with projections
SEEN
echo "as it was seen"
