"""Views of many pieces: what a screen can show of them is drawn, and each when one zooms in."""

from __future__ import annotations

import pytest
from bokeh.models import Range1d

from app.display.detail import Sight
from app.display.displayed_plan import DisplayedPlan
from app.kinds.map_rows import MapRows
from app.kinds.visible_rows import MERGED, RowsInSight
from app.views.memory.address_map import AddressMap
from app.views.memory.map_columns import COLUMNS
from app.views.memory.occupancy import Occupancy
from app.widgets.palette import LIGHT

MOST = 60
PIXELS = (90, 40)


@pytest.fixture
def steps(shown: DisplayedPlan) -> Range1d:
    return Range1d(0, shown.steps)


@pytest.fixture
def memory_map(shown: DisplayedPlan, steps: Range1d) -> AddressMap:
    """An address map that draws few rectangles at once."""
    view = AddressMap(LIGHT, steps, most=MOST)
    view.show(shown, shown.memories[0])
    return view


def test_small_pieces_are_merged_and_said_to_be(
    shown: DisplayedPlan, memory_map: AddressMap
) -> None:
    view, every = memory_map, len(MapRows(shown, shown.memories[0]).boxes)
    names = list(view.source.data["tensor"])
    assert set(view.source.data) == set(COLUMNS)
    assert every > MOST >= len(names)
    each = [name for name in names if name != MERGED]
    assert names[: -len(each)] == [MERGED] * (len(names) - len(each)), "pieces are in front"
    assert f"{len(each)} of {every} pieces shown" in view.note.text
    assert "zoom in" in view.note.text
    words = view.words.data["text"]
    counts = [words[code].split(" ")[0] for code in view.source.data["what"][: -len(each)]]
    assert sum(int(n) for n in counts if n.isdigit()) == every - len(each)


def test_zooming_in_shows_each_piece(
    shown: DisplayedPlan, memory_map: AddressMap, steps: Range1d
) -> None:
    view, rows = memory_map, MapRows(shown, shown.memories[0])
    middle = shown.steps // 2
    steps.update(start=middle, end=middle + 3)
    assert not view.note.text
    assert MERGED not in view.source.data["tensor"]
    there = {row["tensor"] for row in rows.rows(middle, middle + 3)}
    assert there <= set(view.source.data["tensor"])


def test_the_browser_is_told_of_merged_pieces(shown: DisplayedPlan, memory_map: AddressMap) -> None:
    view = memory_map
    drawn = set(view.source.data["tensor"])
    hidden = next(stay for stay in shown.report.residencies if stay.tensor not in drawn)
    view.seek({hidden.tensor})
    found = view.pieces.data
    assert shown.columns(hidden) in set(zip(found["left"], found["right"], strict=True))
    assert set(found["tensor"]) == {hidden.tensor}
    view.steps.update(start=0, end=2)  # each piece is drawn
    assert view.pieces.data["tensor"] == []


def test_a_short_pan_asks_for_nothing(shown: DisplayedPlan) -> None:
    pieces = MapRows(shown, shown.memories[0])
    rows, high = RowsInSight(pieces, MOST), float(pieces.boxes.top.max())

    def sight(start: float, wide: float) -> Sight:
        return Sight(start, start + wide, 0, high, wide / PIXELS[0], high / PIXELS[1])

    wide = shown.steps / 2
    assert rows.new(sight(10, wide)) is not None
    assert rows.new(sight(10, wide)) is None
    assert rows.new(sight(10 + wide / 4, wide)) is None
    assert rows.new(sight(10, wide / 2)) is not None, "finer pixels show more"
    assert not rows.merged, "so few are drawn each"


def test_bars_of_held_bytes_keep_the_highest(shown: DisplayedPlan, steps: Range1d) -> None:
    view = Occupancy(LIGHT, steps, most=20)
    view.show(shown)
    held, bars = shown.report.occupancy, view.source.data
    assert len(bars["left"]) <= 20
    for left, right, top, step in zip(bars["left"], bars["right"], bars["top"], bars["step"]):
        assert top == max(held[left:right]) == held[step - 1]
    assert (bars["left"][0], bars["right"][-1]) == (0, shown.steps)
    assert max(bars["top"]) == shown.report.peak_bytes
    steps.update(start=4, end=12)
    bars = view.source.data
    assert [step - 1 for step in bars["step"]] == bars["left"], "a bar for each step"
    assert {*range(4, 12)} <= {*bars["left"]}
