"""Sweeps in this process and in others."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

import planners as sp
from tests.random_graphs import random_graph


def test_worker_processes_make_the_same_table_and_pass_errors_on() -> None:
    graphs = [random_graph(seed, 9, largest=30) for seed in (1, 2)]
    context = multiprocessing.get_context("spawn")
    here = sp.sweep(graphs, budgets=["MR", "MP", 3])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there = sp.sweep(graphs, budgets=["MR", "MP", 3], executor=pool)
        with pytest.raises(sp.BadInput, match="no option 'shedule'"):
            sp.sweep(graphs, budgets=["MR"], executor=pool, shedule="mpmf")
    assert list(here["status"]).count("infeasible") == 2
    same = [column for column in here.columns if column != "plan_s"]
    assert here[same].equals(there[same])


@pytest.mark.parametrize(
    "error",
    [
        sp.UnknownName("planner", "cosmo", ["cosma"], "available: cosma"),
        sp.BudgetTooSmall(9, 8, "conv", ("x", "y")),
        sp.InvalidPlan("overlap", step=3, memory="scratchpad", address=64, kind="overlap"),
        sp.BadInput("no"),
    ],
)
def test_errors_come_out_of_a_worker_as_they_were(error: sp.SpillwayError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    facts = {name: value for name, value in vars(error).items() if not name.startswith("_")}
    assert facts == {name: vars(again)[name] for name in facts}


def test_a_graph_without_operators_has_no_budgets() -> None:
    tensors = {"x": sp.Tensor("x", (3,), "input")}
    with pytest.raises(sp.BadInput, match="no operators"):
        sp.plan(sp.Graph("empty", tensors, (), ("x",), ("x",)))
