"""Packing questions made to order, for tests and benchmarks; the same seed gives the same one."""

from __future__ import annotations

from random import Random

from planners.allocation.problem.model import Lifetime


def cut_rectangle(
    boxes: int, *, capacity_bytes: int = 1 << 12, times: int = 1 << 10, seed: int = 0
) -> list[Lifetime]:
    """A rectangle of time × memory cut in two again and again: it fits `capacity_bytes` exactly.

    Every byte is in use at every time. The largest box (by area) is cut next, across or along.
    """
    random = Random(seed)
    pieces = [(0, times, 0, capacity_bytes)]
    while len(pieces) < boxes:
        pieces.sort(key=lambda p: (p[1] - p[0]) * (p[3] - p[2]) * random.uniform(0.2, 1.0))
        t0, t1, a0, a1 = pieces.pop()
        across = (t1 - t0) / times > (a1 - a0) / capacity_bytes * random.uniform(0.4, 2.5)
        if across and t1 - t0 > 1:
            t = random.randrange(t0 + 1, t1)
            pieces += [(t0, t, a0, a1), (t, t1, a0, a1)]
        elif a1 - a0 > 1:
            a = random.randrange(a0 + 1, a1)
            pieces += [(t0, t1, a0, a), (t0, t1, a, a1)]
        else:
            pieces.insert(0, (t0, t1, a0, a1))
    random.shuffle(pieces)
    return [Lifetime(f"b{i}", t0, t1, a1 - a0) for i, (t0, t1, a0, a1) in enumerate(pieces)]


def network_like(
    boxes: int, *, capacity_bytes: int = 1 << 10, unit_bytes: int = 32, seed: int = 0
) -> list[Lifetime]:
    """Tensors in execution order, few distinct sizes, most short-lived, the memory full throughout.

    At each step the holes are filled from below by tensors of one of a few sizes: feasible by
    construction in `capacity_bytes`, and full up to what no size fits into.
    """
    random = Random(seed)
    sizes = [unit_bytes * k for k in (1, 2, 3, 4, 6, 8)]
    free = [(0, capacity_bytes)]
    live: list[tuple[int, int, int]] = []  # death, start, stop
    lifetimes: list[Lifetime] = []
    step = 0
    while len(lifetimes) < boxes:
        gone = [block for block in live if block[0] <= step]
        live = [block for block in live if block[0] > step]
        free = _merge(free + [(start, stop) for _, start, stop in gone])
        for start, stop in free:
            while start < stop:
                size = random.choice([size for size in sizes if size <= stop - start])
                death = step + random.choice((1, 2, 2, 3, 4, 6, 10, 20))
                lifetimes.append(Lifetime(f"t{len(lifetimes)}", step, death, size))
                live.append((death, start, start + size))
                start += size
        free = []
        step += 1
    return lifetimes


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
