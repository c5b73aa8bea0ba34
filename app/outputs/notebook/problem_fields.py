"""Fields of a problem as given in code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import planners as sp
from app.display.stream import roomy_bytes
from app.kinds.registry import kind_of_planner
from app.model.option_keys import type_of
from app.model.sizes import format_exact
from app.model.state import FIELDS, ProblemFields


def checked(
    what: Any, values: Mapping[str, Any], of: ProblemFields | None = None
) -> dict[str, Any]:
    """The fields that code changes of a problem, `of` or the default one; options by their names.

    Raises `BadInput` for an unknown name or a value that it cannot have.
    """
    problem = of or ProblemFields()
    planner = str(values.get("planner", problem.planner))
    names = {*FIELDS, *type_of(planner).own()}
    if unknown := [name for name in values if name not in names]:
        options = ", ".join(type_of(planner).own()) or "none"
        raise sp.BadInput(
            f"{unknown[0]!r:.40} is neither a field of a problem nor an option of {planner}: "
            f"it has {options}"
        )
    fields = problem.fields_of(values)
    if isinstance(fields.get("budget"), int):
        fields["budget"] = format_exact(fields["budget"])
    if kind_of_planner(fields.get("planner", "")).streams and "budget" not in fields:
        graph = sp.load(what) if isinstance(what, str) else getattr(what, "graph", what)
        fields["budget"] = format_exact(roomy_bytes(graph))
    try:
        ProblemFields(**fields)
    except (ValueError, TypeError) as error:
        raise sp.BadInput(str(error)) from error
    return fields
