"""What a replay knows of every byte: which piece is where, and what is at home."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Generic, TypeVar

from planners.core.boxes import common, joined, lies_in, uncovered
from planners.core.errors import InvalidPlan
from planners.core.graph import Graph
from planners.core.program import (
    AddressSpace,
    Box,
    Memory,
    Operand,
    Piece,
    Region,
    Span,
    piece_bytes,
    whole,
)

# ---- Pieces made in parts: what is there so far, as boxes of the piece or ranges of what it sums -


@dataclass(slots=True)
class Unfinished:
    """A piece that several instructions make, while some are still to come.

    `whole` is the piece's box or, where it is a sum (`sums`), the one axis of all channels summed.
    """

    whole: Box
    sums: bool
    boxes: list[Box] = field(default_factory=list)
    done: int = 0

    @property
    def complete(self) -> bool:
        return self.done == _elements(self.whole)

    @property
    def state(self) -> str:
        """What is left to do, in words."""
        total = _elements(self.whole)
        left = f"{total - self.done} of {total}"
        if self.sums:
            return f"unfinished: {left} channels are still to be added"
        return f"unfinished: {left} elements are still to be made"

    def copy(self) -> Unfinished:
        """The same, to be added to apart."""
        return replace(self, boxes=list(self.boxes))

    def add(self, part: Box) -> None:
        """Add a part. Raises `ValueError` where it is none, or has been added before."""
        if len(part) != len(self.whole) or not all(
            first <= start < stop <= last
            for (start, stop), (first, last) in zip(part, self.whole, strict=True)
        ):
            raise ValueError(self._beyond(part))
        for box in self.boxes:
            if again := common(part, box):
                done = "are added" if self.sums else "is made"
                raise ValueError(f"{self._named(again)} {done} already")
        self.boxes = joined([*self.boxes, part])
        self.done += _elements(part)

    def _beyond(self, part: Box) -> str:
        if self.sums:
            return f"{self._named(part)} are out of range of {self.whole[0][1]}"
        return f"{self._named(part)} is no part of it"

    def _named(self, part: Box) -> str:
        axes = ", ".join(f"{start}:{stop}" for start, stop in part)
        return f"channels {axes}" if self.sums else f"[{axes}]"


def _elements(box: Box) -> int:
    return prod(stop - start for start, stop in box)


# --------------------------------------------------------------------------------------------------

# ---- Which bytes of a memory are taken, as disjoint half-open ranges with an owner each ----------

Owner = TypeVar("Owner")


class TakenRanges(Generic[Owner]):
    """Disjoint ranges in address order; each step costs a binary search and a list shift."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: list[tuple[int, int, Owner]] = []

    def __iter__(self) -> Iterator[tuple[int, int, Owner]]:
        return iter(self._ranges)

    def clash(self, start: int, stop: int) -> tuple[int, int, Owner] | None:
        """A range that overlaps `[start, stop)`, the lowest one, or None."""
        at = bisect_left(self._starts, start)
        if at and self._ranges[at - 1][1] > start:
            return self._ranges[at - 1]
        if at < len(self._starts) and self._starts[at] < stop:
            return self._ranges[at]
        return None

    def take(self, start: int, stop: int, owner: Owner) -> None:
        """Take a range that clashes with nothing."""
        at = bisect_left(self._starts, start)
        self._starts.insert(at, start)
        self._ranges.insert(at, (start, stop, owner))

    def free(self, start: int) -> None:
        """Free the range that begins at `start`."""
        at = bisect_left(self._starts, start)
        del self._starts[at], self._ranges[at]


# --------------------------------------------------------------------------------------------------

MANY_BOXES = 16  # Beyond, boxes at home are put together before they are searched.


@dataclass(slots=True)
class Resident:
    """A piece that is in a memory now; `unfinished` until all its parts are there."""

    operand: Operand
    memory: str
    spans: tuple[Span, ...]
    unfinished: Unfinished | None = None

    @property
    def region(self) -> Region:
        return self.operand.region


