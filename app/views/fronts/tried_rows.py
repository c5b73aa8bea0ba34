"""The candidates that the best of all planners was chosen from: a row for each."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from planners.core.details import TriedPlanner
from planners.core.objective import UNITS
from planners.core.units import format_quantity

MOST_LETTERS = 90


def tried_rows(shown: DisplayedPlan) -> list[dict[str, Any]]:
    """The planners that `auto` tried, best first; empty for plans that were made otherwise."""
    tried = [one for one in shown.plan.details.tried if one.objective in UNITS]
    if not tried:
        return []
    title = {"title": True, "text": f"least {tried[0].objective} of all planners", "cells": [""]}
    inf, planner = float("inf"), shown.plan.planner
    best_first = sorted(
        tried, key=lambda t: (inf, False) if t.value is None else (t.value, t.planner != planner)
    )
    return [title, *map(_row, best_first)]


def _row(tried: TriedPlanner) -> dict[str, Any]:
    options = (f"{name}={value}" for name, value in tried.options.items() if name != "parameters")
    name = " ".join([tried.planner, *options])[:MOST_LETTERS]
    if tried.value is None:
        reason = tried.reason.split(";")[0]
        return {"text": f"{name}: {reason}"[: 2 * MOST_LETTERS], "cells": []}
    return {"text": name, "cells": [format_quantity(tried.value, UNITS[tried.objective])]}
