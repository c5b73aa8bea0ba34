"""Glyphs with hatches: one layer per hatch, because the browser draws a separate hatch for each row
where rows differ: ten seconds for three thousand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.widgets.glyphs import GlyphLayer, put

PLAIN = " "


def hatched(
    plot: figure, kind: str, source: ColumnDataSource, hatches: Iterable[str], **style: Any
) -> list[GlyphLayer]:
    """Draw rows of a source as glyphs of a kind, each with the hatch that its column `hatch` names.

    `hatches` are all that may occur. Taps and hovers know rows by their place in the source.
    """
    plain = {name: value for name, value in style.items() if not name.startswith("hatch_")}
    layers = []
    for hatch in dict.fromkeys(hatches):
        look = plain if hatch == PLAIN else {**style, "hatch_pattern": hatch}
        layers.append(put(plot, kind, source=source, only=("hatch", hatch), **look))
    return layers
