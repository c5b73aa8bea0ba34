#!/usr/bin/env bash
# MNN 3.6.1 (processor, one thread)
# A depthwise convolution takes more of a session's memory than the dense one it stands in for: on eight
# channels of 64 by 64 floats (131072 bytes) three maps, where the dense one, with eight times the
# products, takes two. It copies the channels it is at (eight with AVX2) with their border first, at
# one by one, too, where there is no border. A convolution of one channel is run as depthwise: one
# channel takes half as much again as two or eight. Two groups take what a dense one takes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q MNN==3.6.1 numpy==2.2.6
"$folder/venv/bin/python" - "$folder/net.mnn" >"$folder/seen" <<'PYTHON'
import sys

import MNN
import MNN.expr as F

path = sys.argv[1]


def session_bytes(channels, side, groups):
    """What a session of two equal convolutions says it takes."""
    x = F.placeholder([1, channels, 64, 64], F.NCHW)
    y = F.convert(x, F.NC4HW4)
    shape = [channels, channels // groups, side, side]
    for _ in range(2):
        weight = F.const([1.0] * (channels * channels // groups * side * side), shape, F.NCHW)
        bias = F.const([0.0] * channels, [channels], F.NCHW)
        y = F.conv2d(y, weight, bias, [1, 1], [0, 0], [1, 1], groups, F.SAME)
    F.save([F.convert(y, F.NCHW)], path)
    net = MNN.Interpreter(path)
    session = net.createSession({"backend": "CPU", "numThread": 1})
    return round(net.getSessionInfo(session, 0) * 2**20)


for side in (1, 3):
    for channels, groups in ((1, 1), (2, 1), (2, 2), (8, 1), (8, 2), (8, 8), (16, 1), (16, 16)):
        print(f"{side} x {side}, {channels} channels, {groups} groups:", session_bytes(channels, side, groups))
PYTHON
grep groups "$folder/seen" | diff - <(cat <<'SEEN'
1 x 1, 1 channels, 1 groups: 393360
1 x 1, 2 channels, 1 groups: 262576
1 x 1, 2 channels, 2 groups: 393376
1 x 1, 8 channels, 1 groups: 263808
1 x 1, 8 channels, 2 groups: 263424
1 x 1, 8 channels, 8 groups: 393472
1 x 1, 16 channels, 1 groups: 529088
1 x 1, 16 channels, 16 groups: 655744
3 x 3, 1 channels, 1 groups: 402000
3 x 3, 2 channels, 1 groups: 265200
3 x 3, 2 channels, 2 groups: 402080
3 x 3, 8 channels, 1 groups: 276480
3 x 3, 8 channels, 2 groups: 273024
3 x 3, 8 channels, 8 groups: 402560
3 x 3, 16 channels, 1 groups: 566336
3 x 3, 16 channels, 16 groups: 665600
SEEN
)
echo "as it was seen"
