"""Where layers lie in a ring, and for which earlier layer each one's bytes must wait.

A ring is filled in order and emptied in order. A layer never wraps: where its bytes would pass
the ring's end it starts at 0 and the gap is lost. An empty ring keeps its tail. So places depend
on sizes and the ring's size alone, never on times (paper, IV-D and V-C).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.core.errors import BadInput


@dataclass(frozen=True, slots=True)
class RingPlaces:
    """Offsets in bytes by layer, and `waits`: the last layer whose bytes a layer takes, or -1.

    Layers leave a ring in order, so that when that one has left, so have all others in the way.
    Layers without bytes have offset 0 and wait for none.
    """

    size_bytes: int
    offsets: tuple[int, ...]
    waits: tuple[int, ...]


def places(
    sizes: Sequence[int],
    ring_bytes: int,
    *,
    twice: bool = False,
    names: Sequence[str] = (),
) -> RingPlaces:
    """Places of layers of these sizes in a ring.

    A ring mapped `twice`, to addresses that follow each other, has no end to pass: a layer may
    begin near its end and go on at its start. Raises `BadInput` for a layer larger than the ring.
    """
    for i, size in enumerate(sizes):
        if size > ring_bytes:
            name = names[i] if i < len(names) else str(i)
            raise BadInput(
                f"layer {name!r} has {size} bytes of parameters, the ring {ring_bytes}: "
                f"give the ring at least {max(sizes)} bytes, or slice the layer"
            )
    place = _wrapping if twice else _ending
    return RingPlaces(ring_bytes, *place(sizes, ring_bytes))


def _ending(sizes: Sequence[int], ring_bytes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places without a layer that wraps, lap by lap."""
    offsets, waits = [0] * len(sizes), [-1] * len(sizes)
    before: list[int] = []  # The layers of the lap before.
    lap: list[int] = []
    tail = at = 0  # `at`: how many of the lap before are overtaken.
    for i, size in enumerate(sizes):
        if not size:
            continue
        if tail + size > ring_bytes:
            before, lap, tail, at = lap, [], 0, 0
        while at < len(before) and offsets[before[at]] < tail + size:
            at += 1
        offsets[i] = tail
        waits[i] = before[at - 1] if at else -1
        lap.append(i)
        tail += size
    return tuple(offsets), tuple(waits)


def _wrapping(sizes: Sequence[int], ring_bytes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places end to end: a layer waits for all that began a whole ring before its end."""
    offsets, waits = [0] * len(sizes), [-1] * len(sizes)
    began: list[tuple[int, int]] = []
    tail = at = 0
    for i, size in enumerate(sizes):
        if not size:
            continue
        while at < len(began) and tail + size - began[at][0] > ring_bytes:
            at += 1
        offsets[i] = tail % ring_bytes
        waits[i] = began[at - 1][1] if at else -1
        began.append((tail, i))
        tail += size
    return tuple(offsets), tuple(waits)


def breakpoints(sizes: Sequence[int], *, twice: bool = False) -> Iterator[int]:
    """All ring sizes at which waits change, from the largest layer to the model's size, rising.

    Between two of them every ring has the waits of the lower one. Without wrapping, waits follow
    from how the layers fall into laps, and that changes when some lap takes one layer more; with
    wrapping, when the bytes of consecutive layers are just the ring's.
    """
    streamed = [size for size in sizes if size]
    if not streamed:
        return
    if twice:
        yield from _sums(streamed)
        return
    ring = max(streamed)
    while True:
        yield ring
        following = _next_lap(streamed, ring)
        if following is None:
            return
        ring = following


def _next_lap(sizes: Sequence[int], ring_bytes: int) -> int | None:
    """The least ring in which a lap takes the layer behind it too; None where one lap has all."""
    tail, least = 0, None
    for size in sizes:
        if tail + size > ring_bytes:
            least = tail + size if least is None else min(least, tail + size)
            tail = 0
        tail += size
    return least


def _sums(sizes: Sequence[int]) -> list[int]:
    """The bytes of all runs of consecutive layers, from the largest layer's on."""
    least, sums = max(sizes), {max(sizes)}
    for first in range(len(sizes)):
        total = 0
        for size in sizes[first:]:
            total += size
            if total > least:
                sums.add(total)
    return sorted(sums)
