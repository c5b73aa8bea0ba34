"""TFLite's linear arena: online, and ordered by size when lifetimes are known.

Both look for the smallest gap that is large enough (ties: the lowest), and otherwise append after
the last block. Source: TensorFlow Lite `simple_memory_arena` and `arena_planner`; TensorFlow Lite
Micro's greedy planner has the same order by size.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planners.allocation.heuristics import neighbours
from planners.allocation.problem.model import Lifetime
from planners.core.errors import InvalidPlan
from planners.core.integers import rounded_up


class Block(NamedTuple):
    """Bytes `[offset, offset + size_bytes)` held by `id`; sorts by offset."""

    offset: int
    size_bytes: int
    id: str

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


def best_gap(blocks: Iterable[Block], size_bytes: int, alignment: int = 1) -> int:
    """Where TFLite would put `size_bytes` among `blocks` (sorted by offset), without a capacity.

    The blocks may overlap each other, as those of different lifetimes do. As TFLite has it, a gap
    is compared by its bytes from the aligned offset on, with all bytes of the best gap before.
    """
    cursor = 0
    best_offset, best_room = -1, -1
    for block in blocks:
        start = rounded_up(cursor, alignment)
        fits = start + size_bytes <= block.offset
        if fits and (best_offset < 0 or block.offset - start < best_room):
            best_offset, best_room = start, block.offset - cursor
        cursor = max(cursor, block.end)
    return best_offset if best_offset >= 0 else rounded_up(cursor, alignment)


def best_fit_arena(lifetimes: Sequence[Lifetime], *, alignment: int = 1) -> dict[str, int]:
    """Offsets by best fit in order of size, largest first (ties: earliest, then as given).

    Multiples of `alignment`, or of a lifetime's own where that is larger. No capacity: nothing
    bounds the extent. O(n log n + pairs that overlap in time, with a logarithm).
    """
    near = neighbours([item.lower for item in lifetimes], [item.upper for item in lifetimes])
    placed: dict[int, Block] = {}
    for number in sorted(
        range(len(lifetimes)), key=lambda i: (-lifetimes[i].size_bytes, lifetimes[i].lower)
    ):
        new = lifetimes[number]
        rivals = sorted(placed[other] for other in near[number] if other in placed)
        offset = best_gap(rivals, new.size_bytes, max(alignment, new.alignment))
        placed[number] = Block(offset, new.size_bytes, new.id)
    return {block.id: block.offset for block in placed.values()}


class LinearArena:
    """The live blocks of one memory, placed as they come; it does not choose what leaves.

    `blocks` is sorted by offset. Sizes and offsets are in bytes.
    """

    def __init__(self, capacity_bytes: int, alignment: int = 64) -> None:
        self.capacity_bytes, self.alignment = capacity_bytes, alignment
        self.blocks: list[Block] = []

    def __contains__(self, id: str) -> bool:
        return any(block.id == id for block in self.blocks)

    def find(self, size_bytes: int) -> int | None:
        """Where `allocate` would put `size_bytes`; None where nothing is large enough."""
        offset = best_gap(self.blocks, size_bytes, self.alignment)
        return offset if offset + size_bytes <= self.capacity_bytes else None

    def allocate(self, id: str, size_bytes: int) -> int | None:
        """Place a new block and return its offset, or change nothing and return None."""
        offset = self.find(size_bytes)
        if offset is not None:
            self.place(id, offset, size_bytes)
        return offset

    def place(self, id: str, offset: int, size_bytes: int) -> None:
        """Place a new block at `offset`, aligned or not; InvalidPlan where it cannot lie there."""
        new = Block(offset, size_bytes, id)
        if id in self:
            raise InvalidPlan(f"{id!r} is in the arena already", address=offset, kind="arena")
        if offset < 0 or new.end > self.capacity_bytes:
            raise InvalidPlan(
                f"{id!r} of {size_bytes} bytes lies outside the {self.capacity_bytes} there are",
                address=offset,
                kind="bounds",
            )
        for old in self.blocks:
            if max(old.offset, new.offset) < min(old.end, new.end):
                raise InvalidPlan(f"{id!r} overlaps {old.id!r}", address=offset, kind="overlap")
        insort(self.blocks, new)

    def free(self, id: str) -> Block:
        """Take a block out and return it; KeyError where there is none of that name."""
        for index, block in enumerate(self.blocks):
            if block.id == id:
                return self.blocks.pop(index)
        raise KeyError(id)

    def holes(self) -> list[tuple[int, int]]:
        """The free ranges `[start, stop)` below the capacity, lowest first."""
        holes, cursor = [], 0
        for block in self.blocks:
            if block.offset > cursor:
                holes.append((cursor, block.offset))
            cursor = max(cursor, block.end)
        if cursor < self.capacity_bytes:
            holes.append((cursor, self.capacity_bytes))
        return holes
