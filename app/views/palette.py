"""Colours (Okabe and Ito's, told apart by colour-blind people) and how figures look in a theme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bokeh.models import BoxAnnotation
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

BLUE, SKY, GREEN, YELLOW = "#0072B2", "#56B4E9", "#009E73", "#F0E442"
ORANGE, VERMILLION, PURPLE, GREY = "#E69F00", "#D55E00", "#CC79A7", "#8C96A0"
DARK_INK = "#10161c"
FONT = "'Segoe UI', Arial, Helvetica, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """What differs between light and dark; `alarm` and `accent` are for words, which need more
    contrast than areas."""

    dark: bool
    text: str
    faint: str
    grid: str
    panel: str
    page: str
    hover: str
    cursor: str
    outline: str
    alarm: str
    accent: str


LIGHT = Theme(
    dark=False,
    text="#1f2933",
    faint="#5f6b76",
    grid="#e4e8ec",
    panel="#ffffff",
    page="#f4f6f8",
    hover="#e8f1f8",
    cursor="#1f2933",
    outline="#ffffff",
    alarm="#b34700",
    accent="#0072b2",
)
DARK = Theme(
    dark=True,
    text="#e6eaee",
    faint="#a3afba",
    grid="#333c45",
    panel="#1c2228",
    page="#12161a",
    hover="#27323c",
    cursor="#f5f7fa",
    outline="#1c2228",
    alarm="#ff8a3d",
    accent="#56b4e9",
)

Style = tuple[str, str]
"""A colour and a hatch: the second channel for those who cannot tell the first."""

STAYS: Mapping[str, tuple[str, str, str]] = {
    "made here": (SKY, " ", "written by an operator, dies on chip"),
    "loaded": (GREEN, "dot", "first load of an input or a parameter"),
    "leaves": (ORANGE, "right_diagonal_line", "leaves the chip and comes back later"),
    "came back": (VERMILLION, "left_diagonal_line", "retrieved after it had left"),
    "output": (PURPLE, "horizontal_line", "an output of the network"),
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
    "activation": (SKY, " ", "the network's input, and what operators write"),
    "lost": (GREY, "left_diagonal_line", "left free at the ring's end: no layer may wrap"),
}
"""What bytes of a plan that streams its parameters are at the time."""

GROUPS = (ORANGE, BLUE, GREEN, PURPLE, YELLOW, VERMILLION, SKY)

KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("convolution", BLUE, ("conv",)),
    ("matrix product", PURPLE, ("linear", "matmul", "mm", "bmm", "addmm", "attention")),
    ("pooling", GREEN, ("pool", "mean", "interpolate", "upsample", "resize")),
    ("element-wise", ORANGE, ("add", "mul", "sub", "div", "sigmoid", "relu", "gelu", "silu")),
    ("rearrange", YELLOW, ("cat", "concat", "slice", "split", "pad", "permute", "shuffle", "roll")),
    ("normalise", VERMILLION, ("norm", "softmax")),
)


def kind_of(operator_kind: str) -> tuple[str, str]:
    """The family of an operator's kind and its colour."""
    for family, colour, words in KINDS:
        if any(word in operator_kind for word in words):
            return family, colour
    return "other", GREY


def stay_of(origin: str, ending: str, is_output: bool) -> str:
    """Which of `STAYS` a residency is: what a person wants to see first decides."""
    if origin == "retrieve":
        return "came back"
    if ending in ("spill", "drop"):
        return "leaves"
    if is_output or ending == "output":
        return "output"
    return "loaded" if origin == "load" else "made here"


def group_colour(group: int) -> str:
    """The colour of a fused group; the next seven have others, and its name is always beside it."""
    return GROUPS[group % len(GROUPS)]


def sequential(value: float, highest: float, theme: Theme) -> str:
    """A colour of a sequential scale (cividis): `highest` stands out most from the page."""
    share = min(1.0, max(0.0, value / highest if highest else 0.0))
    return str(Cividis256[round(255 * (share if theme.dark else 1 - share))])


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


def dress(plot: figure, theme: Theme) -> figure:
    """Give a figure the theme's colours and small, legible type."""
    plot.background_fill_color = plot.border_fill_color = theme.panel
    plot.outline_line_color = None
    plot.title.text_color, plot.title.text_font = theme.text, FONT
    plot.title.text_font_size, plot.title.text_font_style = "12.5px", "bold"
    plot.grid.grid_line_color = theme.grid
    for axis in plot.axis:
        axis.axis_line_color = axis.major_tick_line_color = theme.faint
        axis.minor_tick_line_color = None
        axis.axis_label_text_color = axis.major_label_text_color = theme.text
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        # 11px, Bokeh's default, would count as not set, and the template's theme has larger type.
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "11.5px"
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_standoff = 4
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.min_border_right = 12
    return plot


def cursor_band(theme: Theme) -> BoxAnnotation:
    """The cursor: a narrow band over the step; the client moves it."""
    return BoxAnnotation(
        left=0,
        right=1,
        fill_color=theme.cursor,
        fill_alpha=0.10,
        line_color=theme.cursor,
        line_alpha=0.75,
        line_width=1,
        level="overlay",
        propagate_hover=True,
    )


TOOLTIP = (
    f"font: 12px {FONT}; max-width: 340px; line-height: 1.35; overflow-wrap: anywhere;"
    # Bokeh's box is white and has a padding of 5px: this one covers it, in the page's colours.
    " margin: -5px; padding: 5px 7px; color: var(--sw-text, #1f2933);"
    " background: var(--sw-panel, #ffffff)"
)


def tooltip(title: str, *lines: str) -> str:
    """A hover text: a title in bold and lines under it; `@name` are columns."""
    rows = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div style="{TOOLTIP}"><b>{title}</b>{rows}</div>'
