"""Taps on points of a chart, as the browser reports them."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource


def tapped_rows(source: ColumnDataSource, indices: Sequence[int]) -> list[int]:
    """The row that a tap has chosen, which is then free to be tapped again; none where the chart
    has other points by now."""
    if not indices:
        return []
    source.selected.indices = []
    rows = min((len(column) for column in source.data.values()), default=0)
    return [int(indices[0])] if 0 <= indices[0] < rows else []
