"""The rectangles of a plan's address map as data for placing them by hand in a browser."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import fixed_stays, room_of


def stays_data(shown: DisplayedPlan) -> list[dict[str, Any]]:
    """Each stay on chip: instructions in which it is there, steps, bytes, and where it lies.

    Empty where a stay cannot lie elsewhere alone, or memories are parts of the chip's.
    """
    plan, residencies = shown.plan, shown.report.residencies
    onchip = [residency for residency in residencies if residency.memory == shown.memories[0]]
    whole = range(plan.budget_bytes)
    if len(onchip) != len(residencies) or any(
        fixed or len(residency.spans) != 1 or room_of(plan, residency) != whole
        for fixed, residency in zip(fixed_stays(plan, residencies), residencies, strict=True)
    ):
        return []
    return [
        {
            "name": residency.tensor,
            "start": residency.start_instruction,
            "stop": residency.stop_instruction,
            "steps": list(shown.columns(residency)),
            "size": residency.size_bytes,
            "at": residency.spans[0].start,
        }
        for residency in onchip
    ]
