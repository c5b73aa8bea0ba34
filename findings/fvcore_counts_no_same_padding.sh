#!/usr/bin/env bash
# fvcore 0.1.5.post20221221, torch 2.13.0
# FlopCountAnalysis gives Conv2d(4, 8, 3, padding="same") no operation and the same layer with
# padding=1 all of its 18432 multiplications: the word makes torch trace another operator, which has no
# rule, and what has no rule counts nothing. The one sign is a warning in the log; the total and the
# table by layer look complete. torch's own counter has the same for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/pip" install -q fvcore==0.1.5.post20221221
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import logging

import torch
from fvcore.nn import FlopCountAnalysis
from torch.utils.flop_counter import FlopCounterMode

logging.disable()
x = torch.randn(1, 4, 8, 8)
for padding in (1, "same"):
    layer = torch.nn.Conv2d(4, 8, 3, padding=padding)
    counted = FlopCountAnalysis(layer, x)
    with FlopCounterMode(display=False) as own:
        shape = list(layer(x).shape)
    print(padding, shape, "fvcore", counted.total(), "torch", own.get_total_flops() // 2, dict(counted.unsupported_ops()))
PYTHON
diff "$folder/seen" - <<'SEEN'
1 [1, 8, 8, 8] fvcore 18432 torch 18432 {}
same [1, 8, 8, 8] fvcore 0 torch 18432 {'aten::_convolution_mode': 1}
SEEN
echo "as it was seen"
