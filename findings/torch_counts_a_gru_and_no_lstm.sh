#!/usr/bin/env bash
# torch 2.13.0 on the processor (with oneDNN, as in the wheels)
# FlopCounterMode counts every multiplication of a GRU (23040) and none of an LSTM of the same size: 0,
# with and without gradients, and nothing says so. An LSTM is one oneDNN operator on the processor,
# which has no rule; a GRU goes the long way. The same LSTM has its 30720 with oneDNN off, and one with
# a projection, which oneDNN has not, counts as well. So what is counted hangs on how torch was built.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/python" -W ignore - >"$folder/seen" <<'PYTHON'
import contextlib

import torch
from torch.utils.flop_counter import FlopCounterMode

x = torch.randn(1, 5, 16)
off = torch.backends.mkldnn.flags(enabled=False)
for name, layer, how in (
    ("GRU", torch.nn.GRU(16, 32), contextlib.nullcontext()),
    ("LSTM", torch.nn.LSTM(16, 32), contextlib.nullcontext()),
    ("LSTM without gradients", torch.nn.LSTM(16, 32).eval(), torch.no_grad()),
    ("LSTM without oneDNN", torch.nn.LSTM(16, 32), off),
    ("LSTM with a projection", torch.nn.LSTM(16, 32, proj_size=8), contextlib.nullcontext()),
):
    with how, FlopCounterMode(display=False) as counter:
        layer(x.transpose(0, 1))
    print(name, counter.get_total_flops() // 2)
PYTHON
diff "$folder/seen" - <<'SEEN'
GRU 23040
LSTM 0
LSTM without gradients 0
LSTM without oneDNN 30720
LSTM with a projection 16640
SEEN
echo "as it was seen"
