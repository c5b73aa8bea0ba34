"""Joules of MACs and of bytes, by where they go."""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.machine import Machine
from planners.simulator.ground.moved import MovedBytes


def joules(machine: Machine, moved: MovedBytes) -> Mapping[str, float]:
    """Joules by where they go: `compute` and one entry for each memory, by its name.

    What happens between a memory and the arithmetic is part of the machine's energy per MAC.
    """
    read, written = moved.read, moved.written
    found = {"compute": moved.macs * machine.mac_pj * 1e-12}
    for memory in machine.memories:
        if memory.name in read or memory.name in written:
            out = read.get(memory.name, 0) * memory.read_pj_per_byte
            into = written.get(memory.name, 0) * memory.write_pj_per_byte
            found[memory.name] = (out + into) * 1e-12
    return found
