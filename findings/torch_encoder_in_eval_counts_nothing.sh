#!/usr/bin/env bash
# torch 2.13.0 on the processor
# FlopCounterMode counts all products of a TransformerEncoderLayer while it trains, and none of the
# same layer after eval(): 1179648 and 0. Evaluation without gradients takes one operator for the whole
# layer, which has no rule, and nothing says so. Attention alone is 0 too: on the processor it runs as
# an operator of its own without a rule, with a batch and heads; with three axes, or with the backend
# for it set to plain products, it is counted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/python" -W ignore - >"$folder/seen" <<'PYTHON'
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention
from torch.utils.flop_counter import FlopCounterMode


def products(call):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops() // 2


layer, x = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), torch.zeros(1, 32, 64)
print("encoder layer, train", products(lambda: layer.train()(x)))
print("encoder layer, eval", products(lambda: layer.eval()(x)))
heads = torch.zeros(1, 4, 32, 16)
print("attention", products(lambda: attention(heads, heads, heads)))
print("attention of three axes", products(lambda: attention(heads[0], heads[0], heads[0])))
with sdpa_kernel(SDPBackend.MATH):
    print("attention by plain products", products(lambda: attention(heads, heads, heads)))
PYTHON
diff "$folder/seen" - <<'SEEN'
encoder layer, train 1179648
encoder layer, eval 0
attention 0
attention of three axes 131072
attention by plain products 131072
SEEN
echo "as it was seen"
