"""Plans that many tests look at, each made once: kept on disk while the sources are the same."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import planners as sp
from planners.core.files import write_text

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".pytest_cache" / "plans"
AFRESH = "SPILLWAY_TESTS_PLAN_AFRESH"
"""In the environment: nothing is kept, for a program that is not the one on disk."""
AMPLE_S = 600.0
"""Seconds far above what any of these plans takes: the work ends it, and no clock."""


def plan_of(
    network: str | sp.Graph,
    planner: str = "cosma",
    budget: int | str = "MR",
    machine: str | sp.Machine = "npu_small",
    time_limit: float = AMPLE_S,
    **options: Any,
) -> sp.Plan:
    """The plan that `sp.plan` makes of this, from the second time on as it was the first time.

    `network`: a catalogue name or a graph. Plans are values: a test that wants another makes one
    with `dataclasses.replace`. Where a test is about planning itself it calls `sp.plan`.
    """
    graph = graph_of(network) if isinstance(network, str) else network
    problem = json.dumps(
        [graph.to_json(), planner, budget, repr(machine), time_limit, options],
        sort_keys=True,
        default=repr,
    )
    key = hashlib.sha256(problem.encode()).hexdigest()
    made = _made.get(key)
    if made is None:
        made = _kept(key)
        if made is None:
            made = sp.plan(graph, planner, budget, machine, time_limit, **options)
            _keep(key, made)
        _made[key] = made
    return made


_made: dict[str, sp.Plan] = {}


@cache
def graph_of(name: str) -> sp.Graph:
    """A network of the catalogue, loaded once."""
    return sp.load(name)


def _kept(key: str) -> sp.Plan | None:
    path = folder() / f"{key}.json"
    return sp.Plan.load(path) if AFRESH not in os.environ and path.is_file() else None


def _keep(key: str, plan: sp.Plan) -> None:
    if AFRESH not in os.environ:
        folder().mkdir(parents=True, exist_ok=True)
        plan.save(folder() / f"{key}.json")  # Whole or not at all: workers share the folder.


def kept_text(name: str, make: Callable[[], str]) -> str:
    """A text of a name that says all it depends on, beside the planners' sources: made once."""
    path = folder() / f"{name}.txt"
    if AFRESH not in os.environ and path.is_file():
        return path.read_text("utf-8")
    text = make()
    if AFRESH not in os.environ:
        folder().mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return text


@cache
def folder() -> Path:
    """Where plans of these sources are kept; those of older sources go."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "planners").rglob("*")):
        if path.suffix in (".py", ".toml"):
            digest.update(path.read_bytes())
    found = KEPT / digest.hexdigest()[:16]
    if not found.is_dir() and KEPT.is_dir():
        for older in KEPT.iterdir():
            shutil.rmtree(older, ignore_errors=True)
    return found
