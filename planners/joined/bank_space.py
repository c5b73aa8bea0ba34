"""Room in memories behind the scratchpad: who lies where, from which item of a program to which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planners.core.loops import LoopedInstructions
from planners.core.machine import Machine
from planners.core.program import Item, Memory, Program, Region


@dataclass(frozen=True, slots=True)
class BankPlace:
    """Bytes of a memory that are taken from one item to another, both included."""

    memory: str
    offset: int
    size_bytes: int
    first: int
    last: int

    @property
    def region(self) -> Region:
        return Region(self.memory, self.offset, self.size_bytes)

    def part(self, start: int, size_bytes: int) -> Region:
        """Some of its bytes."""
        return Region(self.memory, self.offset + start, size_bytes)


@dataclass
class BankSpace:
    """The machine's slower memories, the fastest of them first."""

    machine: Machine
    taken: list[BankPlace] = field(default_factory=list)

    def in_program(self, program: Program, items: Sequence[Item]) -> Program:
        """A program of items, with the memories in which something lies."""
        used = {place.memory for place in self.taken} - {m.name for m in program.memories}
        more = (Memory(n, self.machine.memory(n).size_bytes) for n in self.machine.slower)
        memories = (*program.memories, *(memory for memory in more if memory.name in used))
        instructions = LoopedInstructions(tuple(items))
        return replace(program, memories=memories, instructions=instructions)

    def find(self, size_bytes: int, first: int, last: int) -> BankPlace | None:
        """The lowest place that is free for so long, in the first memory that has one."""
        for name in self.machine.slower:
            for offset in self._offsets(name, first, last):
                place = BankPlace(name, offset, size_bytes, first, last)
                if self._is_free(place):
                    return place
        return None

    def take(self, place: BankPlace) -> None:
        self.taken.append(place)

    def _beside(self, name: str, first: int, last: int) -> Iterator[BankPlace]:
        for place in self.taken:
            if place.memory == name and place.first <= last and first <= place.last:
                yield place

    def _offsets(self, name: str, first: int, last: int) -> list[int]:
        return sorted({0, *(p.offset + p.size_bytes for p in self._beside(name, first, last))})

    def _is_free(self, place: BankPlace) -> bool:
        stop = place.offset + place.size_bytes
        if stop > self.machine.memory(place.memory).size_bytes:
            return False
        return all(
            stop <= other.offset or other.offset + other.size_bytes <= place.offset
            for other in self._beside(place.memory, place.first, place.last)
        )
