"""Programs of consecutive parts of a network, one after the other, as one program of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planners.core.machine import Machine
from planners.core.program import (
    Compute,
    Instruction,
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


def consecutive(programs: Sequence[Program], machine: Machine, budget_bytes: int) -> Program:
    """One program in a scratchpad of the budget. What crosses from one to the next does so at home.

    Circular pools become windows of the scratchpad, and each program's windows get its number.
    """
    memories: dict[str, Memory] = {}
    memories[machine.onchip] = Memory(machine.onchip, budget_bytes)
    instructions: list[Instruction] = []
    steps: list[str] = []
    homes: dict[str, str] = {}
    for number, program in enumerate(programs):
        names = _names(program, machine, number)
        for memory in _moved(program, machine, names, budget_bytes):
            memories.setdefault(memory.name, memory)
        instructions += (_renamed(item, names, len(steps)) for item in program.instructions)
        steps += program.steps
        homes.update(program.homes)
    for name in homes.values():
        memories.setdefault(name, Memory(name, None, offchip=True, addressed=False))
    return Program(tuple(memories.values()), tuple(instructions), homes, tuple(steps))


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

    def of(region: Region) -> Region:
        name = names.get(region.memory)
        return region if name is None else region._replace(memory=name)

    step = item.step + steps
    match item:
        case Load() | Store():
            return replace(item, step=step, source=of(item.source), target=of(item.target))
        case Release():
            return replace(item, step=step, region=of(item.region))
        case Compute():
            reads = tuple([Operand(piece, of(region)) for piece, region in item.reads])
            writes = tuple([Operand(piece, of(region)) for piece, region in item.writes])
            return replace(item, step=step, reads=reads, writes=writes)
    return replace(item, step=step)
