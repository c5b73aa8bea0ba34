"""The rows of a selected range of steps."""

from __future__ import annotations

from app.display.displayed_plan import DisplayedPlan
from app.display.step_ranges import StepRange, facts_in
from app.kinds.kind import Row, fact
from app.model.units import seconds_text
from planners.core.units import format_bytes


def range_rows(shown: DisplayedPlan, span: StepRange) -> list[Row]:
    """Time, operators, bytes in and out and of which kind, waits and the peak of a range."""
    facts = facts_in(shown, span)
    count = span.stop - span.start
    title = f"steps {span.start + 1}–{span.stop}: {count} step{'s' * (count > 1)}"
    rows = [
        fact(f"{title}, {len(facts.operators)} operators", seconds_text(facts.seconds)),
        fact(f"comes in: {_tensors(facts.tensors_in)}", format_bytes(facts.moved_in_bytes)),
        fact(f"goes out: {_tensors(facts.tensors_out)}", format_bytes(facts.moved_out_bytes)),
    ]
    for kind, size in sorted(facts.by_kind.items(), key=lambda item: -item[1]):
        rows.append(fact(f"of that {kind}s", format_bytes(size)))
    for engine, taken in facts.waits_s.items():
        rows.append(fact(f"{engine.replace('_', ' ')} waits", seconds_text(taken)))
    rows.append(fact(f"peak, in step {facts.peak_step + 1}", format_bytes(facts.peak_bytes)))
    return rows


def _tensors(count: int) -> str:
    return f"{count} tensor{'s' * (count != 1)}"
