"""The verdict on a plan, before any number: does the network fit, how, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from planners.audits.shown import is_allocation
from planners.core.bounds.floors import latency_floor_s
from planners.core.units import format_bytes

EXACT = 0.005
"""From this part of the least time on, a difference is said."""


def verdict(shown: DisplayedPlan, budgets: Mapping[str, Any], manner: str) -> str:
    """One sentence; empty for another tool's plan, whose verdict is its own.

    `budgets` are the named ones of the network, as far as they are known; `manner` says how this
    kind of plan runs it, empty where tensors are whole.
    """
    if is_allocation(shown.plan):
        return ""
    name, budget = shown.graph.name, format_bytes(shown.plan.budget_bytes)
    if not manner:
        return f"{name} fits {budget}{_spills(shown, budgets)}."
    need = budgets.get("MR", 0)
    if need > shown.plan.budget_bytes:
        whole = f"Run naively, {name} needs {format_bytes(need)}"
        return f"{whole}. In {budget} it still runs, {manner}{_cost(shown)}."
    return f"{name} fits {budget}, {manner}{_cost(shown)}."


def _spills(shown: DisplayedPlan, budgets: Mapping[str, Any]) -> str:
    """What is spilled or fetched again, and from which budget on nothing is."""
    spilled = shown.report.noncompulsory_bytes
    if not spilled:
        return " and nothing is spilled" + _cost(shown)
    peak = budgets.get("MP", 0)
    more = f". From {format_bytes(peak)} on nothing is spilled" if peak else ""
    return f", but {format_bytes(spilled)} are spilled or fetched again{more}"


def _cost(shown: DisplayedPlan) -> str:
    """How much slower it is than it could be with unlimited memory, at most."""
    floor = latency_floor_s(shown.plan)
    if not floor:
        return ""
    more = shown.trace.makespan_s / floor - 1
    if more < EXACT:
        return ", as fast as with unlimited memory"
    return f", at most {more:.0%} slower than with unlimited memory"
