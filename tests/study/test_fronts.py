"""Fronts, hypervolumes and winners of tables of plans."""

from __future__ import annotations

import itertools
import random

import pandas as pd
import pytest

import planners as sp
from planners.study.fronts import front, fronts, hypervolume, hypervolumes, winners, wins
from tests.random_graphs import random_graph


def table(rows: list[tuple[str, str, str, str, float, float]]) -> pd.DataFrame:
    names = ["model", "planner", "budget", "status", "extent_bytes", "makespan_s"]
    made = pd.DataFrame(rows, columns=names)
    return made.assign(machine="m", offchip_bytes=made["extent_bytes"], energy_j=1.0)


ROWS = table(
    [
        ("a", "p", "1", "optimal", 1, 9),
        ("a", "p", "2", "optimal", 4, 4),
        ("a", "q", "1", "infeasible", float("nan"), float("nan")),
        ("a", "q", "2", "feasible", 4, 2),
        ("b", "p", "1", "optimal", 3, 3),
        ("b", "p", "2", "failed", float("nan"), float("nan")),
        ("b", "q", "1", "optimal", 3, 3),
        ("b", "q", "2", "infeasible", float("nan"), float("nan")),
    ]
)


@pytest.mark.parametrize("seed", range(30))
def test_a_front_is_what_nothing_dominates(seed: int) -> None:
    rng = random.Random(seed)
    points = [(rng.randint(0, 6), rng.randint(0, 6)) for _ in range(rng.randint(1, 12))]

    def dominated(p: tuple[int, int]) -> bool:
        return any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)

    kept = [points[i] for i in front(points)]
    assert kept == sorted({p for p in points if not dominated(p)})


@pytest.mark.parametrize("seed", range(30))
def test_a_hypervolume_is_the_area_counted_cell_by_cell(seed: int) -> None:
    rng = random.Random(seed)
    points = [(rng.randint(0, 9), rng.randint(0, 9)) for _ in range(rng.randint(0, 8))]
    cells = itertools.product(range(8), range(7))
    area = sum(any(x <= i and y <= j for x, y in points) for i, j in cells)
    assert hypervolume(points, (8, 7)) == area


def test_fronts_are_of_each_model() -> None:
    kept = fronts(ROWS)
    assert list(zip(kept["model"], kept["planner"], kept["budget"], strict=True)) == [
        ("a", "p", "1"),
        ("a", "q", "2"),
        ("b", "p", "1"),
    ]


def test_shares_are_of_what_all_reach_together() -> None:
    found = hypervolumes(ROWS).set_index("planner")
    assert found["models"].to_dict() == {"p": 2, "q": 2}
    assert found["of"].tolist() == [2, 2]
    assert found["share"].max() < 1
    alone = hypervolumes(ROWS[ROWS["planner"] == "p"])
    assert alone["share"].tolist() == [pytest.approx(1)]
    none = hypervolumes(ROWS[ROWS["model"] == "b"].assign(status=["optimal", "failed", *"xx"]))
    assert none.set_index("planner")["share"].to_dict() == {"p": pytest.approx(1), "q": 0}


def test_winners_ties_and_problems_without_a_plan() -> None:
    found = winners(ROWS)
    assert found["winner"].tolist() == ["p", "q", "p+q", "none"]
    assert found["second"].tolist()[1] == "p"
    assert found["margin"].tolist()[1] == 1.0
    counts = wins(ROWS)
    assert counts["all"].sum() == 4
    assert counts.loc["p+q", "1"] == 1
    assert list(counts.columns) == ["1", "2", "all"]


def test_of_a_sweep() -> None:
    graph = random_graph(4, 7, largest=30)
    made = sp.sweep(graph, ["cosma", "fusion"], ["MR", "MP"], parameters=True)
    found = winners(made, "traffic")
    least = made[made["budget"] == "MR"]["offchip_bytes"].min()
    assert found.iloc[0]["value"] == least
    assert set(fronts(made, "memory", "traffic").index) <= set(made.index)


def test_wrong_input() -> None:
    with pytest.raises(sp.BadInput, match="no metric 'speed'; there are memory, latency"):
        winners(ROWS, "speed")
    with pytest.raises(sp.BadInput, match="no column 'makespan_s'"):
        fronts(ROWS.drop(columns="makespan_s"))
