"""The best of all planners beside each of its forms alone, in the same time and in its share of it.

    python benchmarks/auto_cells.py [NETWORK ...] [--budgets MP 2MiB] [--weights counted left-out]
        [--objectives latency traffic] [--seconds 20] [--processes 0]

A cell is a network, a budget, what weights do and an objective. `auto` has the seconds once; each
form that it asks has them alone, and then its equal share of them. A row has the value of `auto`,
the best form with all of the seconds and how much better that is, the best with its share, and the
seconds that `auto` took with the check of its plan. Last: in how many cells `auto` is within 1 % of
the best form with all of the seconds, where it is not, where a form with its share was better, and
where the limit was not kept within 10 % or a second.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple

import planners as sp
from planners.auto.forms import forms
from planners.auto.runs import FormProblem, Task, attempt
from planners.core.bounds.floors import ProblemFloors
from planners.core.errors import SpillwayError
from planners.core.objective import Objective
from planners.core.registry import planner
from planners.core.units import format_quantity
from planners.core.weights import COUNTED, LEFT_OUT, WEIGHTS
from planners.study.budgets import resolve_budget

NETWORKS = ("squeezenet1_1", "mobilenet_v2", "resnet18", "googlenet")
CLOSE, EQUAL = 0.01, 1e-9
COLUMNS = "cell, auto, by, best form, value, better, best with its share, value, seconds, floor"
HEAD = f"| {COLUMNS.replace(', ', ' | ')} |\n|" + "---|" * 10


class Cell(NamedTuple):
    """What was asked, and what came of it: values by the objective, of the best forms too."""

    name: str
    value: float
    alone: float
    share: float
    took_s: float
    line: str


class Alone(NamedTuple):
    """The best of the forms one by one."""

    label: str
    value: float


def best_alone(problem: FormProblem, limit_s: float) -> Alone:
    """The best of the forms, each with this limit, in a fresh process."""
    weights = problem.aim.floors.weights
    asked = [
        form
        for form in forms(problem.aim.name, weights)
        if not (planner(form.planner).cannot(weights) or form.least)
    ]
    found: list[tuple[float, str]] = []
    for number, form in enumerate(asked):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            value = fresh.submit(asked_alone, Task(number, form, limit_s), problem).result()
        if value is not None:
            found.append((value, form.label))
    value, label = min(found, default=(float("inf"), "none"))
    return Alone(label, value)


def asked_alone(task: Task, problem: FormProblem) -> float | None:
    """The value of one form by itself."""
    return attempt(task, problem, None, lambda: None)[0].value


def cell(
    network: str, budget: str, weights: str, objective: str, seconds: float, processes: int
) -> Cell:
    """One cell. Raises `SpillwayError` where nothing fits."""
    graph, machine = sp.load(network), sp.load_machine("npu_ideal")
    size = resolve_budget(graph, budget, parameters=weights == COUNTED)
    began = time.perf_counter()
    made = sp.plan(
        graph,
        "auto",
        size,
        machine,
        seconds,
        objective=objective,
        weights=weights,
        processes=processes,
    )
    took_s = time.perf_counter() - began
    problem = FormProblem(
        graph, machine, size, Objective(objective, ProblemFloors(graph, machine, weights))
    )
    best = made.details.best
    assert best is not None
    alone, share = (best_alone(problem, limit) for limit in (seconds, seconds / best.forms))
    unit = problem.aim.unit
    told = [
        f"{network} {budget} {weights} {objective}",
        format_quantity(best.value, unit),
        made.planner,
        alone.label,
        format_quantity(alone.value, unit),
        f"{1 - alone.value / best.value:.2%}",
        share.label,
        format_quantity(share.value, unit),
        f"{took_s:.1f}",
        f"{best.gap:.1%}",
    ]
    return Cell(told[0], best.value, alone.value, share.value, took_s, f"| {' | '.join(told)} |")


def main(asked: argparse.Namespace) -> None:
    print(HEAD)
    cells: list[Cell] = []
    for each in product(asked.networks, asked.budgets, asked.weights, asked.objectives):
        try:
            cells.append(cell(*each, asked.seconds, asked.processes))
            print(cells[-1].line, flush=True)
        except SpillwayError as error:
            print(f"| {' '.join(each)} | {error} |", flush=True)
    near = [one for one in cells if one.value <= one.alone * (1 + CLOSE)]
    most_s = max(1.1 * asked.seconds, asked.seconds + 1)
    print(f"\n{len(near)} of {len(cells)} cells within {CLOSE:.0%} of the best form alone")
    _list("not within that", [one for one in cells if one not in near])
    _list("worse than a form with its share", [c for c in cells if c.value > c.share * (1 + EQUAL)])
    _list("limit not kept", [one for one in cells if one.took_s > most_s])


def _list(title: str, cells: Sequence[Cell]) -> None:
    print(f"{title}: {', '.join(one.name for one in cells) or 'none'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--budgets", nargs="+", default=["MP", "2MiB"])
    parser.add_argument("--weights", nargs="+", choices=WEIGHTS, default=[COUNTED, LEFT_OUT])
    parser.add_argument("--objectives", nargs="+", default=["latency", "traffic"])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--processes", type=int, default=0)
    main(parser.parse_args())
