"""Bytes that a program reads and writes, by memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from planners.core.machine import Machine


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """MACs, and the bytes read and written in each memory of a machine, by its name.

    `again` are bytes that the array reads more than once within an instruction, on top of `read`:
    they cost energy, and are no traffic.
    """

    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]
    again: Mapping[str, int] = field(default_factory=dict)

    def touched(self, memories: Iterable[str]) -> dict[str, int]:
        """Bytes read and written in each of these."""
        return {name: self.read.get(name, 0) + self.written.get(name, 0) for name in memories}


# ---- Joules of MACs and of bytes, by where they go -----------------------------------------------

LEAKAGE = "leakage"


def joules(machine: Machine, moved: MovedBytes, makespan_s: float = 0.0) -> Mapping[str, float]:
    """Joules by where they go: `compute`, one entry for each memory, by its name, and `leakage`
    over the makespan where the machine says one.

    What happens between a memory and the arithmetic is part of the machine's energy per MAC, but
    for bytes that an array with maps reads again.
    """
    read, written = moved.read, moved.written
    joules_by_part = {"compute": moved.macs * machine.mac_pj * 1e-12}
    for memory in machine.memories:
        if memory.name in read or memory.name in written:
            reads = read.get(memory.name, 0) + moved.again.get(memory.name, 0)
            out = reads * memory.read_pj_per_byte
            into = written.get(memory.name, 0) * memory.write_pj_per_byte
            joules_by_part[memory.name] = (out + into) * 1e-12
    if machine.leakage_w:
        joules_by_part[LEAKAGE] = machine.leakage_w * makespan_s
    return joules_by_part
