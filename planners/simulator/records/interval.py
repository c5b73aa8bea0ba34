"""An instruction on its engine, from when until when, and the shares of joined transfers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Cause = Literal["", "read after write", "write after read", "write after write", "barrier"]


@dataclass(frozen=True, slots=True)
class Interval:
    """An instruction on its engine, in seconds `[start, stop)`.

    `stall_s` is how long the engine stood free before, `cause` the hazard that held it and
    `blocker` the instruction that it waited for.
    """

    engine: str
    start_s: float
    stop_s: float
    instruction: int
    step: int
    label: str
    stall_s: float
    cause: Cause
    blocker: int | None


def shares(
    whole: Interval, seconds: float, items: Sequence[tuple[int, int, str]]
) -> Iterator[Interval]:
    """A transfer of several loads as their shares by bytes: each has its position, size, tensor."""
    total = sum(size for _, size, _ in items) or 1
    done = 0
    for index, size, tensor in items:
        start = whole.start_s + seconds * done / total
        done += size
        share = replace(whole, start_s=start, stop_s=whole.start_s + seconds * done / total)
        if index != whole.instruction:
            share = replace(share, instruction=index, label=tensor)
            share = replace(share, stall_s=0.0, cause="", blocker=None)
        yield replace(share, stop_s=whole.stop_s) if done == total else share
