#!/usr/bin/env bash
# holoviews 1.23.2, bokeh 3.9.2, numpy 2.4.6
# Two columns of 1.5e9 bytes as int32, stacked as bars: the axis goes to 3e9, but the upper bar is
# drawn from 1.5e9 down to -1.29e9. The axis is made of sums that numpy widened, the bars of a sum in
# the column's own type. Areas on top of each other do the same, and with uint8 (200 on 200 ends at
# 144). numpy warns of the bars' scalars, of the areas nothing does. A table's aggregate of the same
# column is right, and so are all three as int64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q holoviews==1.23.2 bokeh==3.9.2 numpy==2.4.6
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import warnings

import holoviews as hv
import numpy as np


def caught(work):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return work(), sum("overflow" in str(one.message) for one in found) > 0


hv.extension("bokeh")
renderer = hv.renderer("bokeh")
for kind, size in (("int32", 1_500_000_000), ("uint8", 200), ("int64", 1_500_000_000)):
    column = np.full(2, size, kind)
    bars = hv.Bars((["arena", "arena"], ["weights", "tensors"], column), ["memory", "part"], "bytes")
    plot, bars_warn = caught(lambda: renderer.get_plot(bars.opts(stacked=True)))
    ends = [int(top) for top in plot.handles["source"].data["top"]]
    axis = int(plot.handles["y_range"].end)
    pair = [hv.Area((np.arange(2), column)) for _ in range(2)]
    areas, areas_warn = caught(lambda: hv.Area.stack(hv.Overlay(pair)))
    area = int(list(areas)[-1].dimension_values(1)[0])
    table = hv.Dataset((["arena", "arena"], column), "memory", "bytes").aggregate("memory", np.sum)
    print(kind, "bars", ends, bars_warn, "axis", axis, "area", area, areas_warn, "table", int(table.dimension_values(1)[0]))
PYTHON
diff "$folder/seen" - <<'SEEN'
int32 bars [1500000000, -1294967296] True axis 3000000000 area -1294967296 False table 3000000000
uint8 bars [200, 144] True axis 400 area 144 False table 400
int64 bars [1500000000, 3000000000] False axis 3000000000 area 3000000000 False table 3000000000
SEEN
echo "as it was seen"
