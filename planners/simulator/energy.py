"""Joules of a program: bytes read and written in each memory, and MACs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Program, Store
from planners.simulator.ground.joules import joules
from planners.simulator.sums import reading_sums


def energy(program: Program, machine: Machine) -> Mapping[str, float]:
    """Joules by where they go: `compute` and one entry for each memory, by its name.

    An instruction reads each operand once from its memory and writes each result once; a part of a
    sum after the first reads what it adds to, a part of a piece writes its own bytes. What happens
    between a memory and the arithmetic is part of the machine's energy per MAC.
    """
    spaces = AddressSpace(program.memories)
    level = {name: machine.memory(spaces.level(name)) for name in spaces.memories}
    macs = 0
    read: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    for item in reading_sums(program, spaces):
        match item:
            case Load() | Store():
                reads, writes = [item.source], [(item.target, item.target.size_bytes)]
            case Compute():
                reads = [operand.region for operand in item.reads]
                writes = list(item.written)
                macs += item.macs
            case _:
                continue
        for region in reads:
            read[level[region.memory].name] += region.size_bytes
        for region, size_bytes in writes:
            written[level[region.memory].name] += size_bytes
    return joules(machine, macs, read, written)
