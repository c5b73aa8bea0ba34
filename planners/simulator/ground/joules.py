"""Joules of MACs and of bytes, by where they go."""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.machine import Machine
from planners.simulator.ground.moved import MovedBytes

LEAKAGE = "leakage"


def joules(machine: Machine, moved: MovedBytes, makespan_s: float = 0.0) -> Mapping[str, float]:
    """Joules by where they go: `compute`, one entry for each memory, by its name, and `leakage`
    over the makespan where the machine says one.

    What happens between a memory and the arithmetic is part of the machine's energy per MAC, but
    for bytes that an array with maps reads again.
    """
    read, written = moved.read, moved.written
    found = {"compute": moved.macs * machine.mac_pj * 1e-12}
    for memory in machine.memories:
        if memory.name in read or memory.name in written:
            reads = read.get(memory.name, 0) + moved.again.get(memory.name, 0)
            out = reads * memory.read_pj_per_byte
            into = written.get(memory.name, 0) * memory.write_pj_per_byte
            found[memory.name] = (out + into) * 1e-12
    if machine.leakage_w:
        found[LEAKAGE] = machine.leakage_w * makespan_s
    return found
