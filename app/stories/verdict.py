"""The verdict on a plan, before any number: does the network fit, how, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.model.checked_plan import Shown
from planners.audits.shown import is_allocation
from planners.core.floors import latency_floor_s
from planners.core.units import format_bytes

EXACT = 0.005
"""From this part of the least time on, a difference is said."""


def verdict(shown: Shown, budgets: Mapping[str, Any], manner: str) -> str:
    """One sentence; empty for another tool's plan, whose verdict is its own.

    `budgets` are the named ones of the network, as far as they are known; `manner` says how this
    kind of plan runs it, empty where tensors are whole.
    """
    if is_allocation(shown.plan):
        return ""
    name, budget = shown.graph.name, format_bytes(shown.plan.budget_bytes)
    if not manner:
        return f"{name} fits {budget} as whole tensors{_spills(shown, budgets)}."
    need = budgets.get("MR", 0)
    if need > shown.plan.budget_bytes:
        whole = f"{name} does not fit {budget} as whole tensors"
        return f"{whole}; {manner} it does{_cost(shown, ', for ', ', in ')}."
    return f"{name} fits {budget} {manner}{_cost(shown, ', for ', ', in ')}."


def _spills(shown: Shown, budgets: Mapping[str, Any]) -> str:
    """What has to leave the chip for want of memory, and what a little more would do."""
    spilled = shown.report.noncompulsory_bytes
    if not spilled:
        cost = _cost(shown, "; it takes ", "; it takes ")
        return ", and nothing has to leave the chip for want of memory" + cost
    peak = budgets.get("MP", 0)
    more = f"; from {format_bytes(peak)} on nothing has to" if peak else ""
    return f", though {format_bytes(spilled)} leave the chip or come back for want of it{more}"


def _cost(shown: Shown, more_by: str, least_by: str) -> str:
    """How much longer it takes than it could with any amount of memory, at most."""
    floor = latency_floor_s(shown.plan)
    if not floor:
        return ""
    more = shown.trace.makespan_s / floor - 1
    if more < EXACT:
        return f"{least_by}the least time that any amount of memory allows"
    return f"{more_by}at most {more:.0%} more time than with any amount of memory"
