"""Links as people write them, `?model=ResNet50&budget=256KiB&planner=fusion`. No Panel here.

They have no version. What they leave out is as usual; without a model it is as on the first page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

import planners as sp
from app.model.near_names import meant, meant_model
from app.model.option_keys import type_of
from app.model.sizes import format_exact
from planners.study.budgets import plain_budget

OF_THE_PAGE = ("theme", "tour")
"""What an address may have besides: the page takes it itself."""
SHORT = {"shape": "input_shape", "input": "input_shape", "bytes": "bytes_per_element"}


def of_the_page(name: str) -> bool:
    """Whether a query parameter belongs to the page, not to the link: Bokeh's begin `bokeh-`."""
    return name in OF_THE_PAGE or name.startswith("bokeh-")


def as_written_today(
    given: Mapping[str, str], fields: Collection[str], usual_planner: str
) -> dict[str, str]:
    """A plain link with its names as the page has them, and its sizes as it writes them.

    `fields` are all names that a link may have. What cannot be read stays as it is, to be told.
    """
    named = {_field(name, fields): text for name, text in given.items() if not of_the_page(name)}
    if model := meant_model(named.get("model", ""), sp.models()):
        named["model"] = model
    for name, names in (("planner", sp.planners()), ("machine", sp.presets())):
        if name_meant := meant(named.get(name, ""), names):
            named[name] = name_meant
    if "budget" in named:
        with suppress(sp.SpillwayError):
            budget = plain_budget(named["budget"])
            named["budget"] = budget if isinstance(budget, str) else format_exact(budget)
    planner = named.get("planner", usual_planner)
    specs = type_of(planner).own() if planner in sp.planners() else {}
    options = specs.keys() - set(fields)
    return {f"{planner}.{name}" if name in options else name: text for name, text in named.items()}


def _field(name: str, fields: Collection[str]) -> str:
    return meant(name, fields) or SHORT.get(name, name)
