#!/usr/bin/env bash
# ncnn 1.0.20261020
# A thousand channels of one element take 16000 bytes as float32, and 16000 as float16: each channel
# begins at a multiple of sixteen bytes, so that a channel of one element takes sixteen in either
# type; at 3 x 3 it is 48 and 32 for 36 and 18. The same thousand numbers in a row take 4000 and 2000.
# As int8 the thousand channels take 2000, as eight are packed into one there: an eighth, not a
# quarter. Sizes by elements times width are wrong by up to eight, and most so at a network's end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ncnn==1.0.20261020
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import ncnn
import numpy as np

one = ncnn.Mat(np.ones(1, np.float32)).clone()
for wide, high, channels in ((1, 1, 1000), (3, 3, 1000), (1000, 1, 1)):
    floats = ncnn.Mat(wide) if channels == 1 else ncnn.Mat(wide, high, channels)
    floats.fill(1.0)
    halves, bytes_ = ncnn.Mat(), ncnn.Mat()
    ncnn.cast_float32_to_float16(floats, halves)
    ncnn.quantize_to_int8(floats, bytes_, one)
    print(
        f"{channels} x {high} x {wide}:",
        *(
            f"{name} {made.total() * made.elemsize} of {wide * high * channels * made.elemsize // made.elempack}"
            for name, made in (("float32", floats), ("float16", halves), ("int8", bytes_))
        ),
    )
PYTHON
diff "$folder/seen" - <<'SEEN'
1000 x 1 x 1: float32 16000 of 4000 float16 16000 of 2000 int8 2000 of 1000
1000 x 3 x 3: float32 48000 of 36000 float16 32000 of 18000 int8 10000 of 9000
1 x 1 x 1000: float32 4000 of 4000 float16 2000 of 2000 int8 1008 of 1000
SEEN
echo "as it was seen"
