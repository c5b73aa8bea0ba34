"""What a plan carries beside its program: typed, and exact in what it says of what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from planners.core.details import Details
from planners.core.details.pool import CircularPool, PoolLayout
from planners.core.plan import streamed_of
from tests.random_graphs import random_graph

WRONG: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda d: d.update(streaming=7), "streaming is 7, not an object"),
    (lambda d: d.update(streaming={}), "streaming: 'pipeline' is missing"),
    (lambda d: d["streaming"].update(pipeline=3), "streaming.pipeline is 3, not text"),
    (lambda d: d["streaming"].update(joint=1), "streaming.joint is 1, not true or false"),
    (
        lambda d: d["streaming"].update(front=[[1]]),
        "streaming.front[0] is [1], not a list of 2",
    ),
    (
        lambda d: d["streaming"].update(rings={"moon": 1}),
        "a key of streaming.rings is 'moon', not one of cpu, gpu, shared",
    ),
    (
        lambda d: d["streaming"]["layers"][1].update(size_bytes="4"),
        "streaming.layers[1].size_bytes is '4', not a whole number",
    ),
    (
        lambda d: d["streaming"].update(delay_s=float("nan")),
        "streaming.delay_s is nan, not a number",
    ),
    (lambda d: d.update(by_hand=[{"tensor": "a"}]), "by_hand[0]: 'step' is missing"),
    (lambda d: d.update(auto=5), "auto is 5, not a list"),
]


@pytest.fixture(scope="module")
def streaming() -> sp.Plan:
    return sp.plan(sp.load("squeezenet1_1"), "streaming", "64MiB", "jetson_xavier")


@pytest.mark.parametrize(("spoil", "says"), WRONG)
def test_details_that_are_none_are_refused_with_their_place(
    streaming: sp.Plan, spoil: Callable[[dict[str, Any]], object], says: str
) -> None:
    data = streaming.details.to_json()
    spoil(data)
    with pytest.raises(sp.BadInput) as caught:
        Details.from_json(data)
    assert str(caught.value) == f"malformed plan: details: {says}"


def test_details_survive_a_file(streaming: sp.Plan) -> None:
    assert Details.from_json(streaming.details.to_json()) == streaming.details
    assert sp.Plan.from_json(streaming.to_json()).details == streaming.details


def test_plain_data_of_a_planner_of_ones_own_are_kept_as_they_are() -> None:
    plan = sp.plan(random_graph(1, 4), budget="MP")
    own = replace(plan, details={"front": [1, {"a": None}], "depth": 3})  # type: ignore[arg-type]
    assert own.details == Details(extra={"front": [1, {"a": None}], "depth": 3})
    assert own.to_json()["details"] == own.details.extra
    assert "details" not in plan.to_json()


def test_a_name_that_is_taken_is_not_for_a_planner_of_ones_own() -> None:
    with pytest.raises(sp.BadInput, match="extra details cannot be called 'streaming'"):
        Details(extra={"streaming": 1})
    with pytest.raises(sp.BadInput, match="extra details cannot be called 'front'"):
        Details(CircularPool(PoolLayout(1, {}, ())), extra={"front": 1})


def test_a_plan_that_streams_nothing_says_so() -> None:
    with pytest.raises(sp.BadInput, match="a cosma plan does not stream"):
        streamed_of(sp.plan(random_graph(1, 4), budget="MP"))
