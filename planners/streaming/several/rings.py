"""Which ring each task's parameters go through, and how a ring fills while layers are dispatched.

In a layout each task shares a ring, has one of its own, or is kept in memory permanently, so that
nothing of it is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planners.core.errors import BudgetTooSmall
from planners.streaming.several.tasks import PeriodicTask

KEPT = -1


@dataclass(frozen=True, slots=True)
class SharedRings:
    """`ring_of` has each task's ring, or `KEPT`; `sizes` has each ring's bytes.

    In three stages there are two rings of that size, the CPU's and the GPU's: both are filled
    alike, so that a layer has one place. What is kept is in the GPU's memory only.
    """

    ring_of: tuple[int, ...]
    sizes: tuple[int, ...]
    kept_bytes: int = 0
    stages: int = 2

    @property
    def memory_bytes(self) -> int:
        """Bytes of all rings together, and of what is kept."""
        return (self.stages - 1) * sum(self.sizes) + self.kept_bytes

    def keeps(self, task: int) -> bool:
        return self.ring_of[task] == KEPT


def shared(
    tasks: Sequence[PeriodicTask], ring_bytes: int, stages: int = 2, kept: Collection[int] = ()
) -> SharedRings:
    """One ring for all tasks but those kept.

    Raises `BudgetTooSmall` for a layer larger than the ring.
    """
    ring_of = tuple(KEPT if i in kept else 0 for i in range(len(tasks)))
    _check(tasks, ring_of, (ring_bytes,))
    bytes_kept = sum(tasks[i].size_bytes for i in kept)
    sizes = (ring_bytes,) if len(set(kept)) < len(tasks) else ()
    return SharedRings(ring_of, sizes, bytes_kept, stages)


def partitioned(
    tasks: Sequence[PeriodicTask], sizes: Sequence[int], stages: int = 2
) -> SharedRings:
    """A ring for each task; where one would hold all of its task, the task is kept.

    Raises `BudgetTooSmall` for a layer larger than its ring.
    """
    rings: list[int] = []
    ring_of, bytes_kept = [], 0
    for task, size in zip(tasks, sizes, strict=True):
        if size >= task.size_bytes:
            ring_of.append(KEPT)
            bytes_kept += task.size_bytes
        else:
            ring_of.append(len(rings))
            rings.append(size)
    _check(tasks, ring_of, rings)
    return SharedRings(tuple(ring_of), tuple(rings), bytes_kept, stages)


def _check(tasks: Sequence[PeriodicTask], ring_of: Sequence[int], sizes: Sequence[int]) -> None:
    for task, ring in zip(tasks, ring_of, strict=True):
        largest = max(task.layers, key=lambda layer: layer.size_bytes)
        if ring != KEPT and largest.size_bytes > sizes[ring]:
            raise BudgetTooSmall(
                largest.size_bytes,
                sizes[ring],
                f"{task.name}: {largest.name}",
                remedy="a ring holds at least the largest layer: give it that many, or slice it",
            )


class Filling:
    """A ring that is filled layer by layer; a layer never wraps
    (`planners.streaming.schedule.ring`).

    `next_bytes` is the least larger ring in which some layer placed so far would have another
    place; None where all are in one lap.
    """

    __slots__ = ("_at", "_before", "_lap", "_tail", "next_bytes", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.next_bytes: int | None = None
        self._before: list[tuple[int, int]] = []  # offset and step of each in the lap before
        self._lap: list[tuple[int, int]] = []
        self._tail = self._at = 0

    def place(self, size: int, step: int) -> tuple[int, int]:
        """The offset of a layer, and the last step whose layer's bytes it takes, or -1."""
        tail, at = self._tail, self._at
        end = tail + size
        if end > self.size_bytes:
            self.next_bytes = end if self.next_bytes is None else min(self.next_bytes, end)
            self._before, self._lap = self._lap, []
            tail, at, end = 0, 0, size
        before = self._before
        while at < len(before) and before[at][0] < end:
            at += 1
        self._tail, self._at = end, at
        self._lap.append((tail, step))
        return tail, before[at - 1][1] if at else -1
