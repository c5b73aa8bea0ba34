"""What each read, copy and kernel waits for, as counts of those that must have ended before it.

Each engine takes layers in order, so that three counts are enough. Places in the rings give the
waits for bytes: a layer's bytes are free once the last earlier layer that they meet has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Gate(NamedTuple):
    """How many reads, copies and kernels must have ended. In two stages nothing is copied."""

    reads: int = 0
    copies: int = 0
    kernels: int = 0

    def __or__(self, other: Gate) -> Gate:
        return Gate(*map(max, self, other))


class Gates(NamedTuple):
    """A layer's gates. A layer without parameters is neither read nor copied."""

    read: Gate
    copy: Gate
    kernel: Gate


def waits(sizes: Sequence[int], offsets: Sequence[int], ring_bytes: int) -> list[int]:
    """For each layer the last earlier one whose bytes it takes, or -1; rings may be wrapped.

    Quadratic where no layer meets another, else linear in layers and laps.
    """
    waited = []
    for i, size in enumerate(sizes):
        last = -1
        for j in range(i - 1, -1, -1) if size else ():
            ahead = (offsets[j] - offsets[i]) % ring_bytes
            behind = (offsets[i] - offsets[j]) % ring_bytes
            if sizes[j] and (ahead < size or behind < sizes[j]):
                last = j
                break
        waited.append(last)
    return waited


def gates_of(
    pipeline: str,
    sizes: Sequence[int],
    offsets: Sequence[Sequence[int]],
    rings: Sequence[int],
) -> tuple[Gates, ...]:
    """The gates of all layers. `offsets` and `rings` have one entry a ring, of which there are
    two (the CPU's and the device's) or one."""
    first = waits(sizes, offsets[0], rings[0])
    last = waits(sizes, offsets[-1], rings[-1])
    two = len(rings) == 1
    gates = []
    for i, size in enumerate(sizes):
        bytes_free = Gate(kernels=first[i] + 1) if two else Gate(copies=first[i] + 1)
        read = bytes_free
        copy = Gate(reads=i + 1, kernels=last[i] + 1)
        kernel = Gate() if not size else Gate(reads=i + 1, copies=0 if two else i + 1)
        extra = _barriers(pipeline, i, len(sizes))
        gates.append(Gates(read | extra.read, copy | extra.copy, kernel | extra.kernel))
    return tuple(gates)


def _barriers(pipeline: str, i: int, count: int) -> Gates:
    """What the pipelines with barriers wait for besides."""
    if pipeline == "seq":
        return Gates(Gate(kernels=i), Gate(kernels=i), Gate(kernels=i))
    if pipeline == "sync":  # Cycle t reads layer t, copies t - 1 and runs t - 2.
        read = Gate(copies=max(0, i - 1), kernels=max(0, i - 2))
        copy = Gate(copies=i, kernels=max(0, i - 1))
        return Gates(read, copy, Gate(min(i + 2, count), i + 1, i))
    if pipeline == "pre":
        return Gates(Gate(), Gate(), Gate(copies=count))
    return Gates(Gate(), Gate(), Gate())


def kernel_ends(
    gates: Sequence[Gates], times: Sequence[tuple[float | None, float | None, float]]
) -> list[float]:
    """When kernels end if reads, copies and kernels take these seconds and begin at once.

    None for what does not happen. Linear. Raises `ValueError` for gates that never open.
    """
    ends: tuple[list[float], ...] = ([], [], [])
    copies = any(time[1] is not None for time in times)
    engines = (0, 1, 2) if copies else (0, 2)
    while len(ends[2]) < len(gates):
        before = sum(map(len, ends))
        for engine in engines:
            _advance(engine, ends, gates, times)
        if sum(map(len, ends)) == before:
            raise ValueError("a gate never opens")
    return ends[2]


def _advance(
    engine: int,
    ends: tuple[list[float], ...],
    gates: Sequence[Gates],
    times: Sequence[tuple[float | None, float | None, float]],
) -> None:
    """Let an engine go on as far as its gates are open."""
    mine = ends[engine]
    while (i := len(mine)) < len(gates):
        now, seconds, gate = mine[-1] if mine else 0.0, times[i][engine], gates[i][engine]
        if seconds is not None:
            if any(len(done) < need for done, need in zip(ends, gate, strict=True)):
                return
            others = zip(ends, gate, strict=True)
            now = max(now, *(done[need - 1] if need else 0.0 for done, need in others)) + seconds
        mine.append(now)
