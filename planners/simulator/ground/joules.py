"""Joules of MACs and of bytes, by where they go."""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.machine import Machine


def joules(
    machine: Machine, macs: int, read: Mapping[str, int], written: Mapping[str, int]
) -> Mapping[str, float]:
    """Joules of so many MACs, and bytes read and written by memory."""
    found = {"compute": macs * machine.mac_pj * 1e-12}
    for memory in machine.memories:
        if memory.name in read or memory.name in written:
            out = read.get(memory.name, 0) * memory.read_pj_per_byte
            into = written.get(memory.name, 0) * memory.write_pj_per_byte
            found[memory.name] = (out + into) * 1e-12
    return found
