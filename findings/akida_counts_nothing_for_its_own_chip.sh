#!/usr/bin/env bash
# akida 2.19.3
# Model.macs, "number of multiply-accumulate operations", is 0 for a convolution of the kind that the
# first chips (AKD1000) take, before and after it is mapped onto one, and 18432 for the same
# convolution of the second kind. A transposed one there has 73728: four times what it multiplies.
# Whoever compares chips by this number has one for nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q akida==2.19.3
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import akida
import numpy as np

for name, layer, bits, chip in (
    ("first", akida.Convolutional((3, 3), 8, weights_bits=4), 4, akida.AKD1000()),
    ("second", akida.Conv2D(8, 3), 8, akida.SixNodesIPv2()),
    ("second, transposed", akida.Conv2DTranspose(8, 3), 8, akida.SixNodesIPv2()),
):
    model = akida.Model()
    model.add(akida.InputData((8, 8, 4), input_bits=bits))
    model.add(layer)
    layer.set_variable("weights", np.ones_like(layer.get_variable("weights")))
    before = model.macs
    model.map(chip)
    print(name, model.output_shape, before, model.macs, *(part.backend.name for part in model.sequences))
PYTHON
diff "$folder/seen" - <<'SEEN'
first [8, 8, 8] 0 0 Hardware
second [8, 8, 8] 18432 18432 Hardware
second, transposed [16, 16, 8] 73728 73728 Hardware
SEEN
echo "as it was seen"
