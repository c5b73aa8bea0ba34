#!/usr/bin/env bash
# executorch 1.5.1 with torch 2.13.0
# Exported without a delegate, a linear layer's weight is transposed into the arena in each run: of a
# layer of 64 to 32 that takes 2 x 64 floats, the arena is 8960 bytes, of which 8192 are that copy. A
# cache of 8192 bytes of which a row is written is copied whole, written into, and copied back: state is
# not written in place, so that it is there twice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/pip" install -q)
"${pip[@]}" torch==2.13.0 flatbuffers pyyaml numpy pandas scikit-learn -c "$here/../constraints.txt"
"${pip[@]}" --no-deps executorch==1.5.1 torchao==0.18.0 ruamel.yaml tabulate
cd "$folder"
venv/bin/python -W ignore - 2>/dev/null >seen <<'PYTHON'
import logging
from math import prod

import torch

logging.disable(logging.WARNING)
from executorch.exir import to_edge


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 32)

    def forward(self, x):
        return torch.relu(self.layer(x))


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(1, 128, 16))

    def forward(self, x, at):
        self.kept[:, at] = x
        return self.kept.sum(1)


given = {Layer: (torch.ones(2, 64),), Cache: (torch.ones(1, 1, 16), torch.tensor([3]))}
for kind, inputs in given.items():
    program = to_edge(torch.export.export(kind().eval(), inputs)).to_executorch().executorch_program
    plan = program.execution_plan[0]
    print(kind.__name__, plan.non_const_buffer_sizes[1])
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        name, made = plan.operators[call.op_index].name, plan.values[call.args[-1]].val
        if name in ("aten::permute_copy", "aten::index_put", "aten::copy_"):
            print(name, 4 * prod(made.sizes), "bytes" if made.allocation_info else "constant")
PYTHON
diff seen - <<'SEEN'
Layer 8960
aten::permute_copy 8192 bytes
Cache 16464
aten::index_put 8192 bytes
aten::copy_ 8192 bytes
SEEN
echo "as it was seen"
