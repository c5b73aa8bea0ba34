"""Another tool's plan, or the better one: what is live when and where it lies, and no more."""

from __future__ import annotations

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.kind import Card, Row
from app.kinds.tables import largest_tensors
from app.kinds.whole_tensors import WholeKind
from planners.audits.shown import is_allocation
from planners.core.units import format_bytes

EXTENT = "the highest address in use: the size that the memory must have"
LIVE = "the bytes live at once in the worst step: no placement of these lifetimes needs less"


class AllocationKind(WholeKind):
    """Its traffic and times are of no machine: cards are about addresses."""

    def made(self, shown: DisplayedPlan) -> bool:
        return is_allocation(shown.plan)

    def aim(self, plan: sp.Plan) -> str:
        return "highest address"

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        extent, live = shown.report.extent_bytes, shown.report.peak_bytes
        holes = f"{(extent - live) / extent:.1%} of it" if extent > live else "no bytes lost"
        return [
            Card(format_bytes(extent), "peak: highest address", "peak", EXTENT),
            Card(format_bytes(live), "live at once", "live-at-once", LIVE),
            Card(
                format_bytes(extent - live),
                f"more, {holes}",
                "more",
                "peak minus bytes live at once",
            ),
        ]

    def limit(self, shown: DisplayedPlan) -> tuple[int, str]:
        return shown.plan.budget_bytes, "highest address"

    def largest(self, shown: DisplayedPlan) -> list[Row]:
        residencies = shown.residency_columns
        names = (residencies.tensors[at] for at in residencies.tensor.tolist())
        sizes = dict(zip(names, residencies.size_bytes.tolist(), strict=True))
        return largest_tensors(shown, sizes, "in all", "largest first")
