"""Every option of every planner survives all ways that it goes, made from the types of options.

From the address to the page, the plan, its file and back to an address; and from the command line
to a plan and the script that makes it anew. An option that is added is tested by being declared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from typer.testing import CliRunner

import planners as sp
from app.links.url import from_query, problem_of, to_query
from app.model.option_keys import keyed, type_of
from app.model.options import SOLVER, options, why_not
from app.model.state import Look, ProblemFields
from app.outputs.scripts import as_python, plan_as_python
from planners.cli.commands import app
from planners.core.options import Spec
from tests.app.networks import beginning
from tests.random_graphs import random_graph

LIMIT_S = 2.0
"""What is asserted is of any plan: planners search as long as they may."""

WITH: dict[str, dict[str, Any]] = {
    "cosma.break_nodes": {"schedule": "dnc"},
    "cosma.solver": {"method": "ilp"},
    "cosma.paper_strict": {"method": "ilp"},
    "cosma.alignment": {"replacement": "greedy"},
    "joined.objective": {"others": False},  # else the plan may be another planner's
    "joined.improve": {"others": False},
    "joined.fallback": {"others": False},
    "streaming.ring": {"pipeline": "async"},
    "streaming.step": {"pipeline": "2s-md"},
    "streaming.seed": {"draws": 20},
}
"""What else is chosen for an option to have an effect."""
NUMBERS = 2
"""So many numbers of an option are of the usual run, and all of its words."""


def graph(planner: str, option: str) -> sp.Graph:
    """Few operators: the planner plans them at once; those that ask others make many plans."""
    if planner in ("auto", "joined"):
        return random_graph(1, 3, largest=30)
    last = {"cosma": "conv2d_1", "cosma.break_nodes": "max_pool2d_1"}
    return beginning("squeezenet1_1", last.get(f"{planner}.{option}") or last.get(planner, "cat"))


def values_of(key: str, spec: Spec) -> list[Any]:
    """A value of each class that is not the default."""
    if key == SOLVER:
        return ["CBC"]
    if spec.choices or spec.words:
        known = spec.choices or tuple(spec.words)
        return [value for value in known if value != spec.default][:8]
    if spec.file:  # A link may name no file.
        return []
    if spec.kind == "flag":
        return [not spec.default]
    if spec.kind == "names":
        return [("cat",), ("cat", "cat_1")]
    if spec.kind == "size":
        return [spec.default + 2**20]
    return [spec.default + 1]


def all_options() -> Iterator[Any]:
    for planner in sp.planners():
        for name, spec in type_of(planner).own().items():
            for number, value in enumerate(values_of(f"{planner}.{name}", spec)):
                id = f"{planner}.{name}={value}"
                is_long = isinstance(value, int | float) and number >= NUMBERS
                marks = [pytest.mark.long] if is_long else []
                yield pytest.param(planner, name, value, id=id, marks=marks)


def opened(query: str) -> ProblemFields:
    """The problem that a page has of an address."""
    fields, _, wrong = from_query(dict(parse_qsl(query[1:], keep_blank_values=True)))
    assert wrong == []
    return ProblemFields(**fields)


@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(("planner", "name", "value"), list(all_options()))
def test_an_option_comes_back_from_address_plan_and_file(
    planner: str, name: str, value: Any, tmp_path: Path
) -> None:
    chosen = {**WITH.get(f"{planner}.{name}", {}), name: value}
    asked = ProblemFields.with_values(
        planner=planner, model="squeezenet1_1", budget="4 MiB", **chosen
    )
    page = opened(to_query(asked, Look()))
    assert page.values_by_name() == asked.values_by_name()
    assert name not in why_not(page)
    plan = sp.plan(graph(planner, name), planner, "4 MiB", time_limit=LIMIT_S, **options(page))
    plan.save(tmp_path / "plan.json")
    saved = sp.Plan.load(tmp_path / "plan.json")
    if planner == "auto":  # the plan is the winner's: what it was asked is kept with what was tried
        assert {row.objective for row in saved.details.tried} == {
            chosen.get("objective", "latency")
        }
        return
    again = ProblemFields(**problem_of(saved))
    assert again.options == asked.options == keyed_unusual(planner, chosen)
    assert opened(to_query(again, Look())).options == asked.options


def keyed_unusual(planner: str, chosen: dict[str, Any]) -> dict[str, Any]:
    own = type_of(planner).own()
    return {
        key: value
        for key, value in keyed(planner, chosen).items()
        if value != own[key.partition(".")[2]].default
    }


@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(("planner", "name", "value"), list(all_options()))
def test_an_option_comes_from_the_command_line_into_the_script(
    planner: str, name: str, value: Any, tmp_path: Path
) -> None:
    own = type_of(planner).own()
    file, out = tmp_path / "graph.json", tmp_path / "plan.json"
    graph(planner, name).save(file)
    flags = ["plan", str(file), "--planner", planner, "--budget", "4MiB", "--out", str(out)]
    flags += ["--time-limit", str(LIMIT_S)]
    chosen = {**WITH.get(f"{planner}.{name}", {}), name: value}
    for option, given in chosen.items():
        flag = own[option].flag
        if own[option].kind == "flag":
            flags.append(flag if given else f"--no-{flag.removeprefix('--')}")
        else:
            flags += [flag, own[option].text(given)]
    said = CliRunner().invoke(app, flags)
    assert said.exit_code == 0, said.output
    plan = sp.Plan.load(out)
    if planner == "auto":  # the plan is the winner's: what it was asked is kept with what was tried
        assert {row.objective for row in plan.details.tried} == {chosen.get("objective", "latency")}
        return
    names: dict[str, Any] = {"print": lambda *_: None}
    script = plan_as_python(plan, str(out))
    exec(script, names)
    assert names["plan"].options == plan.options
    kept = json.loads(json.dumps(chosen))
    assert {option: plan.options[option] for option in kept} == kept


def test_a_link_never_makes_the_server_read_a_file() -> None:
    for planner in sp.planners():
        for name, spec in type_of(planner).own().items():
            if spec.file:
                key = f"{planner}.{name}"
                fields, _, wrong = from_query({"v": "3", key: "/etc/passwd"})
                assert (fields, len(wrong)) == ({}, 1)
                assert "/etc/passwd" not in as_python(ProblemFields(**fields))


def test_flipping_planners_keeps_what_each_was_told() -> None:
    problem = ProblemFields.with_values(planner="overlap", objective="ram")
    problem.take(planner="cosma", objective="peak")
    assert (problem.option("objective"), options(problem)["objective"]) == ("peak", "peak")
    problem.planner = "overlap"
    assert problem.option("objective") == "ram"
    assert opened(to_query(problem, Look())).values_by_name() == problem.values_by_name()
