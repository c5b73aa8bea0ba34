"""Addresses for tensors of which some lie at one address, though others use it in between.

Without that rule they can be packed exactly, which bounds what they need with it. So do those that
are all in conflict with each other, if not in one step: each needs bytes of its own. Places come
from lowering the given ones, then from putting first what ends highest, again and again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from planners.allocation.heaviest_clique import heaviest_clique
from planners.audits.conflicts import live_together
from planners.audits.foreign import ForeignTensor
from planners.core.integers import rounded_up
from planners.core.progress import Clock

ROUNDS = 200
"""Orders that are tried."""
MOST_BUFFERS = 5000
"""Of more no clique is looked for."""


def pack_buffers(
    tensors: Sequence[ForeignTensor], bound_bytes: int, clock: Clock
) -> tuple[Mapping[str, int], int, int]:
    """Offsets, the extent, and what none can be below, which is not under `bound_bytes`.

    Never above the given places, where all have one and none are in conflict.
    """
    buffers = {t.id: t.buffer or f"\0{t.id}" for t in tensors}
    offsets = {buffers[t.id]: t.offset or 0 for t in tensors}
    sizes = dict.fromkeys(offsets, 0)
    aligned = dict.fromkeys(offsets, 1)
    for tensor in tensors:
        buffer = buffers[tensor.id]
        sizes[buffer] = max(sizes[buffer], tensor.size_bytes)
        aligned[buffer] = max(aligned[buffer], tensor.alignment)
    near: dict[str, set[str]] = {buffer: set() for buffer in sizes}
    for one, other in live_together(tensors):
        near[buffers[one.id]].add(buffers[other.id])
        near[buffers[other.id]].add(buffers[one.id])
    if not any(t.branches or t.gaps for t in tensors):  # with which what lives at once may share
        lowest = dict(sizes)
        for tensor in tensors:
            lowest[buffers[tensor.id]] = min(lowest[buffers[tensor.id]], tensor.size_bytes)
        bound_bytes = max(bound_bytes, _least_of_cliques(lowest, aligned, near, clock))
    order = sorted(sizes, key=lambda b: offsets[b])
    best, least = _lowest(order, sizes, aligned, near)
    order = sorted(sizes, key=lambda b: -sizes[b])
    for _ in range(ROUNDS):
        if least <= bound_bytes or clock.expired():
            break
        places, extent = _lowest(order, sizes, aligned, near)
        if extent < least:
            best, least = places, extent
        order.sort(key=lambda b: places[b] + sizes[b] < extent)
    return {id: best[buffer] for id, buffer in buffers.items()}, least, bound_bytes


def _least_of_cliques(
    sizes: Mapping[str, int],
    aligned: Mapping[str, int],
    near: Mapping[str, set[str]],
    clock: Clock,
) -> int:
    """Bytes of buffers all in conflict: of each what all in it have, up to where another begins."""
    names = [buffer for buffer, size in sizes.items() if size]
    if not names or len(names) > MOST_BUFFERS:
        return 0
    place = {buffer: at for at, buffer in enumerate(names)}
    unit = gcd(*(aligned[buffer] for buffer in names))
    whole = [rounded_up(sizes[buffer], unit) for buffer in names]
    conflicts = [{place[b] for b in near[buffer] - {buffer} if b in place} for buffer in names]
    clique = heaviest_clique(whole, conflicts, clock.share(0.5))
    return sum(whole[at] for at in clique) - max(whole[at] - sizes[names[at]] for at in clique)


def _lowest(
    order: Sequence[str],
    sizes: Mapping[str, int],
    aligned: Mapping[str, int],
    near: Mapping[str, set[str]],
) -> tuple[Mapping[str, int], int]:
    """Each in this order as low as it can lie, and the extent of all."""
    places: dict[str, int] = {}
    for buffer in order:
        taken = [(places[b], places[b] + sizes[b]) for b in near[buffer] - {buffer} if b in places]
        at = 0
        for start, stop in sorted(taken):
            if at + sizes[buffer] <= start:
                break
            at = max(at, rounded_up(stop, aligned[buffer]))
        places[buffer] = at
    return places, max(at + sizes[b] for b, at in places.items())
