"""Taps on charts whose points are others by the time the server hears of them."""

from __future__ import annotations

import pytest
from bokeh.models import ColumnDataSource

from app.views.fronts.pareto import Pareto
from app.views.fronts.ram_front import RamFront
from app.widgets.palette import LIGHT
from app.widgets.taps import tapped_rows


def test_a_tap_chooses_its_row_and_the_point_can_be_tapped_again() -> None:
    source = ColumnDataSource({"x": [1, 2], "y": [3, 4]})
    source.selected.indices = [1]
    assert tapped_rows(source, [1]) == [1]
    assert source.selected.indices == []
    assert tapped_rows(source, []) == []


@pytest.mark.parametrize("stale", [2, 10_000, -1])
def test_a_row_that_is_no_longer_there_is_none(stale: int) -> None:
    assert tapped_rows(ColumnDataSource({"x": [1, 2]}), [stale]) == []


def test_charts_without_that_point_do_nothing() -> None:
    loaded: list[int] = []
    chart = Pareto(LIGHT, loaded.append)
    chart.points.selected.indices = [7]
    front = RamFront(LIGHT, loaded.append)
    front.source.selected.indices = [7]
    assert loaded == []
