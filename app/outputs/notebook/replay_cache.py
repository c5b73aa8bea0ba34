"""Plans replayed for their pictures: once for each, unless that takes a minute."""

from __future__ import annotations

import json
import weakref
from itertools import islice

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.bundles import checked_bundled, is_bundled
from planners.simulator.simulate import traced

MOST = 20_000  # instructions: a second
_KNOWN: dict[int, DisplayedPlan] = {}


def too_long(plan: sp.Plan) -> bool:
    """Whether a plan has more instructions than can be replayed while a cell is shown."""
    return next(islice(iter(plan.program.instructions), MOST, None), None) is not None


def replayed(plan: sp.Plan) -> DisplayedPlan:
    """The plan checked and timed, cached for as long as the plan exists. Raises `InvalidPlan`."""
    key = id(plan)
    if key not in _KNOWN:
        remember(plan, _replay(plan))
    return _KNOWN[key]


def remember(plan: sp.Plan, shown: DisplayedPlan) -> None:
    """Keep the results of a plan for its next picture."""
    _KNOWN[id(plan)] = shown
    weakref.finalize(plan, _KNOWN.pop, id(plan), None)


def known(plan: sp.Plan) -> bool:
    """Whether a plan was replayed already."""
    return id(plan) in _KNOWN


def plan_of(shown: DisplayedPlan) -> sp.Plan:
    """The plan as its planner made it; what is drawn may have been made shorter.

    Raises `BadInput` where a long one is still being written.
    """
    plan = sp.Plan.from_json(json.loads(shown.text))
    remember(plan, shown)
    return plan


def _replay(plan: sp.Plan) -> DisplayedPlan:
    if is_bundled(plan):
        return checked_bundled(plan)
    report = sp.check(plan)
    return DisplayedPlan(plan, report, traced(plan, report, plan.machine), "")
