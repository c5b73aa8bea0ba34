#!/usr/bin/env bash
# iree-base-compiler 3.13.0
# --iree-stream-partitioning-favor=min-peak-memory, "favor minimizing memory consumption", sets four
# matrices aside for products that are multiplied up one after the other, where =debug sets three
# aside, in the same order. It lets work run beside other work all the same, so that more is alive at
# a time; here it is not below max-concurrency at all. With three longer branches: five, four and six.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q iree-base-compiler==3.13.0
"$folder/venv/bin/python" - "$folder" >"$folder/seen" <<'PYTHON'
import re
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
square = "tensor<64x64xf32>"
several = [("v0", "w", "b0"), ("v1", "w", "b1"), ("b0", "b1", "s1")]
for at in range(2, 8):
    several += [(f"v{at}", "w", f"b{at}"), (f"s{at - 1}", f"b{at}", f"s{at}")]
long = []
for at, name in enumerate("abc"):
    long += [(f"v{at}", "w", f"{name}1"), (f"{name}1", "w", f"{name}2"), (f"{name}2", "w", f"{name}3")]
long += [("a3", "b3", "ab"), ("ab", "c3", "s7")]
for title, products in (("one after the other", several), ("three branches", long)):
    made = {name for _, _, name in products}
    given = sorted({name for left, right, _ in products for name in (left, right)} - made)
    lines = [f"func.func @main({', '.join(f'%{name}: {square}' for name in given)}) -> {square} {{"]
    lines.append("%zero = arith.constant 0.0 : f32")
    for left, right, name in products:
        lines.append(f"%e{name} = tensor.empty() : {square}")
        lines.append(f"%f{name} = linalg.fill ins(%zero : f32) outs(%e{name} : {square}) -> {square}")
        lines.append(
            f"%{name} = linalg.matmul ins(%{left}, %{right} : {square}, {square}) outs(%f{name} : {square}) -> {square}"
        )
    lines.append(f"return %s7 : {square}\n}}\n")
    source = folder / "source.mlir"
    source.write_text("\n".join(lines))
    found = {}
    for favor in ("debug", "min-peak-memory", "max-concurrency"):
        command = [Path(sys.executable).parent / "iree-compile", source, "-o", "-", "--compile-to=stream"]
        command += ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx"]
        command += [f"--iree-stream-partitioning-favor={favor}"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", text))
        sizes = [int(constants[size]) for size in re.findall(r"stream\.resource\.alloca[^\n]*?\{(%\w+)\}", text)]
        found[favor] = max(sizes) / (64 * 64 * 4)
    print(title, found)
PYTHON
diff "$folder/seen" - <<'SEEN'
one after the other {'debug': 3.0, 'min-peak-memory': 4.0, 'max-concurrency': 4.0}
three branches {'debug': 4.0, 'min-peak-memory': 5.0, 'max-concurrency': 6.0}
SEEN
echo "as it was seen"
