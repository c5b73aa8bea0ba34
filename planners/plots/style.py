"""What all views share: sizes on axes, hover, and how many rectangles a browser is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import AdaptiveTicker, CustomJSTickFormatter
from holoviews.plotting.bokeh import BokehRenderer  # Without it no option is known.

from planners.core.tables.table import Numbers

BACKEND = BokehRenderer.backend
WIDTH, HEIGHT = 800, 300
MOST = 20_000
"""Rectangles of a view: a browser draws more only slowly."""
KIB_TICKER = AdaptiveTicker(base=1024, mantissas=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
FORMAT_BYTES = CustomJSTickFormatter(
    code="""
    const units = ['B', 'KiB', 'MiB', 'GiB'];
    let n = tick, unit = 0;
    while (Math.abs(n) >= 1024 && unit < 3) { n /= 1024; unit += 1; }
    return `${+n.toPrecision(4)} ${units[unit]}`;
    """
)
FORMAT_SECONDS = CustomJSTickFormatter(
    code="""
    const s = Math.abs(tick);
    if (s === 0) return '0';
    const [scale, unit] = s >= 1 ? [1, 's'] : s >= 1e-3 ? [1e3, 'ms'] : [1e6, 'µs'];
    return `${+(tick * scale).toPrecision(4)} ${unit}`;
    """
)


def dressed(view: Any, **options: Any) -> Any:
    """A view with options of the bokeh backend; data and axes stay."""
    return view.opts(backend=BACKEND, **options)


def largest(areas: Numbers, most: int = MOST) -> Numbers:
    """Positions of the largest rectangles, in their order: all of them where they are few."""
    if len(areas) <= most:
        return np.arange(len(areas))
    return np.sort(np.argsort(areas, kind="stable")[-most:])


def titled(title: str, drawn: int, every: int) -> str:
    """A title that says where not all is drawn."""
    return title if drawn == every else f"{title} (the {drawn:,} largest of {every:,})"


def tips(*rows: Sequence[str]) -> list[tuple[str, str]]:
    """Rows of a hover tooltip: what it says, and the column."""
    return [(words, f"@{{{column}}}") for words, column in rows]
