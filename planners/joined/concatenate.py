"""Programs of consecutive parts of a network, one after the other, as one program of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from planners.core.gc_pause import no_collection
from planners.core.loops import LoopedInstructions, items_of, mapped
from planners.core.machine import Machine
from planners.core.program import (
    Compute,
    Instruction,
    Item,
    Load,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
)

POOL = "pool"
"""The window of the scratchpad that is a circular pool: all of it."""


@no_collection()
def consecutive(programs: Sequence[Program], machine: Machine, budget_bytes: int) -> Program:
    """One program in a scratchpad of the budget. What crosses from one to the next does so at home.

    Circular pools become windows of the scratchpad, and each program's windows get its number.
    """
    memories: dict[str, Memory] = {}
    memories[machine.onchip] = Memory(machine.onchip, budget_bytes)
    items: list[Item] = []
    steps: list[str] = []
    homes: dict[str, str] = {}
    for number, program in enumerate(programs):
        names = _names(program, machine, number)
        for memory in _moved(program, machine, names, budget_bytes):
            memories.setdefault(memory.name, memory)
        items += mapped(items_of(program), partial(_renamed, names=names, steps=len(steps)))
        steps += program.steps
        homes.update(program.homes)
    for name in homes.values():
        memories.setdefault(name, Memory(name, None, offchip=True, addressed=False))
    written = LoopedInstructions(tuple(items))
    return Program(tuple(memories.values()), written, homes, tuple(steps))


def _names(program: Program, machine: Machine, number: int) -> dict[str, str]:
    """New names of a program's memories, by old ones."""
    names = {m.name: f"{number}.{m.name}" for m in program.memories if m.parent is not None}
    if program.memory(machine.onchip).circular:
        names[machine.onchip] = POOL
    return names


def _moved(
    program: Program, machine: Machine, names: Mapping[str, str], budget_bytes: int
) -> Iterator[Memory]:
    for memory in program.memories:
        parent = memory.parent and names.get(memory.parent, memory.parent)
        if memory.name != machine.onchip:
            yield replace(memory, name=names.get(memory.name, memory.name), parent=parent)
        elif memory.circular:
            if memory.size_bytes != budget_bytes:
                raise ValueError("a pool is as large as the budget")
            yield replace(memory, name=POOL, parent=machine.onchip, base=0)


def _renamed(item: Instruction, names: Mapping[str, str], steps: int) -> Instruction:
    """The instruction in other memories, so many steps later."""
    if not names and not steps:
        return item

    def in_memory(region: Region) -> Region:
        name = names.get(region.memory)
        return region if name is None else region._replace(memory=name)

    step = item.step + steps
    match item:
        case Load(_, piece, source, target, engine, joined):
            return Load(step, piece, in_memory(source), in_memory(target), engine, joined)
        case Store(_, piece, source, target, engine):
            return Store(step, piece, in_memory(source), in_memory(target), engine)
        case Release(_, piece, region):
            return Release(step, piece, in_memory(region))
        case Compute():
            reads, writes = item.reads, item.writes
            if names:
                reads = tuple([Operand(piece, in_memory(region)) for piece, region in reads])
                writes = tuple([Operand(piece, in_memory(region)) for piece, region in writes])
            return replace(item, step=step, reads=reads, writes=writes)
    return replace(item, step=step)
