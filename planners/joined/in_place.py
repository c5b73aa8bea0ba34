"""A program that loads its parameters, as one that reads them where they live."""

from __future__ import annotations

from dataclasses import replace

from planners.core.graph import Graph
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
)


def read_in_place(graph: Graph, machine: Machine, program: Program) -> Program:
    """The program without its loads of parameters: operators read the same pieces at their home.

    What remains lies where it lay; the bytes that parameters took stay free.
    """
    home, names = machine.parameters, {name for op in graph.operators for name in op.parameters}
    instructions: list[Instruction] = []
    for item in program.instructions:
        match item:
            case Load() | Release() if item.piece.tensor in names:
                continue
            case Compute():
                instructions.append(_at_home(item, names, home))
            case _:
                instructions.append(item)
    memories = program.memories
    if all(memory.name != home for memory in memories):
        memories = (*memories, Memory(home, None, offchip=True, addressed=False))
    homes = {**program.homes, "parameter": home}
    return replace(program, memories=memories, instructions=tuple(instructions), homes=homes)


def _at_home(item: Compute, names: set[str], home: str) -> Compute:
    reads, frees = [], []
    for at, (piece, region) in enumerate(item.reads):
        if piece.tensor in names:
            region = Region(home, None, region.size_bytes)
        elif at in item.frees:
            frees.append(at)
        reads.append(Operand(piece, region))
    return replace(item, reads=tuple(reads), frees=tuple(frees))
