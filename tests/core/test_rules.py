"""Rules of searches: each has a reason in the source, and a line in the document of proofs."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from planners.core.rules import names, without, without_any
from planners.cosma.latency.exact import MAKESPAN_RULES
from planners.cosma.order.rules import ORDER_RULES, PEAK_RULES
from planners.fusion.joint.space import JOINT_RULES
from planners.fusion.search.bounded import GROUP_RULES
from planners.fusion.search.set_partition import COVER_RULES

PROOFS = Path(__file__).parents[2] / "docs" / "proofs.md"
ALL = (ORDER_RULES, PEAK_RULES, MAKESPAN_RULES, JOINT_RULES, COVER_RULES, GROUP_RULES)


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: type(rules).__name__)
def test_each_rule_has_a_reason_and_is_cited(rules: Any) -> None:
    (tree,) = ast.parse(inspect.getsource(type(rules))).body
    assert isinstance(tree, ast.ClassDef)
    reasons = sum(isinstance(line, ast.Expr) for line in tree.body[1:])
    assert reasons == len(names(rules))
    cited = PROOFS.read_text()
    assert f"`{type(rules).__name__}`" in cited
    assert [name for name in names(rules) if f"`{name}`" not in cited] == []


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: type(rules).__name__)
def test_rules_are_on_until_they_are_switched_off(rules: Any) -> None:
    first, *others = names(rules)
    assert all(getattr(rules, name) for name in names(rules))
    less = without(rules, first)
    assert not getattr(less, first)
    assert all(getattr(less, name) for name in others)
    assert not any(getattr(without_any(rules), name) for name in names(rules))
