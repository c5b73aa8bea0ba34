"""Give each transfer of a program to an engine of a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planners.core.engines import by_direction, kind_of, spreads
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Instruction, LazyInstructions, Load, Program, Store
from planners.simulator.given_times import seconds_of
from planners.simulator.timing import Scoreboard


def with_engines(plan: Plan) -> Plan:
    """The plan with an engine for each of its transfers.

    Where engines share work, it is the one that the scoreboard finds to be done first.
    """
    chosen: Mapping[int, str] = {}
    if spreads(plan.machine):
        seconds = seconds_of(plan.program, plan.graph, plan.times) if plan.times else ()
        board = Scoreboard(plan.program, plan.machine, False, None, seconds, spread=True)
        chosen = {each.instruction: each.engine for each in board.run()}
    return replace(plan, program=_assigned(plan.program, chosen))


def on_another(program: Program, own: Machine, machine: Machine) -> Program:
    """A program whose transfers name kinds of engines again, for another machine to choose."""
    if not (spreads(own) or spreads(machine)):
        return program
    kinds = {engine.name: kind_of(own, engine.name) for engine in own.engines}
    items = (
        replace(item, engine=kinds.get(item.engine, item.engine))
        if isinstance(item, (Load, Store))
        else item
        for item in program.instructions
    )
    return replace(program, instructions=tuple(items))


def _assigned(program: Program, chosen: Mapping[int, str]) -> Program:
    """The program with these engines by position, others by direction; a lazy one stays lazy."""

    def assigned() -> Iterator[Instruction]:
        for index, item in enumerate(program.instructions):
            if isinstance(item, (Load, Store)):
                engine = chosen.get(index) or by_direction(item)
                yield item if engine == item.engine else _on(item, engine)
            else:
                yield item

    lazy = isinstance(program.instructions, LazyInstructions)
    return replace(program, instructions=LazyInstructions(assigned) if lazy else tuple(assigned()))


def _on(item: Load | Store, engine: str) -> Load | Store:
    if isinstance(item, Load):
        return Load(item.step, item.piece, item.source, item.target, engine, item.joined)
    return Store(item.step, item.piece, item.source, item.target, engine)
