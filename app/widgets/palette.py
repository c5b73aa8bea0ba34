"""Colours (Okabe and Ito's, distinguishable by colour-blind people) and how figures look in a
theme."""

from __future__ import annotations

from dataclasses import dataclass, fields

from bokeh.models import BoxAnnotation
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

FONT = "'Segoe UI', Arial, Helvetica, sans-serif"


@dataclass(slots=True)
class Theme:
    """What differs between light and dark; `alarm` and `accent` are for words, which need more
    contrast than areas.

    A page has one of its own, which all its views hold: it `becomes` another when the visitor
    changes it. Colours are told apart by their values (`app.widgets.recolour`), so roles that do
    not change together must not have the same.
    """

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

    def become(self, other: Theme) -> None:
        """Have the colours of another theme from now on."""
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))


LIGHT = Theme(
    dark=False,
    text="#1f2933",
    faint="#5f6b76",
    grid="#e4e8ec",
    panel="#ffffff",
    page="#f4f6f8",
    hover="#e8f1f8",
    cursor="#1f2934",
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


def sequential(value: float, highest: float, theme: Theme) -> str:
    """A colour of a sequential scale (cividis): `highest` stands out most from the page."""
    share = min(1.0, max(0.0, value / highest if highest else 0.0))
    return str(Cividis256[round(255 * (share if theme.dark else 1 - share))])


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
        syncable=False,
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
