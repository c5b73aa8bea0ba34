"""What is no graph or no plan is said in a line wherever one is wanted, by the whole public API."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import planners as sp

PUBLIC = {
    **{name: getattr(sp, name) for name in dir(sp)},
    **{f"plots.{name}": getattr(sp.plots, name) for name in sp.plots.__all__},
}
OF_GRAPHS = {"plan", "budgets", "sweep", "plots.graph"}
OF_PLANS = {
    *("simulate", "check", "execute", "stream", "summary", "write_code"),
    *("plots.address_map", "plots.occupancy", "plots.timeline"),
}


def first_kind(function: Any) -> str:
    """What a function's first argument is."""
    return str(next(iter(inspect.signature(function).parameters.values())).annotation)


def test_they_are_all_that_take_a_graph_or_a_plan_first() -> None:
    functions = {n: f for n, f in PUBLIC.items() if inspect.isfunction(f)}
    takes = {n: first_kind(f) for n, f in functions.items() if inspect.signature(f).parameters}
    assert {name for name, kind in takes.items() if kind.startswith("Graph")} == OF_GRAPHS
    assert {name for name, kind in takes.items() if kind == "Plan"} == OF_PLANS


@pytest.mark.parametrize("value", ["resnet18", None, 7, ("resnet18", "vgg16")])
@pytest.mark.parametrize("name", sorted(OF_GRAPHS | OF_PLANS))
def test_what_is_no_graph_or_plan_is_said_with_how_to_get_one(name: str, value: Any) -> None:
    more = ("code",) if name == "write_code" else ()
    kind, how = ("plan", "planners.plan(") if name in OF_PLANS else ("graph", "planners.load(")
    with pytest.raises(sp.BadInput) as found:
        PUBLIC[name](value, *more)
    assert f"is not a {kind}: {how}" in str(found.value)
    assert "\n" not in str(found.value)
