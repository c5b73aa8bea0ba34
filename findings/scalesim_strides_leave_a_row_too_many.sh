#!/usr/bin/env bash
# scalesim 3.0.0, numpy 2.2.6
# A filter of one by one that takes each second row of twelve has six to take; SCALE-Sim counts seven,
# 49 outputs for 36, a third more. It rounds the number of steps up, where frameworks round down, so
# that the last window hangs over the edge: what of it lies outside is not read (all 288 elements that
# six by six windows need are read, and no more), but it is computed and written, and where it hangs
# over in part the rest is read. Where the stride divides evenly the two agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q scalesim==3.0.0 numpy==2.2.6
cd "$folder"
venv/bin/python -W ignore - >seen 2>log <<'PYTHON'
import contextlib
import csv
import io
from pathlib import Path

from scalesim.scale_sim import scalesim

LAYER = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
LAYOUT = "".join(
    f"{tensor}CustomLayout: False\n{tensor}SRAMBankBandwidth: 10\n{tensor}SRAMBankNum: 10\n{tensor}SRAMBankPort: 2\n"
    for tensor in ("Ifmap", "Filter")
)


def simulate(layer, dataflow="os", array=(8, 8), input_kb=64, bandwidth="CALC"):
    """DRAM reads of the input and writes of the output, and the cycles of one layer."""
    Path("machine.cfg").write_text(
        f"[general]\nrun_name = out\n[architecture_presets]\nArrayHeight: {array[0]}\nArrayWidth: {array[1]}\n"
        f"IfmapSramSzkB: {input_kb}\nFilterSramSzkB: 64\nOfmapSramSzkB: 64\nIfmapOffset: 0\n"
        "FilterOffset: 10000000\nOfmapOffset: 20000000\nBandwidth: 10\nMemoryBanks: 1\nReadRequestBuffer: 32\n"
        f"WriteRequestBuffer: 32\nDataflow: {dataflow}\n[layout]\n{LAYOUT}[sparsity]\nSparsitySupport: false\n"
        "SparseRep: ellpack_block\nOptimizedMapping: false\nBlockSize: 8\nRandomNumberGeneratorSeed: 40\n"
        f"[run_presets]\nInterfaceBandwidth: {bandwidth}\nUseRamulatorTrace: False\n"
    )
    Path("layer.csv").write_text(LAYER + ", ".join(map(str, ("conv", *layer))) + ",\n")
    Path("layout.csv").write_text("Layer name,\n")
    files = {"config": "machine.cfg", "topology": "layer.csv", "layout": "layout.csv"}
    with contextlib.redirect_stdout(io.StringIO()):
        scalesim(save_disk_space=True, verbose=False, **files).run_scale(top_path=".")
    found = {}
    for report in ("DETAILED_ACCESS_REPORT.csv", "COMPUTE_REPORT.csv"):
        with open(Path("out", report)) as file:
            found |= next(csv.DictReader(file))
    names = (" DRAM IFMAP Reads", " DRAM OFMAP Writes", " Total Cycles")
    return tuple(int(float(found[name])) for name in names)


for side, window, stride in ((12, 1, 2), (13, 1, 2), (12, 2, 2), (13, 2, 2), (12, 3, 2), (13, 3, 2), (12, 1, 3)):
    read, written, cycles = simulate((side, side, window, window, 8, 16, stride))
    outputs = ((side - window) // stride + 1) ** 2
    print(f"{side} by {side}, {window} by {window}, stride {stride}: {written // 16} of {outputs} outputs,", end=" ")
    print(f"{read} inputs read, {cycles} cycles")
PYTHON
diff seen - <<'SEEN'
12 by 12, 1 by 1, stride 2: 49 of 36 outputs, 288 inputs read, 307 cycles
13 by 13, 1 by 1, stride 2: 49 of 49 outputs, 392 inputs read, 307 cycles
12 by 12, 2 by 2, stride 2: 36 of 36 outputs, 1152 inputs read, 459 cycles
13 by 13, 2 by 2, stride 2: 49 of 36 outputs, 1352 inputs read, 643 cycles
12 by 12, 3 by 3, stride 2: 36 of 25 outputs, 1152 inputs read, 859 cycles
13 by 13, 3 by 3, stride 2: 36 of 36 outputs, 1352 inputs read, 859 cycles
12 by 12, 1 by 1, stride 3: 25 of 16 outputs, 128 inputs read, 175 cycles
SEEN
echo "as it was seen"
