"""Numbers beside the bytes: what `check` compares, and what it says that it does not."""

from __future__ import annotations

from typing import Any

import pytest

import planners as sp
from tests.overlap.random_nets import random_net
from tests.plans import plan_of
from tests.simulator.forged_numbers import accepted

GRAPH = random_net(3, 5)[0]
EVERYTHING = sum(GRAPH.size_bytes(tensor) for tensor in GRAPH.tensors)
BOUND = {"claims.bound_bytes", "claims.plan_s"}
LATENCY = {*BOUND, "claims.objective_bytes", "details.latency.bound_s"}
POOL = {
    *BOUND,
    "details.front[].extra_macs",
    "details.modulos",
    "details.layout.runs[].channels",
    "details.layout.runs[].rows",
}
LAYER = "details.streaming.layers[]"
STREAMED = {
    *BOUND,
    "details.streaming.slices",
    "details.streaming.front[][]",  # its delay: that of the rings alone
    "details.streaming.bound_s",
    *(f"details.streaming.band.{name}" for name in ("draws", "least_s", "largest_s")),
    # Of layers without parameters, which are not loaded.
    *(f"{LAYER}.{name}" for name in ("read_s", "copy_s")),
    *(f"{LAYER}.offsets.{ring}" for ring in ("shared", "cpu", "gpu")),
}
OF_OTHERS = ("value", "offchip_bytes", "extent_bytes", "bound", "seconds", "limit_s")
BEST = {
    *LATENCY,
    "details.auto[].options.slices",
    *(f"details.auto[].{name}" for name in OF_OTHERS),
    "details.best_of_all.floor",
    "details.best_of_all.forms",
}
"""Names of numbers that pass whatever is written: what only the planner knows."""


@pytest.mark.parametrize(
    ("planner", "options", "passes"),
    [
        ("cosma", {}, BOUND),
        ("cosma", {"objective": "latency"}, LATENCY),
        ("fusion", {"objective": "latency"}, LATENCY),
        ("overlap", {}, POOL),
        ("streaming", {}, STREAMED),
        ("streaming", {"spread": 0.2, "draws": 20, "pipeline": "async"}, STREAMED),
        ("joined", {"time_limit": 1.0}, BEST),
        ("auto", {"objective": "energy", "processes": 1, "time_limit": 1.0}, BEST),
    ],
)
def test_a_number_that_the_program_decides_is_compared(
    planner: str, options: dict[str, Any], passes: set[str]
) -> None:
    plan = plan_of(GRAPH, planner, EVERYTHING, **options)
    assert {name for name, _ in accepted(plan)} - passes == set()


def edited(plan: sp.Plan, *path: str, value: Any) -> sp.Plan:
    data = plan.to_json()
    at = data
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = value
    return sp.Plan.from_json(data)


def test_seconds_are_those_of_the_program() -> None:
    plan = plan_of(GRAPH, "cosma", EVERYTHING, objective="latency")
    assert plan.details.latency is not None
    seconds = plan.details.latency.seconds
    assert seconds == sp.simulate(plan).makespan_s
    for other in (seconds / 2, 0.0, -1.0):
        forged = edited(plan, "details", "latency", "seconds", value=other)
        with pytest.raises(sp.InvalidPlan, match=r"latency.seconds: the plan claims"):
            sp.check(forged)


def test_a_bound_is_no_more_than_what_it_bounds() -> None:
    plan = plan_of(GRAPH, "cosma", EVERYTHING, objective="latency")
    forged = edited(plan, "details", "latency", "bound_s", value=1.0)
    with pytest.raises(sp.InvalidPlan, match=r"latency.bound_s: 1 is claimed to be no more than"):
        sp.check(forged)


def test_options_that_contradict_the_program() -> None:
    plan = plan_of(GRAPH, "cosma", EVERYTHING)
    with pytest.raises(sp.InvalidPlan, match="weights are 'counted', and the program leaves them"):
        sp.check(edited(plan, "options", "weights", value="counted"))
    streamed = plan_of(GRAPH, "streaming", EVERYTHING, pipeline="2s")
    with pytest.raises(sp.InvalidPlan, match="pipeline is 'seq', the plan streams with '2s'"):
        sp.check(edited(streamed, "options", "pipeline", value="seq"))


@pytest.mark.parametrize(
    ("pipeline", "twice"),
    [("2s", False), ("2s", True), ("async", False), ("async", True), ("exact", True)],
)
def test_a_layer_waits_for_the_last_whose_bytes_it_takes(pipeline: str, twice: bool) -> None:
    graph = random_net(8, 9)[0]
    sizes = [graph.size_bytes(t) for t in graph.tensors]
    plan = plan_of(graph, "streaming", sum(sizes), pipeline=pipeline, twice=twice, slices=3)
    sp.check(plan)
    assert plan.details.streamed is not None
    for number, layer in enumerate(plan.details.streamed.layers):
        for ring, wait in layer.waits.items():
            data = plan.to_json()
            at = data["details"]["streaming"]["layers"][number]["waits"]
            at[ring] = number - 1 if wait != number - 1 else -1
            if at[ring] != wait:
                with pytest.raises(sp.InvalidPlan, match=rf"layers.{number}..waits.{ring}: the pl"):
                    sp.check(sp.Plan.from_json(data))


def test_a_plan_is_a_point_of_its_front() -> None:
    pool = plan_of(GRAPH, "overlap", EVERYTHING)
    (point,) = pool.to_json()["details"]["front"]
    forged = edited(pool, "details", "front", value=[point | {"ram_bytes": 8}])
    with pytest.raises(sp.InvalidPlan, match="front: .* bytes, which the pool takes, are no point"):
        sp.check(forged)
    streamed = plan_of(GRAPH, "streaming", EVERYTHING)
    forged = edited(streamed, "details", "streaming", "front", value=[[7, 1.0]])
    with pytest.raises(sp.InvalidPlan, match=r"streaming.front: .* bytes, which the plan takes"):
        sp.check(forged)


def test_what_was_moved_by_hand_is_where_it_was_moved_to() -> None:
    plan = plan_of(GRAPH, "cosma", EVERYTHING)
    report = sp.check(plan)
    stay = max(report.residencies, key=lambda stay: stay.spans[0].stop)
    start = stay.spans[0].start
    move = {"tensor": stay.tensor, "step": stay.start_step, "from": start + 64, "to": start}
    sp.check(edited(plan, "details", "by_hand", value=[move]))
    before = move | {"from": 0, "to": start + 64}
    sp.check(edited(plan, "details", "by_hand", value=[before, move]))
    for wrong, words in (
        ([move | {"to": start + 1}], r"by_hand.*to: the plan claims"),
        ([move | {"step": stay.stop_step}], r"by_hand.*: it does not come in step"),
        ([before | {"to": start}, move], r"by_hand.*from: the plan claims"),
    ):
        with pytest.raises(sp.InvalidPlan, match=words):
            sp.check(edited(plan, "details", "by_hand", value=wrong))
