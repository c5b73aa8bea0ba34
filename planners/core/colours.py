"""Colours (Okabe and Ito's, distinguishable by colour-blind people) and hatches, by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#F0E442"
ORANGE, VERMILLION, PURPLE, GREY = "#E69F00", "#D55E00", "#CC79A7", "#8C96A0"
DARK_INK = "#10161c"
PLAIN = " "
"""No hatch."""

Style = tuple[str, str]
"""A colour and a hatch: the second channel for those who cannot distinguish the first."""

STAYS: Mapping[str, tuple[str, str, str]] = {
    "made here": (SKY, " ", "written by an operator, dies on chip"),
    "loaded": (GREEN, "dot", "first load of an input, of state or a parameter"),
    "leaves": (ORANGE, "right_diagonal_line", "leaves the chip and comes back later"),
    "came back": (VERMILLION, "left_diagonal_line", "retrieved after it had left"),
    "output": (PURPLE, "horizontal_line", "an output of the network, or its new state"),
}

ROLES: Mapping[str, tuple[str, str, str]] = {
    "input": (SKY, " ", "read by what runs at that time"),
    "output": (ORANGE, "right_diagonal_line", "written by what runs at that time"),
    "held": (GREEN, "dot", "kept for what runs later"),
    "workspace": (GREY, "left_diagonal_line", "line buffers and windows of what runs"),
}
"""What a part of a circular pool is to the run at the time."""

STREAMED: Mapping[str, tuple[str, str, str]] = {
    "running": (ORANGE, "right_diagonal_line", "parameters of the layer whose kernel runs"),
    "read ahead": (GREEN, "dot", "read, or being read, for a layer that runs later"),
    "to be copied": (PURPLE, "horizontal_line", "in the CPU ring until it is copied"),
    "activation": (SKY, " ", "the network's input and state, and what operators write"),
    "lost": (GREY, "left_diagonal_line", "left free at the ring's end: no layer may wrap"),
}
"""What bytes of a plan that streams its parameters are at the time."""

WAYS: Mapping[str, str] = {"pool": BLUE, "fused": ORANGE, "whole": GREEN}
"""Of a plan that joins the methods: how a stretch of operators runs."""

GROUPS = (ORANGE, BLUE, GREEN, PURPLE, YELLOW, VERMILLION, SKY)

KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("convolution", BLUE, ("conv",)),
    ("matrix product", PURPLE, ("linear", "matmul", "mm", "bmm", "addmm", "attention")),
    ("pooling", GREEN, ("pool", "mean", "interpolate", "upsample", "resize")),
    ("element-wise", ORANGE, ("add", "mul", "sub", "div", "sigmoid", "relu", "gelu", "silu")),
    ("rearrange", YELLOW, ("cat", "concat", "slice", "split", "pad", "permute", "shuffle", "roll")),
    ("normalise", VERMILLION, ("norm", "softmax")),
)


def family_of(operator_kind: str) -> tuple[str, str]:
    """The family of an operator's kind and its colour."""
    for family, colour, words in KINDS:
        if any(word in operator_kind for word in words):
            return family, colour
    return "other", GREY


def stay_of(origin: str, ending: str, is_output: bool) -> str:
    """Which of `STAYS` a residency is; where several apply, the most interesting one."""
    if origin == "retrieve":
        return "came back"
    if ending in ("spill", "drop"):
        return "leaves"
    if is_output or ending == "output":
        return "output"
    return "loaded" if origin == "load" else "made here"


def group_colour(group: int) -> str:
    """The colour of a fused group; seven colours repeat, so the name is always written beside
    it."""
    return GROUPS[group % len(GROUPS)]


@cache
def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    return max((DARK_INK, "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21; text needs 4.5 (WCAG 2.2, 1.4.3)."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 to 1 (WCAG 2.2, sRGB)."""
    shares = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
