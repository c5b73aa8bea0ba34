"""What a sweep plans: which budgets of which planners, in which order."""

from __future__ import annotations

from app.session.session import Session
from app.session.sweep_lines import (
    PROBE,
    SWEPT,
    SweepLine,
    coarse_first,
    even_in_ratio,
    lines_of,
    thinned,
)
from tests.app.points import made


def test_budgets_come_coarse_first() -> None:
    sizes = even_in_ratio(100, 6400, 7)
    assert sizes == [100, 200, 400, 800, 1600, 3200, 6400]
    assert coarse_first(sizes)[:3] == [100, 6400, 800]
    assert sorted(coarse_first(sizes)) == sizes
    assert thinned([5]) == [5]
    assert len(thinned(range(1000))) == 24
    assert {0, 999} <= set(thinned(range(1000)))


def line(planner: str, first: list[int], *, wide: bool = True) -> SweepLine:
    return SweepLine("x", {"planner": planner, "options": {}}, first, wide)


def test_a_line_asks_for_gains_first_then_for_its_least_and_then_for_the_rest() -> None:
    found = line("cosma", [100, 164])
    assert [found.next(), found.next(), found.next()] == [100, 164, PROBE]
    assert found.next() is None
    found.take_front(made(100, 50))
    found.take_front(made(164, 50, peak_bytes=100))
    found.take_least(50, 400, [70, 10])
    asked = [found.next() for _ in range(found.left)]
    assert {50, 70, 400} <= set(asked)
    assert not {10, 100, 164} & set(asked)
    assert not any(100 < size < 164 for size in asked if size)
    assert asked[-1] == 50  # its program may take minutes
    assert found.next() is None
    only = line("cosma", [])
    assert only.next() == PROBE
    only.take_least(50, 50, [])
    assert (only.next(), only.next()) == (50, None)


def test_a_plan_with_a_front_serves_for_all_budgets_up_to_the_next_point() -> None:
    found = line("overlap", [150, 250])
    assert found.next() == 150
    found.running = 1
    assert found.next() is None
    points = found.take_front(made(150, 9, front=[100, 200, 300]))
    assert sorted(p["budget_bytes"] for p in points) == [100, 150]
    found.running = 0
    assert [found.next() for _ in range(3)] == [250, 200, 300] or found.grid == []


def test_planners_are_compared_on_one_problem() -> None:
    session = Session(None)  # type: ignore[arg-type]
    problem, asked = session.problem, session.request()
    lines = lines_of(problem, asked, SWEPT, [1], True)
    assert len({found.name for found in lines}) == len(lines) == len(SWEPT) - 1
    assert {found.problem["weights"] for found in lines} == {"left-out"}
    apart = [found.name for found in lines if found.name.endswith("(weights counted)")]
    assert {name.split()[0] for name in apart} == {"fusion", "streaming", "joined"}
    assert lines_of(problem, asked, ["nonsense"], [1], True) == []
    joint = next(found for found in lines if found.name == "cosma joint")
    assert joint.problem["options"]["schedule"] == "joint"
