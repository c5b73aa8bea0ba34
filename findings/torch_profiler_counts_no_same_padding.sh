#!/usr/bin/env bash
# torch 2.13.0
# The profiler's with_flops counts a Conv2d with padding=1 (2359296 products) and nothing of the same
# convolution with padding="same", nor of the same one without a batch axis, of one row, of volumes, or
# transposed. FlopCounterMode, of the same release, counts them all; neither says what it left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/python" -W ignore - >"$folder/seen" 2>"$folder/log" <<'PYTHON'
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

layers = {
    "padding=1": (nn.Conv2d(16, 16, 3, padding=1, bias=False), (1, 16, 32, 32)),
    'padding="same"': (nn.Conv2d(16, 16, 3, padding="same", bias=False), (1, 16, 32, 32)),
    "no batch axis": (nn.Conv2d(16, 16, 3, padding=1, bias=False), (16, 32, 32)),
    "one row": (nn.Conv1d(16, 16, 3, padding=1, bias=False), (1, 16, 32)),
    "volumes": (nn.Conv3d(16, 16, 3, padding=1, bias=False), (1, 16, 8, 8, 8)),
    "transposed": (nn.ConvTranspose2d(16, 16, 2, stride=2, bias=False), (1, 16, 32, 32)),
}
for name, (layer, shape) in layers.items():
    x = torch.zeros(shape)
    with torch.no_grad():
        with profile(activities=[ProfilerActivity.CPU], with_flops=True) as seen:
            layer(x)
        with FlopCounterMode(display=False) as counter:
            layer(x)
    profiled = sum(event.flops or 0 for event in seen.key_averages())
    print(f"{name}: {profiled // 2} by the profiler, {counter.get_total_flops() // 2} by the counter")
PYTHON
grep -v USDT "$folder/seen" | diff - <(cat <<'SEEN'
padding=1: 2359296 by the profiler, 2359296 by the counter
padding="same": 0 by the profiler, 2359296 by the counter
no batch axis: 0 by the profiler, 2359296 by the counter
one row: 0 by the profiler, 24576 by the counter
volumes: 0 by the profiler, 3538944 by the counter
transposed: 0 by the profiler, 1048576 by the counter
SEEN
)
echo "as it was seen"
