"""Fronts that are shipped: of the catalogue on the usual machine, until they are planned here."""

from __future__ import annotations

import planners as sp
from app.model.pareto import front, indexed
from app.model.state import ProblemFields
from app.session.models import Models
from app.session.session import Session
from app.session.stored_fronts import COLUMNS, FILE, stored_fronts, stored_points
from planners.core.bounds.floors import ProblemFloors
from tests.app.conftest import Until

USUAL = {"machine": "npu_small", "weights": "counted", "planner": "joined"}


def asked(**fields: object) -> dict[str, object]:
    return Models(ProblemFields.with_values(**{**USUAL, **fields})).fields()


def test_each_network_of_the_catalogue_has_a_front_of_several_planners() -> None:
    stored = stored_fronts()
    torchvision = [name for name in sp.models() if name in stored["points"]]
    assert len(torchvision) == len(stored["points"]) >= 120
    assert FILE.stat().st_size < 500_000
    for rows in stored["points"].values():
        assert all(len(row) == 1 + len(COLUMNS) for row in rows)
        assert len({row[0] for row in rows}) >= 2


def test_points_are_of_the_problem_and_above_its_floors() -> None:
    graph, machine = sp.load("mobilenet_v2"), sp.load_machine("npu_small")
    fields = asked(model="mobilenet_v2")
    points = stored_points(fields)
    chart = indexed(points, fields)
    assert len(chart) == len(points) >= 10
    assert len(front(chart, "memory", "latency")) >= 3
    for point in chart:
        floors = ProblemFloors(graph, machine, "in-place" if "in place" in point["series"] else
                               "counted")  # fmt: skip
        assert point["makespan_s"] >= floors.latency_s * (1 - 1e-5)
        assert point["traffic_bytes"] >= floors.compulsory_bytes
        assert point["peak_bytes"] <= point["budget_bytes"]


def test_what_is_unusual_has_none() -> None:
    assert stored_points(asked(model="resnet18"))
    for fields in (
        {"model": "resnet18", "machine": "npu_ideal"},
        {"model": "resnet18", "weights": "left-out"},
        {"model": "resnet18", "bytes_per_element": 4},
        {"model": "resnet18", "input_shape": "1x3x64x64"},
        {"model": "resnet18", "machine_fields": "host.read_bytes_per_s=8e9"},
        {"model": "resnet18 (uploaded)"},
    ):
        assert stored_points(asked(**fields)) == [], fields


def test_a_page_has_them_at_once_and_for_each_network_that_is_chosen(
    session: Session, until: Until
) -> None:
    session.problem.param.update(machine="npu_small", weights="counted")
    session.change(model="squeezenet1_1", planner="cosma", budget="MP")
    until(lambda: session.poll() or not session.busy)
    shown = session.work.shown_for
    assert [p["problem"]["model"] for p in indexed(session.work.points, shown)].count(
        "squeezenet1_1"
    ) == len(stored_points(shown))
    session.sweeps.load(0)  # Only its numbers are stored: it is planned.
    until(lambda: session.poll() or not session.busy)
    point = stored_points(shown)[0]
    assert session.work.shown.plan.budget_bytes == point["budget_bytes"]
