"""Joules of a program: bytes read and written in each memory, and MACs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Program, Store
from planners.simulator.sums import reading_sums


def energy(program: Program, machine: Machine) -> Mapping[str, float]:
    """Joules by where they go: `compute` and one entry for each memory, by its name.

    An instruction reads each operand once from its memory and writes each result once; a part of a
    sum after the first reads what it adds to, a part of a piece writes its own bytes. What happens
    between a memory and the arithmetic is part of the machine's energy per MAC.
    """
    spaces = AddressSpace(program.memories)
    level = {name: machine.memory(spaces.level(name)) for name in spaces.memories}
    picojoules: dict[str, float] = defaultdict(float, compute=0.0)
    for item in reading_sums(program, spaces):
        match item:
            case Load() | Store():
                reads, writes = [item.source], [(item.target, item.target.size_bytes)]
            case Compute():
                reads = [operand.region for operand in item.reads]
                writes = list(item.written)
                picojoules["compute"] += item.macs * machine.mac_pj
            case _:
                continue
        for region in reads:
            memory = level[region.memory]
            picojoules[memory.name] += region.size_bytes * memory.read_pj_per_byte
        for region, size_bytes in writes:
            memory = level[region.memory]
            picojoules[memory.name] += size_bytes * memory.write_pj_per_byte
    return {name: value * 1e-12 for name, value in picojoules.items()}
