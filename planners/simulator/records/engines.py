"""Is each instruction on an engine that can do it, between the memories that it names?"""

from __future__ import annotations

from planners.core.engines import by_direction, moves
from planners.core.errors import BadInput
from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Store


class Engines:
    """What the engines of a machine may do in a program, looked up once for each way."""

    def __init__(self, machine: Machine, spaces: AddressSpace) -> None:
        self.machine, self.spaces = machine, spaces
        self.known: dict[tuple[str, ...], str] = {}

    def fault(self, item: Load | Store | Compute) -> str:
        """What is wrong with an instruction's engine; empty where nothing is."""
        way: tuple[str, ...] = (item.engine,)
        if not isinstance(item, Compute):
            way = (by_direction(item), item.source.memory, item.target.memory)
        if way not in self.known:
            self.known[way] = self._fault(*way)
        return self.known[way]

    def _fault(self, engine: str, *memories: str) -> str:
        try:
            self.machine.engine(engine)
            ends = [self.machine.memory(self.spaces.level(name)).name for name in memories]
        except BadInput as error:
            return str(error)
        if not ends:
            return "" if engine == "compute" else f"engine {engine!r} computes nothing"
        if moves(self.machine, engine, *ends):
            return ""
        return f"engine {engine!r} moves nothing from {ends[0]} to {ends[1]}"
