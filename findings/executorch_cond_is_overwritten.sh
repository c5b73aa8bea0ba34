#!/usr/bin/env bash
# executorch 1.5.1 with torch 2.13.0
# What torch.cond gives is moved at the end of a branch, and a move copies no bytes: it stays where the
# branch made it. The memory planner takes that place for free behind the branch and gives it to the next
# torch.cond: what the first one gave is overwritten before it is read, in silence.
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
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Twice(torch.nn.Module):
    def forward(self, x):
        first = torch.cond(x.sum() > 0, lambda x: x.sin() * 2.0, lambda x: x.cos() * 2.0, (x,))
        second = torch.cond(first.sum() > 99, lambda x: x.sin() * 3.0, lambda x: x.cos() * 3.0, (x,))
        return first + second


given = (torch.arange(8.0),)
program = to_edge(torch.export.export(Twice(), given)).to_executorch()
with open("cond.pte", "wb") as file:
    file.write(program.buffer)
(found,) = Runtime.get().load_program("cond.pte").load_method("forward").execute(list(given))
x = given[0]
print("first + second", torch.allclose(found, Twice()(x)))
print("second + second", torch.allclose(found, 2 * (x.cos() * 3.0)))
PYTHON
diff seen - <<'SEEN'
first + second False
second + second True
SEEN
echo "as it was seen"
