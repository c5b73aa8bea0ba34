"""What to say where a planner made a plan that does not hold: it is a bug, and worth a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from planners.core.errors import InvalidPlan
from planners.core.plan import Plan


@contextmanager
def bugs_explained(plan: Plan) -> Iterator[None]:
    """Within, an `InvalidPlan` is a bug of the plan's planner, and says how to report it."""
    try:
        yield
    except InvalidPlan as error:
        raise _explained(plan, error) from error


def _explained(plan: Plan, error: InvalidPlan) -> InvalidPlan:
    options = ", ".join(f"{name}={value!r}" for name, value in plan.options.items())
    return InvalidPlan(
        f"{error.reason}; this is a bug in the planner {plan.planner!r}, so there is no plan for "
        f"{plan.graph.name!r:.60} in {plan.budget_bytes} bytes on {plan.machine.name!r:.40}. "
        "Please report it with the graph, saved by `graph.save('graph.json')` or "
        f"`spillway graph MODEL --out graph.json`, and these options: {options:.600}",
        step=error.step,
        instruction=error.instruction,
        memory=error.memory,
        address=error.address,
        kind=error.kind,
    )
