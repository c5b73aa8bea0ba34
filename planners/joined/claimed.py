"""What is claimed of a plan by what is asked: a bound of the problem, whoever made the plan."""

from __future__ import annotations

from dataclasses import replace

from planners.core.details import BestOfForms, LatencyClaim
from planners.core.plan import Plan
from planners.core.registry import COSMA
from planners.simulator.aim import Aim
from planners.simulator.simulate import Trace

SCOPE = "all plans of the problem"


def claimed(plan: Plan, trace: Trace | None, aim: Aim) -> Plan:
    """The plan with what is known of it by what is asked now, whatever its file claims."""
    moved = plan.claims.offchip_bytes
    bound = min(aim.floors.compulsory_bytes, moved)
    best = latency = None
    if plan.planner == COSMA and plan.slow_memories:  # Its aim is what goes through these.
        moved, bound = plan.claims.objective_bytes, 0
        value = aim.value(plan, trace)
        met = not aim.better(aim.floor, value)
        best = BestOfForms(aim.objective, value, aim.floor, met, forms=1)
    if trace is not None and aim.objective == "latency":
        latency = LatencyClaim(trace.makespan_s, min(aim.floor, trace.makespan_s), SCOPE)
    proven = not latency.gap if latency else aim.objective == "traffic" and bound == moved
    claims = replace(
        plan.claims,
        status="optimal" if proven else "feasible",
        objective_bytes=moved,
        bound_bytes=bound,
    )
    details = replace(plan.details, latency=latency, tried=(), best=best)
    return replace(plan, claims=claims, details=details)
