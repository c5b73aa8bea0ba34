"""What the best of all planners won against, on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from app.model.checked_plan import Shown, show
from app.views.fronts.tried_rows import tried_rows
from app.views.panels.tables import detail_rows
from planners.core.details import Details, TriedPlanner
from tests.random_graphs import random_graph


def test_each_planner_that_was_asked_has_a_row_best_first() -> None:
    made = sp.plan(random_graph(2, 6, largest=20), "auto", 200, objective="traffic")
    shown = show(json.dumps(made.to_json()))
    title, first, *rest = tried_rows(shown)
    assert title["text"] == "least traffic of all planners"
    assert first["text"].startswith(made.planner)
    assert first["cells"] == [f"{made.claims.offchip_bytes} B"]
    assert len(rest) + 1 == len(made.details.tried)
    assert detail_rows(shown, "")[0] is not None
    assert detail_rows(shown, "")[0]["text"] == title["text"]
    reasons = [row["text"] for row in rest if not row["cells"]]
    asked = [row for row in made.details.tried if row.value is None]
    assert len(reasons) == len(asked)


@pytest.mark.parametrize("wrong", [None, 7, "x", [1], [{}], [{"planner": "p", "value": "<b>"}]])
def test_what_a_file_says_otherwise_is_refused(shown: Shown, wrong: Any) -> None:
    data = shown.plan.to_json() | {"details": {"auto": wrong}}
    with pytest.raises(sp.BadInput, match=r"^malformed plan: details: auto(\[0\])?[ :]"):
        sp.Plan.from_json(data)


def test_an_objective_that_is_not_known_has_no_rows(shown: Shown) -> None:
    tried = (TriedPlanner("p", {}, "beauty", 1.0, "none", None, None, ""),)
    strange = replace(shown.plan, details=Details(tried=tried))
    assert tried_rows(replace(shown, plan=strange)) == []
