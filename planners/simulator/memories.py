"""Do a program's memories make sense? Checked before a replay relies on their sizes and flags."""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.errors import InvalidPlan
from planners.core.machine import Machine
from planners.core.program import Memory, Program


def check_memories(program: Program) -> None:
    """Raise `InvalidPlan` where memories hide bytes or traffic, or are no memories at all."""
    memories = {memory.name: memory for memory in program.memories}
    if len(memories) != len(program.memories):
        raise _fail("two memories share a name")
    for memory in program.memories:
        _check_sizes(memory)
        if memory.parent is not None:
            _check_window(memory, memories)
        elif memory.addressed and not memory.offchip and memory.size_bytes is None:
            raise _fail(f"memory {memory.name!r} is on chip and has no size")
        if not memory.addressed and (not memory.offchip or memory.parent is not None):
            raise _fail(f"memory {memory.name!r} has no addresses, so it must be off chip")
    for kind in {"output", *program.homes}:
        home = memories.get(program.homes.get(kind, ""))
        if home is None or home.addressed:
            raise _fail(f"the home of kind {kind!r} must be a memory without addresses")


def onchip_bytes(program: Program, machine: Machine) -> int:
    """Bytes of all on-chip memories but the slower ones; windows are parts of their parents."""
    sizes = _sizes_by_level(program)
    return sum(size for level, size in sizes.items() if level not in machine.slower)


def check_levels(program: Program, machine: Machine) -> None:
    """Raise `InvalidPlan` where a program has a memory that the machine does not have, more of a
    slower one than it has, or one that is off chip in bytes and on chip in speed."""
    chips = {level.name for level in machine.banks}
    level_names = {level.name for level in machine.memories}
    for memory in program.memories:
        if memory.parent is None and (memory.level or memory.name) not in level_names:
            raise _fail(f"memory {memory.name!r:.60} is none of the machine's")
        if memory.parent is None and memory.offchip and (memory.level or memory.name) in chips:
            raise _fail(f"memory {memory.name!r} is off chip, but as fast as what is on chip")
    for level, size in _sizes_by_level(program).items():
        if level in machine.slower and size > (have := machine.memory(level).size_bytes):
            raise _fail(f"the program has {size} bytes of {level!r}, the machine {have}")


def _sizes_by_level(program: Program) -> dict[str, int]:
    """Bytes of on-chip memories by the machine's memory that they are a part of."""
    sizes: dict[str, int] = {}
    for memory in program.memories:
        if memory.parent is None and not memory.offchip:
            level = memory.level or memory.name
            sizes[level] = sizes.get(level, 0) + (memory.size_bytes or 0)
    return sizes


def _check_sizes(memory: Memory) -> None:
    size = memory.size_bytes
    if memory.base < 0 or (size is not None and not 0 <= size < 2**63):
        raise _fail(f"memory {memory.name!r} has a size or base that makes no sense")
    if memory.circular and not size:
        raise _fail(f"memory {memory.name!r} is a ring of no bytes")


def _check_window(window: Memory, memories: Mapping[str, Memory]) -> None:
    """A window lies within its parent, and is on or off chip as its parent is."""
    above = {window.name}
    parent = window
    while parent.parent is not None:
        if parent.parent in above or parent.parent not in memories:
            raise _fail(f"memory {window.name!r} has no root: {parent.parent!r} is above it")
        above.add(parent.parent)
        parent = memories[parent.parent]
    parent = memories[window.parent or ""]
    if (window.offchip, window.addressed) != (parent.offchip, parent.addressed):
        raise _fail(f"window {window.name!r} is not the kind of memory that {parent.name!r} is")
    if parent.size_bytes is None:
        return
    base = 0 if parent.circular else window.base
    if window.size_bytes is None or base + window.size_bytes > parent.size_bytes:
        raise _fail(f"window {window.name!r} reaches past the end of {parent.name!r}")


def _fail(reason: str) -> InvalidPlan:
    return InvalidPlan(reason, kind="memories")
