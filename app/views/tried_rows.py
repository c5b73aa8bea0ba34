"""What the best of all planners won against: a row for each that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.options import AUTO
from app.shown import Shown
from planners.auto.candidates import UNITS
from planners.units import format_quantity

MOST_LETTERS = 90


def tried_rows(shown: Shown) -> list[dict[str, Any]]:
    """The planners that `auto` asked, best first; none for plans that were made otherwise.

    A plan may come from a file: what is not as `auto` writes it is left out.
    """
    found = shown.plan.details.get(AUTO)
    rows = [row for row in found if _is_row(row)] if isinstance(found, list) else []
    if not rows:
        return []
    title = {"title": True, "text": f"least {rows[0]['objective']} of all planners", "cells": [""]}
    valued = [row for row in rows if row["value"] is not None]
    valued.sort(key=lambda row: (row["value"], row["planner"] != shown.plan.planner))
    others = [row for row in rows if row["value"] is None]
    return [title, *map(_row, valued), *map(_row, others)]


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("planner"), str)
        and isinstance(row.get("options"), Mapping)
        and isinstance(row.get("reason"), str)
        and row.get("objective") in UNITS
        and (row.get("value") is None or type(row["value"]) in (int, float))
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    options = (f"{k}={v}" for k, v in row["options"].items() if k != "parameters")
    name = " ".join([row["planner"], *options])[:MOST_LETTERS]
    if row["value"] is None:
        reason = row["reason"].split(";")[0]
        return {"text": f"{name}: {reason}"[: 2 * MOST_LETTERS], "cells": []}
    return {"text": name, "cells": [format_quantity(row["value"], UNITS[row["objective"]])]}
