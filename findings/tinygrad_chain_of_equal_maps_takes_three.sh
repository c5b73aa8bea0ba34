#!/usr/bin/env bash
# tinygrad 0.14.0
# A chain of convolutions whose maps are all of one size is planned in the room of three maps where
# that size has no short binary form, and of two where it has: with 28 channels of 56 by 56 floats
# the planner says 1.05 MB, with 32 channels, whose maps are larger, 0.80 MB. As seen, the planner
# asks its allocator (two-level segregated fit) for a size rounded up to the next of 32 steps
# between powers of two, and a hole that fits to the byte is filed one step lower: the room of the
# map that has just died is not offered to one of the same size, until it has grown together with
# the next that dies.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tinygrad==0.14.0
DEV=NULL "$folder/venv/bin/python" - 2>/dev/null >"$folder/seen" <<'PYTHON'
import contextlib
import io

from tinygrad import Tensor, TinyJit
from tinygrad.helpers import Context

for channels in (24, 28, 32, 36):
    weights = [Tensor.empty(channels, channels, 3, 3).realize() for _ in range(8)]

    @TinyJit
    def network(x):
        for weight in weights:
            x = x.conv2d(weight, padding=1).relu().contiguous()
        return x.realize()

    said = io.StringIO()
    with Context(DEBUG=1), contextlib.redirect_stdout(said):
        for _ in range(3):
            network(Tensor.empty(1, channels, 56, 56).realize())
    line = next(line for line in said.getvalue().splitlines() if "memory reduced" in line)
    print(channels, "channels, a map of", 4 * channels * 56 * 56, "bytes:", line)
PYTHON
diff "$folder/seen" - <<'SEEN'
24 channels, a map of 301056 bytes: memory reduced from 2.11 MB -> 0.90 MB, 7 -> 1 bufs
28 channels, a map of 351232 bytes: memory reduced from 2.46 MB -> 1.05 MB, 7 -> 1 bufs
32 channels, a map of 401408 bytes: memory reduced from 2.81 MB -> 0.80 MB, 7 -> 1 bufs
36 channels, a map of 451584 bytes: memory reduced from 3.16 MB -> 1.35 MB, 7 -> 1 bufs
SEEN
echo "as it was seen"
