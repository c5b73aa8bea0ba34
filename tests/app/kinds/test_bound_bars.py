"""The lane of what binds operators: where it is, how long, and what it says."""

from __future__ import annotations

from collections import defaultdict

import pytest

import planners as sp
from app.kinds.binding_bars import LOOKS, BindingBars, bound_looks, in_sight
from app.kinds.registry import kind_of
from app.kinds.timeline_bars import MOST
from app.kinds.whole_tensors import engines_of
from app.outputs.notebook.pages import shown_page
from app.outputs.standalone.write import seen_of
from app.views.timing.timeline import timeline_legend_html
from planners.core.program import Compute
from planners.core.svg import Paints
from planners.simulator.binding import ARRAY, seconds_bound
from tests.app.networks import beginning


@pytest.mark.parametrize(
    ("planner", "machine"), [("fusion", "npu_small"), ("overlap", "stm32f746")]
)
def test_spans_hold_what_binds_each_operator(planner: str, machine: str) -> None:
    shown = seen_of(sp.plan(beginning("squeezenet1_1", "conv2d_5"), planner, "MR", machine)).shown
    kind = kind_of(shown)
    bars = kind.bars(shown, shown.trace)
    assert isinstance(bars, BindingBars)
    assert kind.lanes(shown, shown.trace) == ["compute", "bound", *engines_of(shown.trace)[1:]]
    runs = [
        each
        for each in shown.trace.intervals
        if isinstance(shown.instructions[each.instruction], Compute)
    ]
    assert (bars.spans[0].start_s, bars.spans[-1].stop_s) == (runs[0].start_s, runs[-1].stop_s)
    inside: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        span = next(s for s in bars.spans if s.start_s <= run.start_s and run.stop_s <= s.stop_s)
        assert run.label in span.operators
        assert shown.bindings[run.label].binds == span.part
        inside[span.part] += run.stop_s - run.start_s
    assert sum(inside.values()) == pytest.approx(shown.trace.busy_s["compute"])
    assert sum(seconds_bound([*shown.bindings.values()]).values()) == pytest.approx(
        sum(inside.values())
    )
    rows, _ = bars.columns(0.0, shown.trace.makespan_s)
    assert len({len(column) for column in rows.values()}) == 1
    assert rows["lane"].count("bound by") == len(bars.spans) <= MOST
    bound = {
        (rows["colour"][i], rows["what"][i])
        for i, lane in enumerate(rows["lane"])
        if lane == "bound by"
    }
    if machine == "npu_small":
        assert (LOOKS[ARRAY][0], "bound by steps of the array that are not full") in bound
    looks = [rows[name] for name in ("lane", "colour", "hatch")]
    drawn = {(colour, hatch) for lane, colour, hatch in zip(*looks, strict=True) if "by" in lane}
    assert {(colour, hatch) for colour, hatch, *_ in bound_looks(shown)} == drawn
    legend = timeline_legend_html(shown, serial=False)
    assert all(f"</i>{name}</span>" in legend for _, _, name, _ in bound_looks(shown))
    assert "bound by" not in timeline_legend_html(shown, serial=True)
    assert kind.lanes(shown, shown.serial_trace) == engines_of(shown.serial_trace)
    assert not isinstance(kind.bars(shown, shown.serial_trace), BindingBars)
    assert "bound by" in shown_page(shown, Paints("test"))


def test_thin_spans_are_one_by_what_binds_most_of_them() -> None:
    shown = seen_of(sp.plan(beginning("squeezenet1_1", "conv2d_5"), "fusion", "MR")).shown
    bars = kind_of(shown).bars(shown, shown.trace)
    assert isinstance(bars, BindingBars)
    apart = shown.trace.makespan_s
    together = in_sight(bars.spans, apart)
    assert [len(each) for each in together] == [len(bars.spans)] != [1]
    rows, _ = bars.bundles(0.0, shown.trace.makespan_s, apart)
    (what,) = (w for w, lane in zip(rows["what"], rows["lane"], strict=True) if lane == "bound by")
    assert what.startswith("mostly bound by ")
