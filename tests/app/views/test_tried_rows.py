"""What the best of all planners won against, on the page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.views.fronts.tried_rows import tried_rows
from app.views.panels.cards import badge, proof_text, scope
from app.views.panels.tables import detail_rows
from planners.core.details import Details, MovedByHand, TriedPlanner
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


def test_the_badge_says_of_what_the_proof_is() -> None:
    """Not what its planner proves; a plan changed by hand is the planner's again."""
    made = sp.plan(random_graph(2, 6, largest=20), "auto", 200, objective="traffic", processes=1)
    best = made.details.best
    assert best is not None
    seconds = sp.simulate(made).makespan_s
    for proven, sign, words in ((True, "✓", "optimal"), (False, "≈", "within 50.0% of floor")):
        floor = seconds if proven else seconds / 2
        known = replace(best, proven=proven, objective="latency", value=seconds, floor=floor)
        plan = replace(made, details=replace(made.details, best=known))
        shown = show(json.dumps(plan.to_json()))
        assert badge(shown)[0] == sign
        assert badge(shown)[1].startswith("latency ")
        assert badge(shown)[1].endswith(words)
        assert proof_text(shown).splitlines()[0] == known.words
        assert scope(shown) == ("" if proven else f"of {best.forms} ways to plan")
        moved = replace(plan.details, moves=(MovedByHand("t", 0, 0, 1),))
        by_hand = replace(shown, plan=replace(plan, details=moved))
        assert "latency" not in badge(by_hand)[1]


@pytest.mark.parametrize("wrong", [None, 7, "x", [1], [{}], [{"planner": "p", "value": "<b>"}]])
def test_what_a_file_says_otherwise_is_refused(shown: DisplayedPlan, wrong: Any) -> None:
    data = shown.plan.to_json() | {"details": {"auto": wrong}}
    with pytest.raises(sp.BadInput, match=r"^malformed plan: details: auto(\[0\])?[ :]"):
        sp.Plan.from_json(data)


def test_an_objective_that_is_not_known_has_no_rows(shown: DisplayedPlan) -> None:
    tried = (TriedPlanner("p", {}, "beauty", 1.0, "none", None, None, ""),)
    strange = replace(shown.plan, details=Details(tried=tried))
    assert tried_rows(replace(shown, plan=strange)) == []
