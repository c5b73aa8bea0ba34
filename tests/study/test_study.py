"""Budgets and sweeps."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from tests.cases import cases
from tests.random_graphs import random_graph


@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans())
def test_budgets_are_in_order_and_mr_is_what_plans_need(
    seed: int, operators: int, parameters: bool
) -> None:
    graph = random_graph(seed, operators, largest=99)
    b = sp.budgets(graph, parameters=parameters)
    assert b.MR <= b.MH <= b.MP <= b.default_peak
    assert b.MP_proven
    assert b.MP_bound == b.MP
    assert b.MH == (b.MR + b.MP) // 2
    sp.plan(graph, budget=b.MR, parameters=parameters)
    with pytest.raises(sp.BudgetTooSmall):
        sp.plan(graph, budget=b.MR - 1, parameters=parameters)


@pytest.mark.parametrize(
    ("budget", "size"), [("MR", None), (" mp ", None), ("1KiB", 1024), (1000, 1000), ("2e3", None)]
)
def test_a_budget_is_a_name_or_a_size(budget: Any, size: int | None) -> None:
    graph = random_graph(2, 6, largest=20)
    if budget == "2e3":
        with pytest.raises(sp.BadInput, match="or MR, MH, MP"):
            sp.plan(graph, budget=budget)
        return
    expected = size or getattr(sp.budgets(graph), budget.strip().upper())
    assert sp.plan(graph, budget=budget).budget_bytes == expected


def executors() -> list[Any]:
    return [
        pytest.param(None, id="here"),
        pytest.param(lambda: ThreadPoolExecutor(2), id="threads"),
        pytest.param(
            lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")), id="processes"
        ),
    ]


@pytest.mark.parametrize("make", executors())
def test_a_sweep_is_the_same_in_any_executor(make: Any) -> None:
    graphs = [random_graph(seed, 12, largest=500) for seed in (1, 2)]
    heard: list[dict[str, Any]] = []

    def run(executor: Executor | None) -> pd.DataFrame:
        budgets = ["MR", "MP", 10]
        return sp.sweep(graphs, budgets=budgets, executor=executor, on_row=heard.append)

    if make is None:
        table = run(None)
    else:
        with make() as pool:
            table = run(pool)
    assert list(table["model"]) == ["random1"] * 3 + ["random2"] * 3
    assert list(table["budget"]) == ["MR", "MP", "10"] * 2
    assert list(table["status"]) == ["optimal", "optimal", "infeasible"] * 2
    assert len(heard) == 6
    for _, row in table[table["status"] == "optimal"].iterrows():
        plan = sp.plan(graphs[row["model"] == "random2"], budget=int(row["budget_bytes"]))
        assert row["offchip_bytes"] == plan.claims.offchip_bytes
        assert row["makespan_s"] == sp.simulate(plan).makespan_s


@settings(max_examples=cases(15, 200))
@given(st.integers(0, 10**6), st.integers(2, 20))
def test_more_memory_never_costs_traffic(seed: int, operators: int) -> None:
    graph = random_graph(seed, operators, largest=40)
    b = sp.budgets(graph)
    table = sp.sweep(graph, budgets=list(sp.even_budgets(b.MR, b.default_peak, 6)))
    proven = table[table["status"] == "optimal"]["noncompulsory_bytes"]
    assert proven.is_monotonic_decreasing


def test_even_budgets() -> None:
    assert list(sp.even_budgets(10, 20, 3)) == [10, 15, 20]
    assert list(sp.even_budgets("1KiB", "1KiB", 9)) == [1024]


def test_a_sweep_takes_one_name_and_finds_wrong_ones_first() -> None:
    graph = random_graph(1, 5)
    heard: list[dict[str, Any]] = []
    assert len(sp.sweep(graph, planners="cosma", budgets="MR")) == 1
    with pytest.raises(sp.BadInput, match="'lots' is not a size"):
        sp.sweep(graph, budgets=["MR", "lots"], on_row=heard.append)
    with pytest.raises(sp.UnknownName, match="did you mean 'cosma'"):
        sp.sweep(graph, planners=["cosma", "cosmo"], on_row=heard.append)
    assert not heard
