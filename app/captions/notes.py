"""A sentence on a whole plan: what its numbers assume, or why there is none."""

from __future__ import annotations

from app.display.displayed_plan import DisplayedPlan
from app.model.machines import title_of
from planners.audits.shown import is_allocation
from planners.core.element_types import NATIVE
from planners.core.units import format_bytes
from planners.core.weights import LEFT_OUT, WORDS, weights_of

LISTED = 6


def infeasible_story(why: dict[str, object]) -> str:
    """What binds, in one sentence."""
    tensors: list[tuple[str, int]] = list(why.get("tensors") or ())  # type: ignore[call-overload]
    listed = ", ".join(f"{name} ({format_bytes(size)})" for name, size in tensors[:LISTED])
    listed += f" and {len(tensors) - LISTED} more" if len(tensors) > LISTED else ""
    needs_text = f" needs {listed} at once" if listed else ""
    if why.get("streams"):
        total = format_bytes(sum(size for _, size in tensors))
        return f"the largest layer, {why['operator']}, has {total} of parameters; {why['remedy']}"
    return f"{why['operator']}{needs_text}"


def assumptions(shown: DisplayedPlan) -> str:
    """What the numbers assume; of another tool's plan, the verdict."""
    plan, graph = shown.plan, shown.graph
    if is_allocation(plan):
        return plan.notes[0]
    weights = WORDS[weights_of(graph, plan.program) or LEFT_OUT]
    native = graph.bytes_per_element == NATIVE
    width = graph.width_words if native else f"{graph.bytes_per_element} B an element"
    return f"{graph.granularity} operators · {width} · weights {weights} · {title_of(plan.machine)}"
