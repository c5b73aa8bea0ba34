"""Give each transfer of a program to an engine of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planners.core.engines import by_direction, kind_of, spreads
from planners.core.loops import LoopedInstructions, expanded, items_of, mapped
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Instruction, Item, Load, Program, Repeat, Store
from planners.simulator.given_times import seconds_of
from planners.simulator.timing import Scoreboard


def with_engines(plan: Plan) -> Plan:
    """The plan with an engine for each of its transfers.

    Where engines share work, it is the one that the scoreboard finds to be done first.
    """
    if spreads(plan.machine):
        seconds = seconds_of(plan.program, plan.graph, plan.times) if plan.times else ()
        board = Scoreboard(plan.program, plan.machine, plan.graph, False, None, seconds, True)
        chosen = {each.instruction: each.engine for each in board.run()}
        return replace(plan, program=_assigned(plan.program, chosen))
    named = by_directions(plan.program)
    return plan if named is plan.program else replace(plan, program=named)


def by_directions(program: Program) -> Program:
    """The program of which loads that name no engine are the engine's for loads, and stores that
    for stores; itself, where each names one."""
    if all(item.engine for item in _transfers(items_of(program))):
        return program
    return _assigned(program, {})


def _transfers(items: Iterable[Item]) -> Iterator[Load | Store]:
    """The transfers among items, each of a loop's once."""
    for item in items:
        if isinstance(item, Repeat):
            yield from _transfers(item.body)
        elif isinstance(item, (Load, Store)):
            yield item


def on_another(program: Program, own: Machine, machine: Machine) -> Program:
    """A program whose transfers name kinds of engines again, for another machine to choose."""
    if not (spreads(own) or spreads(machine)):
        return program
    kinds = {engine.name: kind_of(own, engine.name) for engine in own.engines}

    def of_a_kind(item: Instruction) -> Instruction:
        if not isinstance(item, (Load, Store)):
            return item
        return replace(item, engine=kinds.get(item.engine, item.engine))

    return replace(
        program, instructions=LoopedInstructions(tuple(mapped(items_of(program), of_a_kind)))
    )


def _assigned(program: Program, chosen: Mapping[int, str]) -> Program:
    """The program with these engines by position, others by direction; a lazy one stays lazy."""

    def assigned() -> Iterator[Item]:
        if not chosen:
            return mapped(items_of(program), _on)
        return (_on(item, chosen.get(i, "")) for i, item in enumerate(program.instructions))

    instructions = program.instructions
    if isinstance(instructions, LoopedInstructions):
        instructions_on_engines = LoopedInstructions(
            assigned if instructions.lazy else tuple(assigned())
        )
        return replace(program, instructions=instructions_on_engines)
    return replace(program, instructions=tuple(expanded(assigned())))


def _on(item: Instruction, engine: str = "") -> Instruction:
    """A transfer with an engine: this one, or that of its direction."""
    if not isinstance(item, (Load, Store)):
        return item
    engine = engine or by_direction(item)
    if engine == item.engine:
        return item
    if isinstance(item, Load):
        return Load(item.step, item.piece, item.source, item.target, engine, item.joined)
    return Store(item.step, item.piece, item.source, item.target, engine)
