"""The layout that a saved plan carries, and whether it is that of the plan's program."""

from __future__ import annotations

from planners.errors import BadInput
from planners.overlap.emit import emit
from planners.overlap.layout import Layout
from planners.plan import Plan


def layout_of(plan: Plan) -> Layout:
    """Where a plan puts tensors. Raises `BadInput` where it is none of the overlap planner."""
    if "layout" not in plan.details:
        raise BadInput(
            f"a plan of {plan.planner!r:.40} has no circular pool: plan with the planner overlap"
        )
    return Layout.from_json(plan.details["layout"])


def proven_layout(plan: Plan) -> Layout:
    """The same, once it is known to make the plan's program, instruction for instruction.

    What `check` says of the program is then so of whatever else is made from the layout. Raises
    `BadInput` where they differ.
    """
    layout = layout_of(plan)
    if unknown := [name for name in layout.offsets if name not in plan.graph.tensors]:
        raise BadInput(f"the layout places {unknown[0]!r:.60}, which is no tensor")
    parameters = "parameter" in plan.program.homes
    try:
        program = emit(plan.graph, plan.machine, layout, parameters)
    except (LookupError, ValueError, AssertionError) as error:  # It names what is not there.
        raise BadInput(f"the plan's layout does not suit {plan.graph.name!r:.60}") from error
    same = (program.memories, program.instructions) == (
        plan.program.memories,
        plan.program.instructions,
    )
    if not same:
        raise BadInput("the plan's layout is not that of its program: plan anew")
    return layout
