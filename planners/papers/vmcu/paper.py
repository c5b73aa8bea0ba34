"""What the vMCU paper states, and what TinyEngine publishes: beside which our numbers stand.

Figures 7 to 12 are images; only what the text says of them is in numbers.
"""

from __future__ import annotations

from typing import NamedTuple

PUBLISHED_KIB = {
    "mcunet_vww1": 92,
    "mcunet_in0": 49,
    "mcunet_in1": 96,
    "mcunet_in2": 215,
    "mcunet_in3": 260,
    "mcunet_in4": 416,
}
"""Peak SRAM of MCUNet models as TinyEngine's authors publish it."""

F411RE_BYTES, F767ZI_BYTES = 128 * 1024, 512 * 1024
"""RAM of the two boards (section 7.1: 128 KB, 512 KB)."""


class Range(NamedTuple):
    """Shares from the least to the most, as stated of a figure."""

    least: float
    most: float


SINGLE_LAYER = Range(0.1201, 0.4945)  # section 7.2, Figure 7; the abstract: 12.0 % to 49.5 %
SINGLE_ENERGY = Range(0.206, 0.530)
SINGLE_LATENCY = Range(0.185, 0.400)
SAVED = {
    ("S", "TinyEngine"): Range(0.130, 0.615),
    ("S", "HMCOS"): Range(0.288, 0.716),
    ("B", "TinyEngine"): Range(0.112, 0.785),
    ("B", "HMCOS"): Range(0.265, 0.896),
}
"""Section 7.3, Figures 9 and 10: RAM saved by vMCU, module by module."""

BOTTLENECK = {"vMCU": ("B1", 102_700), "TinyEngine": ("B2", 247_800), "HMCOS": ("B3", 464_600)}
"""Section 7.3: the module that needs most of MCUNet-320KB-ImageNet, in bytes (KB are 1000)."""

BOTTLENECK_SAVED = {"S": 0.615, "B": 0.586}  # against TinyEngine: S1; B1 against B2
LATENCY_RATIO = 1.03  # of vMCU to TinyEngine over Table 3
IMAGE_HEADROOM, CHANNEL_HEADROOM = Range(1.29, 2.58), Range(1.26, 3.17)  # Figures 11 and 12

TABLE_3 = {
    "S1": (37, 37),
    "S2": (37, 37),
    "S3": (33, 35),
    "S4": (28, 29),
    "S5": (22, 24),
    "S6": (20, 19),
    "S7": (34, 36),
    "S8": (27, 28),
}
"""Milliseconds: vMCU's and TinyEngine's, as printed (measured on their board)."""
