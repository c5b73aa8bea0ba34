#!/usr/bin/env bash
# scalesim 3.0.0, numpy 2.2.6
# A layer of 1024 outputs on an array of 8 by 8 writes 9216 elements to DRAM where weights stay (ws) or
# inputs do (is), and 1024 where outputs do: each of the nine partial sums of every output goes out,
# though the output memory (64 kB) holds the whole output 64 times over, and no reads of them are reported. The
# height of the array decides it, no memory does: at 72 rows it is 1024 again. DRAM traffic so
# counted compares the heights of arrays where it seems to compare dataflows.
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


for rows in (8, 16, 72):
    for dataflow in ("ws", "is", "os"):
        _, written, _ = simulate((10, 10, 3, 3, 8, 16, 1), dataflow, (rows, 8))
        print(f"{rows} rows, {dataflow}: {written} elements written for {8 * 8 * 16} outputs")
PYTHON
diff seen - <<'SEEN'
8 rows, ws: 9216 elements written for 1024 outputs
8 rows, is: 9216 elements written for 1024 outputs
8 rows, os: 1024 elements written for 1024 outputs
16 rows, ws: 5120 elements written for 1024 outputs
16 rows, is: 5120 elements written for 1024 outputs
16 rows, os: 1024 elements written for 1024 outputs
72 rows, ws: 1024 elements written for 1024 outputs
72 rows, is: 1024 elements written for 1024 outputs
72 rows, os: 1024 elements written for 1024 outputs
SEEN
echo "as it was seen"
