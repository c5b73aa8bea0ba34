"""What the Optimus paper states in words and tables: beside which our numbers stand.

Its figures are not in numbers anywhere; what the text says of them is all there is to compare with.
"""

from __future__ import annotations

from typing import NamedTuple

KIB = 1024
BUFFER_BYTES = 128 * KIB  # Table 2
IMAGES = 4  # section 7.1
CHANNEL_TILE = 16  # T_c of O_w|C_out on 16 x 16 processing elements

EIGHT = (
    *("alexnet", "vgg16", "googlenet", "resnet18", "resnet50", "resnet152"),
    *("mobilenet_v2", "squeezenet1_0"),
)
NASNET = "timm:nasnetalarge"


class Search(NamedTuple):
    """A row of Table 5: what was counted, milliseconds, and the groups chosen."""

    successors: int
    operators: int
    groups: float
    online_groups: int
    top_down_ms: float
    bottom_up_ms: float
    online_top_down_ms: float
    online_bottom_up_ms: float
    chosen: int


TABLE_5 = {
    "vgg16": Search(1, 18, 171, 80, 0.36, 0.48, 0.18, 0.11, 8),
    "resnet50": Search(2, 52, 3510, 195, 14.59, 2.73, 0.64, 0.29, 31),
    "resnet152": Search(2, 154, 24250, 467, 173.43, 5.01, 3.22, 0.23, 99),
    "resnet1202": Search(2, 1204, 80825, 8085, 642.65, 383.95, 66.29, 5.26, 841),
    "googlenet": Search(4, 72, 50436, 423, 514.53, 27.89, 3.43, 0.64, 21),
    "squeezenet1_0": Search(2, 38, 1057, 216, 3.39, 2.19, 0.47, 0.24, 8),
    NASNET: Search(10, 456, 2.9e7, 1627, 3.28e5, 8713.16, 45.38, 274.10, 328),
}

# Sections 7.3 and 7.4: DRAM accesses saved, energy efficiency without the ALUs, mean latency.
SAVED = {"dnnvm": (0.19, 0.75), "efficient_s": (0.17, 0.58)}
EFFICIENCY = {"dnnvm": (1.89, 3.66), "efficient_s": (1.86, 3.47)}
FASTER = {"dnnvm": 1.44, "efficient_s": 1.10}

# Table 4: percent saved on each accelerator against its own layers one by one.
TABLE_4 = {
    "eyeriss": dict(zip(EIGHT, (33.25, 31.75, 49.56, 34.44, 35.09, 23.77, 55.05, 87.59))),
    "shidiannao": dict(zip(EIGHT, (37.86, 52.45, 49.45, 24.39, 34.43, 23.88, 57.28, 85.26))),
    "lower bound": dict(zip(EIGHT, (32.43, 27.41, 47.31, 16.86, 33.82, 25.32, 57.08, 84.29))),
}

# Table 3: side of the array, bytes of a register file, KiB of buffer.
TABLE_3 = (
    *((16, 64, 128), (32, 64, 128), (16, 64, 256), (32, 64, 256)),
    *((8, 64, 512), (16, 64, 512), (32, 32, 512), (64, 32, 512)),
)
