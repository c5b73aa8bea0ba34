"""What the Optimus paper states in words and tables: beside which our numbers stand.

Its figures are not in numbers anywhere; what the text says of them is all there is to compare with.
"""

from __future__ import annotations

from typing import NamedTuple

from planners.papers.report import StatedRange

KIB = 1024
BUFFER_BYTES = 128 * KIB  # Table 2
IMAGES = 4  # section 7.1
CHANNEL_TILE = 16  # T_c of O_w|C_out on 16 x 16 processing elements

EIGHT = (
    *("alexnet", "vgg16", "googlenet", "resnet18", "resnet50", "resnet152"),
    *("mobilenet_v2", "squeezenet1_0"),
)
NASNET = "timm:nasnetalarge"


class SearchRow(NamedTuple):
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
    "vgg16": SearchRow(1, 18, 171, 80, 0.36, 0.48, 0.18, 0.11, 8),
    "resnet50": SearchRow(2, 52, 3510, 195, 14.59, 2.73, 0.64, 0.29, 31),
    "resnet152": SearchRow(2, 154, 24250, 467, 173.43, 5.01, 3.22, 0.23, 99),
    "resnet1202": SearchRow(2, 1204, 80825, 8085, 642.65, 383.95, 66.29, 5.26, 841),
    "googlenet": SearchRow(4, 72, 50436, 423, 514.53, 27.89, 3.43, 0.64, 21),
    "squeezenet1_0": SearchRow(2, 38, 1057, 216, 3.39, 2.19, 0.47, 0.24, 8),
    NASNET: SearchRow(10, 456, 2.9e7, 1627, 3.28e5, 8713.16, 45.38, 274.10, 328),
}

SLACK = 0.05  # of a share: figures are read off, and traffic is not the paper's to the byte


def _saved(fuser: str, least: float, most: float) -> StatedRange:
    return StatedRange(
        f"DRAM accesses saved against {fuser} (Fig. 14)", least, most, SLACK, "{:.0%}"
    )


def _efficiency(fuser: str, least: float, most: float) -> StatedRange:
    what = f"Energy efficiency against {fuser} without the ALUs (Fig. 13)"
    return StatedRange(what, least, most, SLACK, "{:.2f}", " times")


# Sections 7.3 and 7.4; `FASTER` is the mean latency.
SAVED = {
    "dnnvm": _saved("DNNVM", 0.19, 0.75),
    "efficient_s": _saved("Efficient-S", 0.17, 0.58),
}
EFFICIENCY = {
    "dnnvm": _efficiency("DNNVM", 1.89, 3.66),
    "efficient_s": _efficiency("Efficient-S", 1.86, 3.47),
}
FASTER = {"dnnvm": 1.44, "efficient_s": 1.10}

# Table 4: shares saved on each accelerator against its own layers one by one.
TABLE_4 = {
    "eyeriss": dict(zip(EIGHT, (0.3325, 0.3175, 0.4956, 0.3444, 0.3509, 0.2377, 0.5505, 0.8759))),
    "shidiannao": dict(
        zip(EIGHT, (0.3786, 0.5245, 0.4945, 0.2439, 0.3443, 0.2388, 0.5728, 0.8526))
    ),
    "lower bound": dict(
        zip(EIGHT, (0.3243, 0.2741, 0.4731, 0.1686, 0.3382, 0.2532, 0.5708, 0.8429))
    ),
}

# Table 3: side of the array, bytes of a register file, KiB of buffer.
TABLE_3 = (
    *((16, 64, 128), (32, 64, 128), (16, 64, 256), (32, 64, 256)),
    *((8, 64, 512), (16, 64, 512), (32, 32, 512), (64, 32, 512)),
)
