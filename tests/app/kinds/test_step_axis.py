"""What is across an address map: steps, or times at which they end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import Range1d

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.explorer import Explorer
from app.kinds.map_rows import row_of
from app.kinds.registry import kind_of
from app.kinds.step_axis import axis_of, is_timed
from app.kinds.strips import Strips
from app.session.session import Session
from app.views.memory.address_map import AddressMap
from app.views.memory.brush import LONG, Brush, highest_of
from app.views.memory.occupancy import Occupancy
from app.widgets.palette import DARK, LIGHT


@pytest.mark.parametrize("serial", [False, True])
def test_a_step_lasts_from_where_the_one_before_ends(drawn: DisplayedPlan, serial: bool) -> None:
    trace = drawn.serial_trace if serial else drawn.trace
    ends = drawn.serial_step_ends if serial else drawn.step_ends
    assert (len(ends), ends[0], ends[-1]) == (drawn.steps + 1, 0.0, trace.makespan_s)
    assert all(a <= b for a, b in pairwise(ends))
    last = dict[int, float]()
    for interval in trace.intervals:
        if interval.engine == "compute":
            last[interval.step] = max(interval.stop_s, last.get(interval.step, 0.0))
    assert all(ends[step + 1] == stop for step, stop in last.items() if step + 1 < drawn.steps)


def test_nothing_asked_leaves_it_to_the_plan(drawn: DisplayedPlan, shown: DisplayedPlan) -> None:
    assert not is_timed(shown, "")
    assert is_timed(shown, "time")
    assert not is_timed(drawn, "steps")
    ends = np.array(drawn.step_ends) / drawn.trace.makespan_s
    furthest = max(abs(end - k / drawn.steps) for k, end in enumerate(ends))
    assert is_timed(drawn, "") == (furthest > 0.2)
    assert axis_of(drawn, "steps", serial=False).same


def test_a_map_over_time_has_the_same_pieces_elsewhere(drawn: DisplayedPlan) -> None:
    by_step, by_time = (AddressMap(LIGHT, Range1d(0, 1), most=10**6) for _ in range(2))
    axis, memory = axis_of(drawn, "time", serial=False), drawn.memories[0]
    ends = drawn.step_ends
    by_step.steps.update(start=0, end=drawn.steps)
    by_time.steps.update(start=0, end=ends[-1])
    by_step.show(drawn, memory)
    by_time.show(drawn, memory, moved=axis)
    one, other = by_step.source.data, by_time.source.data
    assert other["tensor"] == one["tensor"]
    for side in ("left", "right"):
        assert list(other[side]) == [ends[int(step)] for step in one[side]]
        assert list(other["begin" if side == "left" else "end"]) == list(one[side])
    for side in ("bottom", "top"):
        assert list(other[side]) == list(one[side])
    bands = kind_of(drawn).bands(drawn, {})
    assert by_time.groups.source.data["left"] == [ends[band.start_step] for band in bands]
    assert tuple(by_time.edges.data["at"]) == ends
    assert not len(by_step.edges.data["at"])


def test_bytes_held_are_over_the_same_times(drawn: DisplayedPlan) -> None:
    ends, steps = drawn.step_ends, Range1d(0, drawn.trace.makespan_s)
    held = Occupancy(LIGHT, steps)
    held.show(drawn, moved=axis_of(drawn, "time", serial=False))
    data = held.source.data
    assert [ends[step - 1] for step in data["step"]] == data["left"]
    assert [drawn.report.occupancy[step - 1] for step in data["step"]] == data["top"]
    held.set_axis(timed=True)
    assert held.figure.xaxis[0].axis_label == "time"


def test_places_of_steps_that_take_no_time() -> None:
    still = Warp((0.0, 1.0, 2.0, 3.0), (0.0, 5.0, 5.0, 5.0))
    assert [still(step) for step in (0, 0.5, 1, 2, 3, 4)] == [0, 2.5, 5, 5, 5, 5]
    assert still.back(2.5) == 0.5
    assert 1 <= still.back(5.0) <= 3
    both = Warp((0.0, 2.0), (0.0, 4.0)).then(Warp((0.0, 1.0, 4.0), (0.0, 10.0, 40.0)))
    assert [both(place) for place in (0, 0.5, 1, 2)] == [0, 10, 20, 40]
    assert Warp().then(still) is still
    assert still.then(Warp()) is still


def test_a_long_plan_has_a_brush(drawn: DisplayedPlan, shown: DisplayedPlan) -> None:
    brush = Brush(LIGHT, Range1d(0, 1))
    for each in (drawn, shown):
        memory = each.memories[0]
        brush.show(each, Warp(), memory, each.steps)
        assert brush.wanted == (each.steps > LONG)
        if brush.wanted:
            assert max(brush.held.data["top"]) == max(each.report.occupancy)
            assert brush.held.data["right"][-1] == brush.x_range.end == each.steps
    assert highest_of([1, 5, 2, 2, 7], range(0, 5, 2)) == [5, 2, 7]


@pytest.mark.parametrize("moved", [Warp(), Warp((0.0, 9.0), (0.0, 3.0))])
def test_strips_have_no_lines_wherever_they_are(moved: Warp) -> None:
    view = AddressMap(LIGHT, Range1d(0, 9))
    view.y_range.end, view.moved = 20, moved
    view.open(Strips([row_of((2, 4), (7, 9), "loaded", "x")]))
    drawn = [layer for layer in view.rects if layer.has_rows]
    assert drawn
    assert [layer.renderer.glyph.line_alpha for layer in drawn] == [0.0]


def test_a_brush_turns_with_the_page_while_it_is_not_there() -> None:
    theme = replace(LIGHT)
    explorer = Explorer(Session(None), theme)  # type: ignore[arg-type]
    assert explorer.brush.figure.document is None
    Document().add_root(explorer.map.figure)
    explorer.turn(DARK)
    assert explorer.brush.tool.overlay.fill_color == DARK.accent
