#!/usr/bin/env bash
# emlearn 0.23.2, scikit-learn 1.9.1, and any C compiler
# emlearn's own model_size_bytes says 4428 bytes for a forest over ten classes with leaves of four
# bits; the arrays in the C that the same object writes take 6984. The estimate gives a leaf
# one byte, the code one for each class. And leaves of eight bits take the same byte per class: four
# are smaller only where rounding makes leaves equal. Without probabilities the two sizes agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q emlearn==0.23.2 scikit-learn==1.9.1
"$folder/venv/bin/python" - "$folder" >"$folder/seen" <<'PYTHON'
import subprocess
import sys
from pathlib import Path

import emlearn
from emlearn.evaluate.trees import model_size_bytes, model_size_leaves, model_size_nodes
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

folder = Path(sys.argv[1])
headers = Path(emlearn.__file__).parent
x, y = load_digits(return_X_y=True)
forest = RandomForestClassifier(n_estimators=10, max_depth=6, random_state=1).fit(x, y)
for bits in (None, 8, 4):
    model = emlearn.convert(forest, method="loadable", dtype="int16_t", leaf_bits=bits)
    (folder / "model.h").write_text(model.save(name="model"))
    (folder / "sizes.c").write_text(
        '#include <stdio.h>\n#include "model.h"\nint main(void) { printf("%zu", sizeof(model_nodes)'
        + (" + sizeof(model_leaves)" if bits else "")
        + "); return 0; }\n"
    )
    command = ["cc", "-I", headers, "-o", folder / "sizes", folder / "sizes.c", "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    written = int(subprocess.run([folder / "sizes"], check=True, capture_output=True, text=True).stdout)
    said, nodes, leaves = model_size_bytes(model), model_size_nodes(model), model_size_leaves(model)
    held = written - 8 * nodes
    if bits is None:
        print("majority: said is written", said == written)
    else:
        print(bits, "bits: said less", said < 0.7 * written, "bytes for a leaf", held // leaves, held % leaves)
PYTHON
diff "$folder/seen" - <<'SEEN'
majority: said is written True
8 bits: said less True bytes for a leaf 10 0
4 bits: said less True bytes for a leaf 10 0
SEEN
echo "as it was seen"
