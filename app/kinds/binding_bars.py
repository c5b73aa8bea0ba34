"""The timeline's lane of what binds: under the operators, which part of the machine they wait for.

Operators one after the other that the same part binds are one bar; where bars are thinner than a
line, those that lie together are one too, by what binds most of their seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.timeline_bars import BOUND, COLUMNS, ENDS_IN_SIGHT, MOST, Bars, Columns, lane_name
from app.model.units import seconds_text
from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PLAIN, PURPLE, VERMILLION, YELLOW
from planners.core.program import Compute
from planners.simulator.binding import ARRAY, GIVEN, MACS, SETUP, VECTOR, utilisation

LOOKS = {
    MACS: (BLUE, PLAIN),
    ARRAY: (ORANGE, "right_diagonal_line"),
    VECTOR: (YELLOW, "vertical_line"),
    SETUP: (GREY, "left_diagonal_line"),
    GIVEN: (PURPLE, "horizontal_line"),
}
OF_MEMORY, OF_TRANSFERS = (GREEN, "dot"), (VERMILLION, "diagonal_cross")
"""How bars look that bytes on chip bind, and those that transfers bind."""
WORDS = {
    LOOKS[MACS]: ("MACs", "operators whose MACs, at full rate, take most of their time"),
    LOOKS[ARRAY]: ("array not full", "their steps leave some multipliers of the array idle"),
    LOOKS[VECTOR]: ("output elements", "the vector unit, which computes the elements of outputs"),
    LOOKS[SETUP]: ("setup", "setup takes most of their time"),
    LOOKS[GIVEN]: ("given", "their time was measured or given"),
    OF_MEMORY: ("bytes on chip", "reads and writes of a memory on chip"),
    OF_TRANSFERS: ("transfers", "compute waits for transfers to or from off chip"),
}
"""What bars of each look are called, and what that means."""
HATCHES = (*(hatch for _, hatch in LOOKS.values()), OF_MEMORY[1], OF_TRANSFERS[1])


@dataclass(slots=True)
class BindingSpan:
    """Operators that run one after the other from `start_s` to `stop_s`, bound by the same."""

    start_s: float
    stop_s: float
    step: int
    operators: dict[str, None]
    part: str


class BindingBars(Bars):
    """The bars of a trace, and what binds the operators meanwhile."""

    def __init__(self, shown: DisplayedPlan, trace: sp.Trace) -> None:
        super().__init__(shown.names, trace)
        self.shown = shown
        self.spans = bound_spans(shown, trace)

    def columns(self, start: float, stop: float) -> tuple[Columns, Columns]:
        bars, waits = super().columns(start, stop)
        spans = self._spans(start, stop)
        apart = (stop - start) / ENDS_IN_SIGHT if len(spans) > MOST else 0.0
        return self._with(bars, spans, apart), waits

    def bundles(self, start: float, stop: float, apart: float = 0.0) -> tuple[Columns, Columns]:
        apart = apart or (stop - start) / ENDS_IN_SIGHT
        bars, waits = super().bundles(start, stop, apart)
        return self._with(bars, self._spans(start, stop), apart), waits

    def _spans(self, start: float, stop: float) -> list[BindingSpan]:
        return [span for span in self.spans if span.start_s < stop and span.stop_s > start]

    def _with(self, bars: Columns, spans: Sequence[BindingSpan], apart: float) -> Columns:
        for together in in_sight(spans, apart):
            for name, value in zip((*COLUMNS, "kind"), self._row(together), strict=True):
                bars.setdefault(name, []).append(value)
        return bars

    def _row(self, together: Sequence[BindingSpan]) -> tuple[Any, ...]:
        first, last = together[0], together[-1]
        seconds: defaultdict[str, float] = defaultdict(float)
        for span in together:
            seconds[span.part] += span.stop_s - span.start_s
        part = max(seconds, key=lambda name: seconds[name])
        names = list(dict.fromkeys(name for span in together for name in span.operators))
        bindings = [self.shown.bindings[name] for name in names]
        sentence = next(each.sentence for each in bindings if each.binds == part)
        colour, hatch = look_of(part, sentence)
        label = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        what = f"{'mostly ' if len(seconds) > 1 else ''}bound by {sentence}"
        used = utilisation(bindings, self.shown.plan.machine)
        when = f"{seconds_text(last.stop_s - first.start_s)} from {seconds_text(first.start_s)}"
        share_text = f"{used:.1%} of the MACs possible in this time at the full rate"
        places = (first.start_s, last.stop_s, lane_name(BOUND))
        return (*places, colour, hatch, label, what, when, first.step + 1, share_text, "operator")


def bound_looks(shown: DisplayedPlan) -> list[tuple[str, str, str, str]]:
    """The colour, hatch, name and meaning of each look that the lane has for a plan."""
    looks = {look_of(each.binds, each.sentence) for each in shown.bindings.values() if each.binds}
    return [(*look, *words) for look, words in WORDS.items() if look in looks]


def look_of(part: str, sentence: str) -> tuple[str, str]:
    """The colour and the hatch of what binds."""
    return LOOKS.get(part, OF_TRANSFERS if sentence.startswith("transfers") else OF_MEMORY)


def bound_spans(shown: DisplayedPlan, trace: sp.Trace) -> list[BindingSpan]:
    """What binds operators, in the order in which they run; waits between them are of the span."""
    spans: list[BindingSpan] = []
    for each in trace.intervals:
        if not isinstance(shown.instructions[each.instruction], Compute):
            continue
        part = shown.bindings[each.label].binds
        if not part:
            continue
        if not spans or spans[-1].part != part:
            spans.append(BindingSpan(each.start_s, each.stop_s, each.step, {}, part))
        spans[-1].operators[each.label] = None
        spans[-1].stop_s = each.stop_s
    return spans


def in_sight(spans: Sequence[BindingSpan], apart: float) -> list[list[BindingSpan]]:
    """Spans longer than `apart` alone, and those between them together."""
    rows: list[list[BindingSpan]] = []
    for span in spans:
        short = span.stop_s - span.start_s <= apart
        if rows and short and rows[-1][-1].stop_s - rows[-1][-1].start_s <= apart:
            rows[-1].append(span)
        else:
            rows.append([span])
    return rows
