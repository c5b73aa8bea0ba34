"""What lies where in each memory while loops run: neighbours that never meet in any round.

In a memory, or a ring within one, what is resident has an order by address. Two neighbours that
do not touch in the corners keep their distance in all rounds; then none meet at all. A ring that
is a window of another memory takes all of its bytes there for as long as the loop lasts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from planners.core.boxes import Box
from planners.core.program import AddressSpace, Memory, Operand, Piece, Region, Span
from planners.simulator.loop_affine import Motion, Motions, NotProven, Vector, least
from planners.simulator.unfinished import Unfinished


@dataclass(slots=True, eq=False)
class LoopStay:
    """A resident piece at the first round of all loops around, and how it moves in each.

    It was placed inside of `since` of these loops. `growing` are parts that the innermost one adds,
    another in each round, and how they move.
    """

    operand: Operand
    motions: Motions
    root: str
    since: int = 0
    line: str = ""
    start: int = 0
    unfinished: Unfinished | None = None
    growing: list[tuple[Box, Vector]] = field(default_factory=list)

    @property
    def stop(self) -> int:
        return self.start + self.operand.region.size_bytes


@dataclass(slots=True)
class Line:
    """Stays of one memory in address order; `size` is that of a ring, else None."""

    size: int | None
    stays: list[LoopStay] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def neighbours(self, at: int) -> Iterable[tuple[LoopStay, LoopStay, int]]:
        """The pairs of the stay at a position with those beside it, and how a turn adds."""
        count = len(self.stays)
        if count < 2:
            return
        for a, b in ((at - 1, at), (at, at + 1)):
            turn = 0
            if a < 0 or b >= count:
                if self.size is None:
                    continue
                turn = self.size
            yield self.stays[a % count], self.stays[b % count], turn


class Lines:
    """The lines of all memories that a loop uses."""

    def __init__(
        self, spaces: AddressSpace, rounds: Sequence[int], obstacles: Sequence[Span]
    ) -> None:
        self.spaces, self.rounds, self.obstacles = spaces, rounds, obstacles
        self.lines: dict[str, Line] = {}

    def place_of(self, region: Region) -> tuple[Memory, int]:
        """The line of a region, by its memory, and where on it the region begins."""
        memory, at = self.spaces.memories[region.memory], region.offset or 0
        while not memory.circular and memory.parent is not None:
            at += memory.base
            memory = self.spaces.memories[memory.parent]
        return memory, at % memory.size_bytes if memory.circular and memory.size_bytes else at

    def use(self, memory: Memory) -> Line:
        """The line of a memory; that of a window stands as a whole in its parent's."""
        if memory.name not in self.lines:
            size = memory.size_bytes if memory.circular else None
            self.lines[memory.name] = Line(size)
            if memory.parent is not None:
                self._stand(Region(memory.parent, memory.base, memory.size_bytes or 0))
            for span in self.obstacles:
                if span.memory == memory.name:
                    self._stand(Region(span.memory, span.start, span.stop - span.start))
        return self.lines[memory.name]

    def _stand(self, region: Region) -> None:
        """Have something there that rests in all rounds."""
        motions = tuple(Motion((), 0) for _ in self.rounds)
        root = self.spaces.root(region.memory).name
        self.add(LoopStay(Operand(Piece("", ()), region), motions, root))

    def add(self, stay: LoopStay) -> None:
        """Put a stay in its place. Raises `NotProven` where it may meet another."""
        memory, stay.start = self.place_of(stay.operand.region)
        stay.line = memory.name
        line = self.use(memory)
        if line.size is not None and stay.stop - stay.start > line.size:
            raise NotProven("larger than its ring")
        at = bisect_left(line.starts, stay.start)
        line.starts.insert(at, stay.start)
        line.stays.insert(at, stay)
        self._apart(line, at)

    def remove(self, stay: LoopStay) -> None:
        """Take a stay away."""
        line = self.lines[stay.line]
        at = bisect_left(line.starts, stay.start)
        while line.stays[at] is not stay:
            at += 1
        del line.starts[at], line.stays[at]

    def rebuilt(self, stays: Iterable[LoopStay]) -> None:
        """The same lines with these stays, wherever they are now."""
        self.lines.clear()
        for stay in stays:
            self.add(stay)

    def _apart(self, line: Line, at: int) -> None:
        for a, b, turn in line.neighbours(at):
            gap = b.start + turn - a.stop
            by = [y.offset - x.offset for x, y in zip(a.motions, b.motions, strict=True)]
            if least(gap, by, self.rounds) < 0:
                raise NotProven("pieces may meet")
