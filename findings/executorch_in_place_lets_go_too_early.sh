#!/usr/bin/env bash
# executorch 1.5.1 with torch 2.13.0
# With run_reinplace_pass=True an index_put writes in place, and its result is the tensor that it wrote.
# The memory planner takes that tensor's last use to be the write: bytes that are read three operators
# later are given to the next result. Valid programs then compute something else, in silence, in less
# memory (96 bytes for 128); without the pass all is as in eager mode.
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

import torch

logging.disable(logging.WARNING)
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime


class Put(torch.nn.Module):
    def forward(self, x, row, y):
        put = (x * 1.0).index_put((row,), y)
        return put + torch.relu(torch.sin(x) * 2.0 + 1.0)


given = torch.arange(8.0).reshape(2, 4), torch.tensor([1]), torch.ones(1, 4)
for in_place in (False, True):
    config = ExecutorchBackendConfig(run_reinplace_pass=in_place)
    program = to_edge(torch.export.export(Put(), given)).to_executorch(config)
    plan = program.executorch_program.execution_plan[0]
    with open("put.pte", "wb") as file:
        file.write(program.buffer)
    (found,) = Runtime.get().load_program("put.pte").load_method("forward").execute(list(given))
    same = torch.equal(found, Put()(*given))
    print("in place" if in_place else "apart", plan.non_const_buffer_sizes[1], "bytes", same)
PYTHON
diff seen - <<'SEEN'
apart 128 bytes True
in place 96 bytes False
SEEN
echo "as it was seen"
