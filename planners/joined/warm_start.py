"""Plans that were made before, by whichever planner, for the joined one to begin with.

The best of them is the plan until there is a better one, so that joined is never worse than what
it is given; one of fused groups is also among its own ways, from which the local search goes on.
A plan made for less memory is one for more. Files are not trusted: each is replayed, and claims of
the problem alone are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planners.core.errors import BadInput, InvalidPlan
from planners.core.machine import with_scratchpad
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.plan_cache import kept_in
from planners.core.progress import Clock
from planners.core.registry import FUSION
from planners.core.units import format_bytes
from planners.core.weights import weights_of
from planners.joined.evaluator import claimed
from planners.simulator.check import require_valid
from planners.simulator.engine_assignment import with_engines
from planners.simulator.memories import onchip_bytes
from planners.simulator.simulate import simulate
from planners.wishes.language import Wish, broken


@dataclass(frozen=True, slots=True)
class OtherPlan:
    """A plan that is not joined's own, its value by the objective, and in words which it is."""

    plan: Plan
    value: float
    words: str

    @property
    def fused(self) -> bool:
        """Whether all of it is fused groups."""
        return self.plan.planner == FUSION


def begun(
    names: Sequence[str], aim: Objective, budget_bytes: int, wishes: Sequence[Wish], clock: Clock
) -> OtherPlan | None:
    """The best of the plans in files and folders that keeps to the wishes; None without any.

    Of a folder those count that a sweep kept there for this problem: others are passed over.
    Raises `BadInput` for a file that cannot be read or is wrong, and for one that is named and is
    of another problem.
    """
    best: OtherPlan | None = None
    read = [*_read(names, aim, budget_bytes, clock)]
    read.sort(key=lambda each: aim.of_traffic(each[1].claims.offchip_bytes))
    for path, plan, kept in read:
        least = aim.of_traffic(plan.claims.offchip_bytes)
        if kept and best is not None and not aim.better(least, best.value):
            continue  # If what it claims is true; else it does not count anyway.
        clock.report(f"replaying {path.name}")
        plan = with_engines(_of_the_budget(plan, aim, budget_bytes))
        try:
            require_valid(plan)
            if broken(plan, wishes):
                continue
        except InvalidPlan as error:
            raise BadInput(f"begin: {path} is a plan that does not replay: {error}") from error
        trace = simulate(plan) if aim.simulated else None
        value = aim.value(plan, trace)
        if best is None or aim.better(value, best.value):
            words = f"the best plan that it began with ({plan.planner})"
            best = OtherPlan(claimed(plan, trace, aim), value, words)
    return best


def _read(
    names: Sequence[str], aim: Objective, budget_bytes: int, clock: Clock
) -> Iterator[tuple[Path, Plan, bool]]:
    """The plans of the problem in files and folders, and whether a folder keeps them."""
    for path, kept in _files(names, aim, budget_bytes):
        clock.report(f"reading {path.name}")
        plan = _loaded(path)
        if other := _other_problem(plan, aim, budget_bytes):
            if not kept:
                raise BadInput(f"begin: {path} is a plan for {other}")
        else:
            yield path, plan, kept


def _files(names: Sequence[str], aim: Objective, budget_bytes: int) -> Iterator[tuple[Path, bool]]:
    """The files that are named, and those that a folder keeps of the graph (True)."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            for kept in kept_in(path, aim.floors.graph, budget_bytes):
                yield kept, True
        else:
            yield path, False


def _loaded(path: Path) -> Plan:
    """The plan of a file. Raises `BadInput` that names it."""
    try:
        return Plan.load(path)
    except BadInput as error:
        text = str(error)
        raise BadInput(text if str(path) in text else f"begin: {path}: {text}") from error


def _other_problem(plan: Plan, aim: Objective, budget_bytes: int) -> str:
    """Which other problem the plan is for, in words; empty where it is of this one."""
    graph, machine = aim.floors.graph, with_scratchpad(aim.floors.machine, budget_bytes)
    weights = weights_of(plan.graph, plan.program) or aim.floors.weights
    if plan.graph.digest != graph.digest:
        return f"another graph ({plan.graph.name}, or in another form)"
    if with_scratchpad(plan.machine, budget_bytes) != machine:
        return f"another machine ({plan.machine.title})"
    if weights != aim.floors.weights:
        return f"weights {weights}, not {aim.floors.weights}"
    if plan.times is not None:
        return "given times of layers"
    if (needs := onchip_bytes(plan.program, machine)) > budget_bytes:
        return f"more memory ({format_bytes(needs)}; the budget is {format_bytes(budget_bytes)})"
    return ""


def _of_the_budget(plan: Plan, aim: Objective, budget_bytes: int) -> Plan:
    """A plan of the problem, within the budget."""
    machine = with_scratchpad(aim.floors.machine, budget_bytes)
    return replace(plan, graph=aim.floors.graph, machine=machine, budget_bytes=budget_bytes)
