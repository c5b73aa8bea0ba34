"""Plans as JSON from strangers: read, checked and timed, or refused; nothing else is raised."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.plan import Plan
from tests.cases import cases
from tests.core.test_graph_json import places
from tests.random_graphs import random_graph

WHOLE = sp.plan(random_graph(1, 9, largest=30), budget="MR", parameters=True).to_json()
PLACES = places(WHOLE)[1:]
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.sampled_from([10**30, -(10**30), 10**400, 1e400, float("nan"), 0.5, "", "host", "\ud800"])
    | st.lists(st.integers(-1, 3), max_size=2)
    | st.just({})
)


@given(data=st.data(), value=VALUES)
@settings(max_examples=cases(120, 1200))
def test_damaged_plans_are_refused_or_right(data: st.DataObject, value: Any) -> None:
    broken = copy.deepcopy(WHOLE)
    *path, last = data.draw(st.sampled_from(PLACES))
    place = broken
    for key in path:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = value
    else:
        del place[last]
    with suppress(sp.SpillwayError):
        plan = Plan.from_json(broken)
        with suppress(sp.InvalidPlan):
            sp.check(plan)
        sp.simulate(plan)
        json.dumps(sp.summary(plan))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("objective_bytes", 1.0),
        ("peak_bytes", "7"),
        ("status", "certain"),
        ("plan_s", float("nan")),
    ],
)
def test_claims_of_the_wrong_type_are_refused(field: str, value: Any) -> None:
    claims = {**WHOLE["claims"], field: value}
    with pytest.raises(sp.BadInput, match="claims"):
        Plan.from_json({**WHOLE, "claims": claims})


@pytest.mark.parametrize(("field", "value"), [("parent", []), ("level", 0), ("name", None)])
def test_an_empty_field_of_the_wrong_type_is_no_missing_one(field: str, value: Any) -> None:
    broken = copy.deepcopy(WHOLE)
    broken["program"]["memories"][1][field] = value
    with pytest.raises(sp.BadInput, match="field of the wrong type"):
        Plan.from_json(broken)


@pytest.mark.parametrize("number", [1.0, True, "1", -1, 99])
def test_a_piece_is_named_by_its_number(number: object) -> None:
    plan = sp.plan(random_graph(1, 4), budget="MR")
    data = json.loads(json.dumps(plan.to_json()))
    row = next(row for row in data["program"]["instructions"] if row[0] == "load")
    row[2] = number
    with pytest.raises(sp.BadInput, match="malformed plan"):
        sp.Plan.from_json(data)
