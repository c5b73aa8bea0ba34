"""The layout that a saved plan carries, and whether it is that of the plan's program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest

from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput
from planners.core.loops import items_of
from planners.core.plan import Plan
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Operand,
    Program,
    Region,
    Release,
    Store,
)
from planners.overlap.emit.program import emit
from planners.simulator.engine_assignment import with_engines


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
        raise BadInput(f"the layout places {unknown[0]!r:.60}, which is not a tensor")
    parameters = "parameter" in plan.program.homes
    try:
        emitted = replace(plan, program=emit(plan.graph, plan.machine, layout, parameters))
        program = with_engines(emitted).program
    except (LookupError, ValueError, AssertionError) as error:  # It names what does not exist.
        raise BadInput(f"the plan's layout does not suit {plan.graph.name!r:.60}") from error
    if not _same(program, plan.program):
        raise BadInput("the plan's layout is not that of its program: plan anew")
    return layout


def _same(emitted: Program, saved: Program) -> bool:
    """Whether two programs over the same rings do the same, instruction for instruction."""
    if emitted.memories != saved.memories:
        return False
    if list(items_of(emitted)) == list(items_of(saved)):
        return True
    rings = {m.name: m.size_bytes for m in emitted.memories if m.circular and m.size_bytes}
    both = (_in_rings(program, rings) for program in (emitted, saved))
    return all(one == other for one, other in zip_longest(*both))


def _in_rings(program: Program, rings: Mapping[str, int]) -> Iterator[Instruction]:
    """Every instruction, with each offset where it is in its ring."""

    def at(region: Region) -> Region:
        if region.offset is None or region.memory not in rings:
            return region
        return region._replace(offset=region.offset % rings[region.memory])

    def all_at(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(Operand(operand.piece, at(operand.region)) for operand in operands)

    for item in program.instructions:
        match item:
            case Load() | Store():
                yield replace(item, source=at(item.source), target=at(item.target))
            case Compute():
                yield replace(item, reads=all_at(item.reads), writes=all_at(item.writes))
            case Release():
                yield replace(item, region=at(item.region))
            case _:
                yield item
