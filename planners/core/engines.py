"""Which engine of a machine computes, which moves bytes from where to where, and who may choose.

A planner names the kind of engine that a transfer needs, or none: then loads go by `dma_in` and
stores by `dma_out`. Engines that share its work (`Engine.shares`) may take the transfer in its
place; the scoreboard gives it to the one that is done first, so that an engine more makes no
program slower.
"""

from __future__ import annotations

from planners.core.machine import Machine
from planners.core.program import Load, Store


def moves(machine: Machine, engine: str, source: str, target: str) -> bool:
    """Whether an engine moves bytes from one memory of the machine to another.

    `dma_in` and `copy` bring towards the on-chip memory, `dma_out` takes away from it, `storage`
    serves the memory `storage` (without one, that of parameters); an engine of any other name moves
    whatever a plan gives it. One that shares another's work does the same as that one, and what
    computes moves nothing.
    """
    engine = kind_of(machine, engine)
    match engine:
        case "compute":
            return False
        case "dma_in" | "copy":
            return source != machine.onchip
        case "dma_out":
            return target != machine.onchip
        case "storage":
            return storage(machine) in (source, target)
        case _:
            return True


def kind_of(machine: Machine, engine: str) -> str:
    """The engine whose work an engine shares, or itself."""
    return next((e.shares for e in machine.engines if e.name == engine and e.shares), engine)


def by_direction(item: Load | Store) -> str:
    """The engine of a transfer that names none."""
    return item.engine or ("dma_in" if isinstance(item, Load) else "dma_out")


def sharing(machine: Machine, engine: str) -> tuple[str, ...]:
    """An engine and those that share its work, in the machine's order."""
    return (engine, *(e.name for e in machine.engines if e.shares == engine))


def spreads(machine: Machine) -> bool:
    """Whether engines of a machine share work."""
    return any(engine.shares for engine in machine.engines)


def storage(machine: Machine) -> str:
    """The memory that parameters are streamed from: `storage`, without one that of parameters."""
    names = {level.name for level in machine.memories}
    return "storage" if "storage" in names else machine.parameters
