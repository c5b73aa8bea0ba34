"""What the plans of a form are worth at best."""

from __future__ import annotations

from planners.auto.forms import Form
from planners.core.objective import Objective
from planners.core.plan import Plan


def bound_of(aim: Objective, form: Form, plan: Plan) -> float:
    """What no plan of the form is better than, as far as its plan proves it."""
    claims, latency = plan.claims, plan.details.latency
    if latency is not None and aim.name == "latency":
        return max(aim.floor, latency.bound_s)
    if form.proves == "traffic":
        saved = claims.objective_bytes - claims.bound_bytes
        return aim.of_traffic(claims.offchip_bytes - saved)
    if form.proves == aim.name:
        return claims.bound_bytes
    return aim.floor
