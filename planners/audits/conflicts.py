"""Where tensors of another tool's plan are in each other's way: bytes that two hold at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice

from planners.audits.foreign import ForeignTensor


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two tensors that share bytes `[start, stop)` while both are live, first in step `step`."""

    one: str
    other: str
    step: int
    start: int
    stop: int


def conflicts(tensors: Sequence[ForeignTensor], most: int = 1000) -> list[Conflict]:
    """Pairs of placed tensors that share bytes while both are live, the first `most` by step.

    The tensors of one memory, of those that are the same bytes by right one: `inside`.
    """
    pairs: list[Conflict] = []
    for one, other in sharing([t for t in tensors if t.offset is not None]):
        pairs += islice(_of_parts(one, other), 1)
        if len(pairs) == most:
            break
    return sorted(pairs, key=lambda c: (c.step, c.start))


def sharing(tensors: Sequence[ForeignTensor]) -> Iterator[tuple[ForeignTensor, ForeignTensor]]:
    """Pairs of placed tensors that share bytes while both hold them, each once.

    What is held at a time is kept in layers, in each of which nothing shares bytes: n tensors and k
    pairs take O((n + k) log n), where branches of which one runs do not share many addresses.
    """
    parts = [
        (part.lower, part.upper, (t.offset or 0) + part.low, (t.offset or 0) + part.high, k)
        for k, t in enumerate(tensors)
        for part in t.lifetime.held_parts()
    ]
    layers: list[HeldLayer] = []
    ends: list[tuple[int, int, int]] = []
    seen = set[tuple[int, int]]()
    for lower, upper, start, stop, k in sorted(parts):
        while ends and ends[0][0] <= lower:
            _, number, at = heappop(ends)
            layers[number].free(at)
        room = None
        for number, layer in enumerate(layers):
            met = layer.between(start, stop)
            for other in met:
                pair = min(k, other), max(k, other)
                if other != k and pair not in seen and not _exclusive(tensors[k], tensors[other]):
                    seen.add(pair)
                    yield tensors[other], tensors[k]
            if not met and room is None:
                room = number
        if room is None:
            room = len(layers)
            layers.append(HeldLayer())
        layers[room].hold(start, stop, k)
        heappush(ends, (upper, room, start))


class HeldLayer:
    """Ranges of bytes that do not overlap, each held by a tensor of that number."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._held: dict[int, tuple[int, int]] = {}

    def between(self, start: int, stop: int) -> list[int]:
        """Who holds bytes of `[start, stop)`."""
        owners, at = [], bisect_right(self._starts, start) - 1
        if at >= 0 and self._held[self._starts[at]][0] > start:
            owners.append(self._held[self._starts[at]][1])
        for other in self._starts[at + 1 : bisect_left(self._starts, stop)]:
            owners.append(self._held[other][1])
        return owners

    def hold(self, start: int, stop: int, tensor: int) -> None:
        insort(self._starts, start)
        self._held[start] = stop, tensor

    def free(self, start: int) -> None:
        del self._starts[bisect_left(self._starts, start)], self._held[start]


def _of_parts(one: ForeignTensor, other: ForeignTensor) -> Iterator[Conflict]:
    """What parts of two tensors share, by step."""
    at, its = one.offset or 0, other.offset or 0
    for a in one.lifetime.held_parts():
        for b in other.lifetime.held_parts():
            start, stop = max(at + a.low, its + b.low), min(at + a.high, its + b.high)
            step = max(a.lower, b.lower)
            if step < min(a.upper, b.upper) and start < stop:
                yield Conflict(one.id, other.id, step, start, stop)


def _exclusive(one: ForeignTensor, other: ForeignTensor) -> bool:
    """Whether they are made in two branches of which one runs."""
    sides = dict(other.branches)
    return any(sides.get(step, side) != side for step, side in one.branches)


def live_together(
    tensors: Sequence[ForeignTensor],
) -> Iterator[tuple[ForeignTensor, ForeignTensor]]:
    """Pairs of tensors that live at once."""
    live: list[ForeignTensor] = []
    for tensor in sorted(tensors, key=lambda t: t.lower):
        live = [other for other in live if other.upper > tensor.lower]
        yield from ((other, tensor) for other in live)
        live.append(tensor)