class ReplayState:
    """Pieces that are resident and at home, found, placed and released one operand at a time."""

    def __init__(self, graph: Graph, spaces: AddressSpace, steps: int) -> None:
        self.graph, self.spaces = graph, spaces
        self.index = -1
        self.step = 0
        self.resident: dict[tuple[str, Piece], Resident] = {}
        self.taken: dict[str, TakenRanges[Resident]] = defaultdict(TakenRanges)
        # Boxes as keys: what is stored again and again is there once.
        self.home: dict[tuple[str, str], dict[Box, None]] = defaultdict(dict)
        self.wholes = {name: whole(tensor) for name, tensor in graph.tensors.items()}
        self.resident_bytes = self.extent = 0
        self.occupancy = [0] * steps

    def fail(self, reason: str, kind: str, region: Region | None = None) -> InvalidPlan:
        return InvalidPlan(
            reason,
            step=self.step,
            instruction=self.index,
            memory=region.memory if region else None,
            address=region.offset if region else None,
            kind=kind,
        )

    def memory(self, region: Region) -> Memory:
        """The memory of a region."""
        if region.memory not in self.spaces.memories:
            raise self.fail(f"there is no memory {region.memory!r}", "memory", region)
        return self.spaces.memories[region.memory]

    def _checked(self, operand: Operand, size: int | None = None) -> Operand:
        """The operand, once its piece lies in its tensor and its region has its size.

        `size` in bytes where that is not the piece's own: of sums that are not complete.
        """
        piece, region = operand
        tensor = self.graph.tensors.get(piece.tensor)
        if tensor is None:
            raise self.fail(f"there is no tensor {piece.tensor!r}", "tensor", region)
        if piece != self.wholes[piece.tensor] and not lies_in(piece.box, tensor.shape):
            reason = f"{name_of(piece)} lies outside of the tensor's shape {tensor.shape}"
            raise self.fail(reason, "box", region)
        size = piece_bytes(self.graph, piece) if size is None else size
        if region.size_bytes != size:
            reason = f"{name_of(piece)} has {size} bytes, its region {region.size_bytes}"
            raise self.fail(reason, "size", region)
        return operand

    def _spans(self, region: Region) -> tuple[Span, ...]:
        try:
            return self.spaces.spans(region)
        except ValueError as error:
            raise self.fail(str(error), "out of range", region) from None

    def find(self, operand: Operand) -> Resident:
        """The residency that an operand names, once nothing is left to be added to it."""
        residency = self.find_any(operand)
        if residency.unfinished is not None:
            raise self.unfinished(residency, residency.unfinished)
        return residency

    def unfinished(self, residency: Resident, missing: Unfinished) -> InvalidPlan:
        """What is wrong with a piece to which parts are still to be added."""
        reason = f"{name_of(residency.operand.piece)} is {missing.state}"
        return self.fail(reason, "unfinished", residency.region)

    def find_any(self, operand: Operand) -> Resident:
        """The residency that an operand names: the same piece at the same bytes."""
        piece, region = operand
        self.memory(region)
        residency = self.resident.get((self.spaces.root(region.memory).name, piece))
        if (
            residency is not None and residency.operand.region == region
        ):  # It was checked when it was placed.
            return residency
        unfinished = residency is not None and residency.unfinished is not None
        self._checked(operand, residency.region.size_bytes if residency and unfinished else None)
        if residency is None:
            raise self.fail(f"{name_of(piece)} is not resident", "not resident", region)
        if residency.spans != self._spans(region):
            there = residency.region.offset
            reason = f"{name_of(piece)} is resident at {there}, not {region.offset}"
            raise self.fail(reason, "wrong address", region)
        return residency

    def checked_home(self, operand: Operand) -> Operand:
        """The operand, once it names its tensor's home: the place in it follows from the piece."""
        if operand.region.offset is not None:
            reason = f"{operand.region.memory} has no addresses"
            raise self.fail(reason, "memory", operand.region)
        return self._checked(operand)

    def find_at_home(self, operand: Operand) -> None:
        """See that copies at home cover the operand's piece."""
        piece, region = self.checked_home(operand)
        boxes = self.home[region.memory, piece.tensor]
        if len(boxes) > MANY_BOXES and piece.box not in boxes:
            boxes = self.home[region.memory, piece.tensor] = dict.fromkeys(joined(boxes))
        if uncovered(piece.box, boxes):
            raise self.fail(f"{region.memory} holds no copy of {name_of(piece)}", "no copy", region)

    def place(self, operand: Operand, size: int | None = None) -> Resident:
        """Make a piece resident: in range, over nothing that is resident, and nowhere else.

        `size` in bytes where that is not the piece's own.
        """
        piece, region = self._checked(operand, size)
        memory = self.memory(region)
        if region.offset is None or not memory.addressed:
            raise self.fail(f"{name_of(piece)} needs an address in {memory.name}", "memory", region)
        spans, root = self._spans(region), self.spaces.root(region.memory)
        old = self.resident.get((root.name, piece))
        if old is not None:
            reason = f"{name_of(piece)} is resident at {old.region.offset} and cannot move"
            raise self.fail(reason, "moved", region)
        taken = self.taken[root.name]
        for span in spans:
            if clash := taken.clash(span.start, span.stop):
                reason = f"{name_of(piece)} overwrites {name_of(clash[2].operand.piece)}, resident "
                raise self.fail(f"{reason}at [{clash[0]}, {clash[1]})", "overlap", region)
        residency = Resident(operand, root.name, spans)
        for span in spans:
            taken.take(span.start, span.stop, residency)
        self.resident[root.name, piece] = residency
        if not root.offchip:
            self.resident_bytes += region.size_bytes
            self.extent = max(self.extent, *(span.stop for span in spans))
            self.note_occupancy()
        return residency

    def settle(self, residency: Resident) -> None:
        """A sum that is complete takes its own bytes, the first of those that it had."""
        piece, region = residency.operand
        size = piece_bytes(self.graph, piece)
        if size == region.size_bytes:
            return
        for span in residency.spans:
            self.taken[residency.memory].free(span.start)
        if not self.spaces.memories[residency.memory].offchip:
            self.resident_bytes -= region.size_bytes - size
        residency.operand = Operand(piece, region._replace(size_bytes=size))
        residency.spans = self._spans(residency.region)
        for span in residency.spans:
            self.taken[residency.memory].take(span.start, span.stop, residency)

    def note_occupancy(self) -> None:
        """Count what is on chip now towards this step."""
        self.occupancy[self.step] = max(self.occupancy[self.step], self.resident_bytes)

    def release(self, operand: Operand) -> None:
        """End a residency."""
        residency = self.find(operand)
        for span in residency.spans:
            self.taken[residency.memory].free(span.start)
        del self.resident[residency.memory, operand.piece]
        if not self.spaces.memories[residency.memory].offchip:
            self.resident_bytes -= operand.region.size_bytes


def name_of(piece: Piece) -> str:
    """A piece as slices of its tensor."""
    axes = ", ".join(f"{start}:{stop}" for start, stop in piece.box)
    return f"{piece.tensor}[{axes}]"
