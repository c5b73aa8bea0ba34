"""The maps of methods name modules that are there."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.mark.parametrize("planner", ["auto", "joined"])
def test_each_decision_is_made_in_modules_that_are_there(planner: str) -> None:
    method = import_module(f"planners.{planner}.planner").METHOD
    assert len({decision.what for decision in method}) == len(method)
    for decision in method:
        assert all(find_spec(module) for module in decision.modules), decision.what
