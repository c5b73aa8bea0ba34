"""The maps of methods name modules and strategies that are there, and the page has them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from planners.core.method import as_table

PLANNERS = ("cosma", "fusion", "overlap", "streaming", "joined", "auto")
MAPS = ("allocation.portfolio", *(f"{name}.planner" for name in PLANNERS))
PAGE = Path(__file__).parents[2] / "docs" / "method.md"


@pytest.mark.parametrize("name", MAPS)
def test_each_decision_is_made_in_modules_that_are_there(name: str) -> None:
    method = import_module(f"planners.{name}").METHOD
    assert len({decision.what for decision in method}) == len(method)
    for decision in method:
        assert all(find_spec(module) for module in decision.modules), decision.what
        assert len(set(decision.strategies)) == len(decision.strategies)


@pytest.mark.parametrize("name", MAPS)
def test_the_page_has_the_map_of_each_method(name: str) -> None:
    assert as_table(import_module(f"planners.{name}").METHOD) in PAGE.read_text(encoding="utf-8")
