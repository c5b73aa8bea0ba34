"""The rectangles of a plan's address map as data for placing them by hand in a browser."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import fixed_stays, room_of


def stays_data(shown: DisplayedPlan) -> list[dict[str, Any]]:
    """Each stay on chip: instructions in which it is there, steps, bytes, and where it lies.

    Empty where a stay cannot lie elsewhere alone, or memories are parts of the chip's.
    """
    plan, stays = shown.plan, shown.report.residencies
    onchip = [stay for stay in stays if stay.memory == shown.memories[0]]
    whole = range(plan.budget_bytes)
    if len(onchip) != len(stays) or any(
        fixed or len(stay.spans) != 1 or room_of(plan, stay) != whole
        for fixed, stay in zip(fixed_stays(plan, stays), stays, strict=True)
    ):
        return []
    return [
        {
            "name": stay.tensor,
            "start": stay.start_instruction,
            "stop": stay.stop_instruction,
            "steps": list(shown.columns(stay)),
            "size": stay.size_bytes,
            "at": stay.spans[0].start,
        }
        for stay in onchip
    ]
