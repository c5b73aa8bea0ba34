#!/usr/bin/env bash
# torch 2.13.0, torchao 0.18.0
# quantize_ to int8 makes a model whose last layer shares the embedding's weights larger: 256000
# bytes become 325000. It gives the linear layer a new weight of its own and leaves the embedding
# its floats, so that what was there once is there as floats and as int8 again. Without the tie the
# same two layers go from 512000 to 325000: the tie, which halves a model before, saves nothing after.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 -c "$here/../constraints.txt"
"$folder/venv/bin/pip" install -q torchao==0.18.0
"$folder/venv/bin/python" -W ignore - >"$folder/seen" <<'PYTHON'
import torch
from torchao.quantization import Int8WeightOnlyConfig, quantize_


def held(model):
    """The bytes of all storages, each once."""
    found, left = {}, [*model.parameters(), *model.buffers()]
    while left:
        tensor = left.pop()
        if hasattr(tensor, "__tensor_flatten__"):
            left += [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        else:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(found.values())


for tied in (True, False):
    embedding, last = torch.nn.Embedding(1000, 64), torch.nn.Linear(64, 1000, bias=False)
    if tied:
        last.weight = embedding.weight
    model = torch.nn.Sequential(embedding, last)
    before = held(model)
    quantize_(model, Int8WeightOnlyConfig())
    print("tied" if tied else "apart", before, held(model))
PYTHON
diff "$folder/seen" - <<'SEEN'
tied 256000 325000
apart 512000 325000
SEEN
echo "as it was seen"
