"""The map's rectangles as columns for the browser: numbers as bytes, words once.

Texts for each row would be six times as many bytes; a hover makes its lines when it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, CustomJSHover

from app.kinds.map_rows import Row
from app.model.paths import script
from app.widgets.glyphs import GlyphLayer, put
from app.widgets.palette import tooltip
from planners.core.colours import PLAIN, ROLES, STAYS, STREAMED

LOOKS = tuple(
    dict.fromkeys(
        (colour, hatch) for looks in (STAYS, ROLES, STREAMED) for colour, hatch, _ in looks.values()
    )
)
"""The colour and the hatch of a rectangle, by the number that its column `look` has."""
SIDES = ("left", "right", "bottom", "top")
CODED = ("what", "size", "story")
"""Columns that number the words in another source."""
COLUMNS = (*SIDES, "look", "tensor", *CODED)
MOVED = ("begin", "end")
"""The own steps of a rectangle that is drawn at other ones."""
TOLD = script("map_told")


def map_columns(rows: Sequence[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of rectangles, and those of the words that they number."""
    words: dict[str, int] = {}
    looks = {look: number for number, look in enumerate(LOOKS)}
    columns: dict[str, Any] = {name: _numbers([row[name] for row in rows]) for name in SIDES}
    columns["look"] = np.array([looks[row["colour"], row["hatch"]] for row in rows], np.uint8)
    columns["tensor"] = [row["tensor"] for row in rows]
    for name in CODED:
        codes = [words.setdefault(row[name], len(words)) for row in rows]
        columns[name] = np.array(codes, np.uint16 if len(words) < 2**16 else np.uint32)
    for name in MOVED if any("begin" in row for row in rows) else ():
        columns[name] = _numbers([row[name] for row in rows])
    return columns, {"text": list(words)}


def _numbers(values: Iterable[float]) -> Any:
    """Steps or addresses in as few bytes each as are exact, and BokehJS has."""
    exact = np.array(list(values), np.float64)
    for kind in (np.int16, np.int32):
        if abs(exact).max(initial=0) <= np.iinfo(kind).max:
            whole = exact.astype(kind)
            return whole if np.array_equal(whole, exact) else exact
    return exact


def rectangles(plot: Any, source: ColumnDataSource, **style: Any) -> list[GlyphLayer]:
    """A layer for each look: the browser would draw a separate hatch for each row."""
    plain = {name: value for name, value in style.items() if not name.startswith("hatch_")}
    sides = {side: side for side in SIDES}
    layers = []
    for number, (colour, hatch) in enumerate(LOOKS):
        look = plain if hatch == PLAIN else {**style, "hatch_pattern": hatch}
        only = ("look", number)
        layers.append(
            put(plot, "quad", source=source, only=only, fill_color=colour, **sides, **look)
        )
    return layers


def told(source: ColumnDataSource, words: ColumnDataSource) -> dict[str, Any]:
    """The hover of a rectangle: what it is, its size, address, steps and story."""
    hover = CustomJSHover(args={"source": source, "words": words}, code=TOLD)
    lines = ("@what{word}, @size{word}", "@look{address}", "@left{steps}", "@story{word}")
    columns = ("what", "size", "look", "left", "story")
    return {
        "tooltips": tooltip("@tensor", *lines),
        "formatters": {f"@{column}": hover for column in columns},
    }
