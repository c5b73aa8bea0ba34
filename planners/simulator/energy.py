"""Joules of a program: bytes read and written in each memory, and MACs."""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.machine import Machine
from planners.core.program import Program
from planners.simulator.ground.joules import joules
from planners.simulator.moved import moved_bytes


def energy(program: Program, machine: Machine) -> Mapping[str, float]:
    """Joules by where they go: `compute` and one entry for each memory, by its name."""
    return joules(machine, moved_bytes(program, machine))
