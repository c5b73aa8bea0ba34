"""A range of steps tells what a count of the program's instructions tells."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from bokeh.events import SelectionGeometry
from bokeh.plotting import figure

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.step_ranges import StepRange, between, facts_in, range_of
from app.views.panels.tables import detail_rows
from app.views.timing.step_range import RangeMarks
from app.widgets.palette import LIGHT
from planners.core.program import Load, Store
from tests.plans import plan_of


@pytest.fixture(scope="module")
def spilled() -> DisplayedPlan:
    return show(json.dumps(plan_of("vit_b_16", budget="MR").to_json()))


def test_bytes_waits_and_peak_are_those_of_the_instructions(spilled: DisplayedPlan) -> None:
    rng = random.Random(5)
    program, graph = spilled.plan.program, spilled.graph
    for _ in range(30):
        span = StepRange(*sorted(rng.sample(range(spilled.steps + 1), 2)))
        found = facts_in(spilled, span)
        some = [i for i in program.instructions if span.start <= i.step < span.stop]
        for kind, told in ((Load, found.moved_in_bytes), (Store, found.moved_out_bytes)):
            moved = [i.piece.tensor for i in some if isinstance(i, kind)]
            assert told == sum(map(graph.size_bytes, moved))
        held = spilled.report.occupancy[span.start : span.stop]
        assert found.peak_bytes == max(held)
        assert held[found.peak_step - span.start] == found.peak_bytes
        intervals = [i for i in spilled.trace.intervals if span.start <= i.step < span.stop]
        waited = sum(i.stall_s for i in intervals)
        assert sum(found.waits_s.values()) == pytest.approx(waited)
        assert sum(found.by_kind.values()) == found.moved_in_bytes + found.moved_out_bytes
    whole = facts_in(spilled, StepRange(0, spilled.steps))
    assert whole.moved_in_bytes + whole.moved_out_bytes == spilled.report.traffic_bytes
    assert whole.peak_bytes == spilled.report.peak_bytes


def test_a_range_is_a_selection_of_steps_that_there_are() -> None:
    span = StepRange(2, 9)
    assert span.selection == "steps:3-9"
    assert range_of(span.selection, 20) == span
    assert range_of("steps:9-3", 20) == span
    assert range_of("steps:15-99", 20) == StepRange(14, 20)
    for wrong in ("steps:30-40", "steps:3", "steps:a-b", "tensor:x", ""):
        assert range_of(wrong, 20) is None
    assert between(6.4, 2.2, 20) == StepRange(2, 7)
    assert between(-3, 99, 20) == StepRange(0, 20)
    assert between(-3, -1, 20) is None


def test_a_drag_over_steps_or_time_selects_and_is_marked(spilled: DisplayedPlan) -> None:
    taken: list[StepRange] = []
    steps, held, lanes = figure(), figure(), figure()
    ask = (lambda: spilled), (lambda: False)
    marks = RangeMarks(LIGHT, [steps, held], [lanes], ask, Warp, taken.append)

    def drag(plot: Any, x0: float, x1: float) -> None:
        where = {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1}
        plot._trigger_event(SelectionGeometry(plot, where, True))

    drag(held, 3.5, 8.5)
    assert taken == [StepRange(3, 9)]
    first, last = spilled.step_seconds[3][0], spilled.step_seconds[8][1]
    drag(lanes, first + 1e-12, last - 1e-12)
    assert taken[1] == taken[0]
    marks.mark(taken[0].selection)
    bands = [*marks.by_step, *marks.by_time]
    assert all(band.visible for band in bands)
    assert (bands[0].left, bands[0].right) == (3, 9)
    assert (bands[2].left, bands[2].right) == pytest.approx((first, last))
    rows = detail_rows(spilled, taken[0].selection)
    assert rows[0]["text"].startswith("steps 4–9: 6 steps")
    marks.mark("")
    assert not any(band.visible for band in bands)
