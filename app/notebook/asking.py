"""Fields of a problem as code gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import planners as sp
from app.options import STREAMING, fields_of
from app.sizes import format_exact
from app.state import Problem
from app.streaming import roomy_bytes


def checked(what: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the problem as they are kept, by the names that planners have for them.

    Raises `BadInput` for a field that is none or a value that it cannot have.
    """
    fields = fields_of(asked.get("planner", Problem.param.planner.default), asked)
    unknown = [name for name in fields if name not in Problem.param or name == "name"]
    if unknown:
        raise sp.BadInput(f"{unknown[0]!r:.40} is no field of a problem: see app.state.Problem")
    if isinstance(fields.get("budget"), int):
        fields["budget"] = format_exact(fields["budget"])
    if fields.get("planner") == STREAMING and "budget" not in fields:
        graph = sp.load(what) if isinstance(what, str) else getattr(what, "graph", what)
        fields["budget"] = format_exact(roomy_bytes(graph))
    try:
        Problem(**fields)
    except (ValueError, TypeError) as error:
        raise sp.BadInput(str(error)) from error
    return fields
