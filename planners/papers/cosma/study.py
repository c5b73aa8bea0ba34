"""The COSMA paper's comparison (V-B, V-C): our optima beside its four schemes, and stronger ones.

8-bit data, batch 1, 224×224, activations only and, for the human-designed networks, parameters
too. The paper does not say which granularity it used; `folded` fits its text best and is the
default. Every plan passes `check`; results can be kept in a file, so that a run can go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from typing import NamedTuple

from planners.catalogue import load
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.plan import Plan
from planners.core.registry import planner
from planners.cosma.options import SCHEDULES
from planners.papers.cosma.paper import HUMAN, LABELS, SEARCHED
from planners.papers.memo import Memo
from planners.papers.report import Row
from planners.simulator.claims import check
from planners.study.budgets import Budgets, budgets
from planners.study.sweep import even_budgets

MACHINE = "npu_ideal"


class SchemeCase(NamedTuple):
    """A problem and a scheme: everything that a result depends on, but for the code."""

    model: str
    granularity: str
    parameters: bool
    budget_bytes: int
    schedule: str
    replacement: str
    time_limit_s: float


@dataclass(frozen=True, slots=True)
class SchemeOutcome:
    """What a plan that passed `check` moves beyond need, its proven bound, and seconds.

    `max_error`: the largest difference from PyTorch's outputs, where the plan was executed.
    """

    moved_bytes: int
    bound_bytes: int
    seconds: float
    max_error: float | None = None
    execute_s: float | None = None

    @property
    def gap(self) -> float:
        open_bytes = self.moved_bytes - self.bound_bytes
        return open_bytes / self.moved_bytes if open_bytes else 0.0


def outcome_of(memo: Memo, case: SchemeCase, graph: Graph, execute: bool = False) -> SchemeOutcome:
    """The outcome of a case, from before or now. Raises what the planner and `check` raise."""
    kept = memo.get(case)
    if kept is not None and (not execute or SchemeOutcome(*kept).max_error is not None):
        return SchemeOutcome(*kept)
    plan = _checked_plan(case, graph)
    claims = plan.claims
    outcome = SchemeOutcome(claims.noncompulsory_bytes, claims.bound_bytes, claims.plan_s)
    if execute:
        outcome = _executed(plan, outcome)
    what = "proven" if not outcome.gap else f"gap {outcome.gap:.1%}"
    memo.keep(
        case,
        astuple(outcome),
        f"{case.model} {case.schedule} {case.replacement} in {case.budget_bytes:,}: "
        f"{outcome.moved_bytes:,} bytes, {what}, {outcome.seconds:.2f} s",
    )
    return outcome


def _checked_plan(case: SchemeCase, graph: Graph) -> Plan:
    options = {
        "schedule": case.schedule,
        "replacement": case.replacement,
        "parameters": case.parameters,
        "time_limit": case.time_limit_s,
    }
    make = planner("cosma").plan
    plan = make(graph, load_machine(MACHINE), case.budget_bytes, options, None)
    check(plan)
    return plan


def _executed(plan: Plan, outcome: SchemeOutcome) -> SchemeOutcome:
    """Run the plan in an arena of its bytes, with random weights, beside PyTorch."""
    from planners.api import execute

    began = time.perf_counter()
    error = execute(plan).max_abs_error
    return replace(outcome, max_error=error, execute_s=time.perf_counter() - began)


OPTIMA = ("default", "mpmf", "joint")
REPLACEMENTS = ("belady", "greedy", "size_ordered", "hill_climb")
PAPERS = ("belady", "greedy")
BASELINES = tuple((s, r) for r in REPLACEMENTS for s in ("default", "mpmf"))


@dataclass(frozen=True, slots=True)
class CosmaStudy:
    """What is compared: networks, budgets by label, seconds a plan, and what else is done.

    `sweep`: how many budgets from MR to MP the searched networks are planned at besides (none
    where it is below 2). `execute`: whether the joint plans run on real numbers too.
    """

    labels: tuple[str, ...] = LABELS
    granularity: str = "folded"
    time_limit_s: float = 60.0
    sweep: int = 9
    execute: bool = False
    models: tuple[str, ...] = HUMAN + SEARCHED

    def __post_init__(self) -> None:
        for label in self.labels:
            if label not in LABELS:
                raise BadInput(f"budget {label!r}: choose among {', '.join(LABELS)}")


@dataclass(frozen=True, slots=True)
class CosmaTables:
    """Rows at the paper's budgets, and rows of the sweep."""

    rows: list[Row]
    sweep: list[Row]


