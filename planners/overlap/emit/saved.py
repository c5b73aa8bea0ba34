"""The layout that a saved plan carries, and whether it is that of the plan's program."""

from __future__ import annotations

from dataclasses import replace

from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.overlap.emit.program import emit
from planners.simulator.spread import with_engines


def layout_of(plan: Plan) -> PoolLayout:
    """Where a plan puts tensors. Raises `BadInput` where it is none of the overlap planner."""
    if plan.details.pool is None:
        raise BadInput(
            f"a plan of {plan.planner!r:.40} has no circular pool: plan with the planner overlap"
        )
    return plan.details.pool.layout


def proven_layout(plan: Plan) -> PoolLayout:
    """The same, once it is known to make the plan's program, instruction for instruction.

    What `check` proves of the program then holds for all else made from the layout. Raises
    `BadInput` where they differ.
    """
    layout = layout_of(plan)
    if unknown := [name for name in layout.offsets if name not in plan.graph.tensors]:
        raise BadInput(f"the layout places {unknown[0]!r:.60}, which is no tensor")
    parameters = "parameter" in plan.program.homes
    try:
        made = replace(plan, program=emit(plan.graph, plan.machine, layout, parameters))
        program = with_engines(made).program
    except (LookupError, ValueError, AssertionError) as error:  # It names what does not exist.
        raise BadInput(f"the plan's layout does not suit {plan.graph.name!r:.60}") from error
    same = (program.memories, program.instructions) == (
        plan.program.memories,
        plan.program.instructions,
    )
    if not same:
        raise BadInput("the plan's layout is not that of its program: plan anew")
    return layout
