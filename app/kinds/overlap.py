"""Plans in a circular pool: outputs written over dying inputs, one row of pixels per step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import planners as sp
from app.captions.overlap import pool_story
from app.captions.sentence import Sentence
from app.display.displayed_plan import DisplayedPlan
from app.display.pool import PoolRuns
from app.kinds.kind import Card, Row, Together
from app.kinds.pool_rows import pool_rows
from app.kinds.run_rows import in_role, run_rows, stay_rows
from app.kinds.strips import Strips
from app.kinds.tables import largest_first, largest_tensors, live_by_tensor
from app.kinds.whole_tensors import WholeKind, latency_card, traffic_card
from app.model.state import RUN, run_selection, selected_operators
from planners.core.colours import ROLES
from planners.core.units import format_bytes

AGAIN = "MACs computed more than once, to keep less in memory"


class PoolKind(WholeKind):
    """What the page shows of a pool beyond what it shows of whole tensors."""

    planner = "overlap"
    about = (
        "Lets an output take the place of a dying input in a circular pool, segment by segment: its"
        " write pointer never passes the read pointer."
    )
    manner = "with outputs that take the place of dying inputs"
    measure = "RAM"
    budgets: Mapping[str, str] = {
        "MR": "the largest operator with its tensors apart: overlapping them needs less",
        "MP": "the least peak of all orders where tensors lie apart",
    }
    whole_operators = False
    panel = "pool"
    pictures: Mapping[str, str] = {
        "circular pool": "ring",
        "RAM of each run": "run-bars",
        "what less RAM costs": "ram-front",
    }
    looks = ROLES
    fine = True
    has_code = True

    def made(self, shown: DisplayedPlan) -> bool:
        return shown.pool is not None

    def parts(self, shown: DisplayedPlan) -> str:
        return f"{len(_pool(shown).runs)} runs"

    def aim(self, plan: sp.Plan) -> str:
        return "RAM"

    def unproven(self, plan: sp.Plan) -> str:
        # Bounds are on RAM; none is known for latency.
        return "latency" if plan.options.get("objective") == "latency" else ""

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        size, again = _pool(shown).size_bytes, shown.report.macs - shown.graph.macs
        budget = shown.plan.budget_bytes
        share = f"RAM, {size / budget:.0%} of {format_bytes(budget)}"
        more = f"MACs repeated, {again / shown.graph.macs:.1%} of all" if again else "MACs repeated"
        return [
            Card(format_bytes(size), share, "peak", f"the pool takes {size:,} bytes"),
            Card(f"{again:,}", more, "extra", AGAIN),
            traffic_card(shown),
            latency_card(shown),
        ]

    def rows(self, shown: DisplayedPlan, memory: str) -> Strips:
        return Strips(pool_rows(shown, memory))

    def limit(self, shown: DisplayedPlan) -> tuple[int, str]:
        return _pool(shown).size_bytes, "pool"

    def room(self, shown: DisplayedPlan, memory: str) -> int:
        return _pool(shown).size_bytes

    def live(self, shown: DisplayedPlan, step: int, unit: str) -> list[Row]:
        run = _pool(shown).run_at(step)
        rows = live_by_tensor(shown, step, unit, joined=True)
        return largest_first([in_role(row, run.role(tensor)) for tensor, row in rows.items()])

    def largest(self, shown: DisplayedPlan) -> list[Row]:
        return largest_tensors(shown, _pool(shown).sizes, "in the pool", "largest first")

    def of_part(
        self, shown: DisplayedPlan, selection: str, why: Mapping[str, Any]
    ) -> list[Row] | None:
        if not selection.startswith(RUN):
            return None
        return run_rows(shown, _pool(shown), selected_operators(shown.graph, selection))

    def of_tensor(self, shown: DisplayedPlan, name: str) -> list[Row]:
        return stay_rows(shown, _pool(shown), name)

    def story(self, shown: DisplayedPlan, step: int) -> list[Sentence]:
        return pool_story(shown, step, _pool(shown))

    def together(self, shown: DisplayedPlan) -> list[Together]:
        pool = _pool(shown)
        return [
            Together(
                run_selection(run.run.operators),
                run.run.operators,
                run.start_step,
                pool.extent_bytes(run),
            )
            for run in pool.runs
        ]

    def changes_at_front(self, options: Mapping[str, Any]) -> bool:
        return bool(options.get("objective") != "latency")

    def front(self, plan: sp.Plan) -> list[int]:
        pool = plan.details.pool
        return sorted({point.ram_bytes for point in pool.front}) if pool else []


def _pool(shown: DisplayedPlan) -> PoolRuns:
    assert shown.pool is not None
    return shown.pool