def network(model: str, granularity: str) -> Graph:
    """A network of the paper at the paper's input size, its pads operators of their own."""
    shape = (1, 3, 224, 224) if model.startswith("timm:") else None
    return load(model, granularity=granularity, input_shape=shape, fold_padding=False)


@dataclass(frozen=True, slots=True)
class NetworkCases:
    """One network with or without its parameters: what each scheme moves in a budget."""

    study: CosmaStudy
    memo: Memo
    model: str
    graph: Graph
    parameters: bool

    def at(self, label: str, limits: Budgets) -> Row:
        """Bytes of each scheme at a budget of the paper; gap and seconds of the optima; what
        executing the joint plan gave.
        """
        row: Row = {
            "model": self.model,
            "parameters": self.parameters,
            "budget": label,
            "bytes": getattr(limits, label),
            "budget proven": label == "MR" or limits.MP_proven,
        }
        for schedule, replacement in schemes(self.model):
            execute = self.study.execute and schedule == "joint"
            outcome = self._outcome(row["bytes"], schedule, replacement, execute)
            row[f"{schedule} {replacement}"] = outcome.moved_bytes
            if replacement == "optimal":
                row |= _proof(schedule, outcome)
            if execute:
                row |= {"max error": outcome.max_error, "execute s": outcome.execute_s}
        return row

    def sweep(self, limits: Budgets) -> Iterator[Row]:
        """Joint plans at budgets evenly from MR to MP, each once."""
        for size in dict.fromkeys(even_budgets(limits.MR, limits.MP, self.study.sweep)):
            best = self._outcome(int(size), "joint", "optimal")
            head = {"model": self.model, "parameters": self.parameters, "bytes": int(size)}
            yield head | {"joint optimal": best.moved_bytes} | _proof("joint", best)

    def _outcome(
        self, size_bytes: int, schedule: str, replacement: str, execute: bool = False
    ) -> SchemeOutcome:
        study = self.study
        problem = (self.model, study.granularity, self.parameters, size_bytes)
        case = SchemeCase(*problem, schedule, replacement, study.time_limit_s)
        return outcome_of(self.memo, case, self.graph, execute)


def schemes(model: str) -> Iterator[tuple[str, str]]:
    """The pairs of schedule and replacement that a network is planned by."""
    yield from ((schedule, "optimal") for schedule in OPTIMA)
    if model in SEARCHED and "dnc" in SCHEDULES:
        yield "dnc", "optimal"
    yield from BASELINES


def _proof(schedule: str, outcome: SchemeOutcome) -> Row:
    return {
        f"{schedule} bound": outcome.bound_bytes,
        f"{schedule} gap": outcome.gap,
        f"{schedule} s": round(outcome.seconds, 3),
    }


def reproduce(study: CosmaStudy, memo: Memo) -> CosmaTables:
    """All rows of a study, with what the memo has of them. Raises `BadInput` for another's memo."""
    memo.require(lambda case, outcome: (SchemeCase(*case), SchemeOutcome(*outcome)))
    tables = CosmaTables([], [])
    for model in study.models:
        graph = network(model, study.granularity)
        for parameters in (False, True) if model in HUMAN else (False,):
            cases = NetworkCases(study, memo, model, graph, parameters)
            limits = budgets(graph, parameters=parameters)
            tables.rows.extend(cases.at(label, limits) for label in study.labels)
            if model in SEARCHED and study.sweep > 1:
                tables.sweep.extend(cases.sweep(limits))
    return tables
