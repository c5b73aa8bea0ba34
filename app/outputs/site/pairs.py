"""Comparisons of every two plans of a network, worked out beforehand by the explorer's own code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from app.display.compare import KINDS, differences, totals
from app.display.displayed_plan import DisplayedPlan
from app.model.units import joules_text, seconds_text
from planners.core.axis_break import drawn_bytes
from planners.core.units import format_bytes

TEXTS = {"B": format_bytes, "s": seconds_text, "J": joules_text}
MOST = 200  # differing tensors of a pair that are listed, those first that move the most bytes


def pairs_data(plans: Sequence[tuple[str, DisplayedPlan]]) -> dict[str, Any]:
    """By `one/other`: totals and tensors that differ; names of tensors are places in `tensors`.

    Kinds are places in `KINDS`, of which the first two, and the next two, are each other's
    opposites.
    """
    tensors: dict[str, int] = {}
    pairs = {}
    for (one, here), (other, there) in combinations(plans, 2):
        pair = differences(here, there)
        pairs[f"{one}/{other}"] = {
            "totals": [_total(*row) for row in totals(here, there)],
            "count": len(pair),
            "tensors": [
                [
                    tensors.setdefault(item.tensor, len(tensors)),
                    KINDS.index(item.kind),
                    format_bytes(item.here_bytes),
                    format_bytes(item.there_bytes),
                ]
                for item in pair[:MOST]
            ],
        }
    tops = {name: _top(shown) for name, shown in plans}
    return {"tensors": list(tensors), "pairs": pairs, "tops": tops}


def _top(shown: DisplayedPlan) -> int:
    used = shown.report.extent_bytes
    return max(used, drawn_bytes(used, shown.plan.budget_bytes))


def _total(name: str, here: float, there: float, unit: str) -> list[Any]:
    """Name, both values in words, the difference in words, and which is less: -1, 0 or 1."""
    text = TEXTS[unit]
    sign = (here > there) - (here < there)
    return [name, text(here), text(there), text(abs(here - there)), sign]
