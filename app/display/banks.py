"""Several memories on chip: what lies in each, how full it is, what is read and written there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion
from planners.core.units import format_bytes


@dataclass(frozen=True, slots=True)
class BankUse:
    """A memory in bytes: what it has, the highest address in use, what is read and written."""

    name: str
    size_bytes: int
    extent_bytes: int
    touched_bytes: int


def several(shown: DisplayedPlan) -> bool:
    """Whether tensors of a plan lie in memories of different speed."""
    return bool(shown.plan.slow_memories)


def banks_of(shown: DisplayedPlan) -> tuple[BankUse, ...]:
    """The memories that a plan's tensors may lie in, the fastest first."""
    machine, residencies = shown.plan.machine, shown.residency_columns
    extent = dict.fromkeys(residencies.memories, 0)
    memory = np.repeat(residencies.memory, np.diff(residencies.first))
    for number, name in enumerate(residencies.memories):
        extent[name] = int(residencies.span_stop[memory == number].max(initial=0))
    touched = shown.trace.touched_bytes
    sizes = {level.name: level.size_bytes for level in machine.banks}
    return tuple(
        BankUse(name, sizes[name], extent.get(name, 0), touched.get(name, 0))
        for name in (machine.onchip, *shown.plan.slow_memories)
    )


def regions_of(shown: DisplayedPlan) -> tuple[ShownRegion, ...]:
    """The memories as the address map shows them."""
    return tuple(
        ShownRegion(bank.name, bank.name, bank.name, 0, bank.size_bytes, bank.extent_bytes)
        for bank in banks_of(shown)
    )


def held_in(shown: DisplayedPlan, memory: str) -> Sequence[int]:
    """The bytes that a memory holds at each step; of a plan for one memory, all on chip."""
    residencies = shown.residency_columns
    if not several(shown) or memory not in residencies.memories:
        return shown.report.occupancy
    in_memory = residencies.at(
        np.flatnonzero(residencies.memory == residencies.memories.index(memory))
    )
    return tuple(in_memory.held(shown.steps).tolist())


def room_in(shown: DisplayedPlan, memory: str) -> int:
    """The bytes of one of several memories; 0 where a plan has no memory of that name."""
    banks = banks_of(shown) if several(shown) else ()
    return next((bank.size_bytes for bank in banks if bank.name == memory), 0)


def where(shown: DisplayedPlan, tensor: str) -> str:
    """The memory that a tensor lies in, where there are several."""
    residencies = shown.stays.get(tensor, ()) if several(shown) else ()
    return residencies[0].memory if residencies else ""


def size_words(shown: DisplayedPlan, tensor: str) -> str:
    """A tensor's bytes, and the memory that they are in where there are several."""
    memory = where(shown, tensor)
    return format_bytes(shown.graph.size_bytes(tensor)) + (f" in {memory}" if memory else "")


def in_use_words(shown: DisplayedPlan, step: int) -> str:
    """How full each memory is at a step."""
    each = [
        f"{format_bytes(held_in(shown, bank.name)[step])} of {format_bytes(bank.size_bytes)} "
        f"in {bank.name}"
        for bank in banks_of(shown)
    ]
    return f"{', '.join(each[:-1])} and {each[-1]}"
