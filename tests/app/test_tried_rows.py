"""What the best of all planners won against, on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from app.shown import Shown, show
from app.views.tables import detail_rows
from app.views.tried_rows import tried_rows
from tests.random_graphs import random_graph


def test_each_planner_that_was_asked_has_a_row_best_first() -> None:
    made = sp.plan(random_graph(2, 6, largest=20), "auto", 200, objective="traffic")
    shown = show(json.dumps(made.to_json()))
    title, first, *rest = tried_rows(shown)
    assert title["text"] == "least traffic of all planners"
    assert first["text"].startswith(made.planner)
    assert first["cells"] == [f"{made.claims.offchip_bytes} B"]
    assert len(rest) + 1 == len(made.details["auto"])
    assert detail_rows(shown, "")[0] is not None
    assert detail_rows(shown, "")[0]["text"] == title["text"]
    reasons = [row["text"] for row in rest if not row["cells"]]
    asked = [row for row in made.details["auto"] if row["value"] is None]
    assert len(reasons) == len(asked)


@pytest.mark.parametrize("wrong", [None, 7, "x", [1], [{}], [{"planner": "p", "value": "<b>"}]])
def test_what_a_file_says_otherwise_is_left_out(shown: Shown, wrong: Any) -> None:
    strange = replace(shown.plan, details={"auto": wrong})
    assert tried_rows(replace(shown, plan=strange)) == []
