"""What waits in a plan of streamed parameters, and for which layer, in words. No Panel here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import planners as sp
from app.display.stream import RING_NAMES, Kind, Stream
from app.model.units import seconds_text
from planners.core.units import format_bytes

Cause = Literal["ring full", "waits for read", "waits for copy", "in step"]
VERBS = {"read": "be read", "copy": "be copied", "kernel": "end"}
WHY = {
    "ring full": "the ring is full until an earlier layer has run",
    "waits for read": "the kernel's parameters are still on their way from storage",
    "waits for copy": "the kernel's parameters are still on their way between the rings",
    "in step": "a barrier: the next step begins when all stages have ended",
}


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a read, copy or kernel of a layer did not start sooner: it waited for another layer."""

    cause: Cause
    kind: Kind
    layer: int
    seconds: float
    blocker: int
    text: str


def wait_of(stream: Stream, item: sp.Interval) -> Wait | None:
    """The wait before an interval; None where it did not wait, or belongs to no layer."""
    act = stream.acts.get(item.instruction)
    if act is None or item.stall_s <= 0:
        return None
    kind, number, ring = act
    other = None if item.blocker is None else stream.acts.get(item.blocker)
    took = seconds_text(item.stall_s)
    if item.cause == "barrier" or other is None:
        what = "for all stages to end" if item.cause == "barrier" else "for an input"
        return Wait("in step", kind, number, item.stall_s, -1, f"waited {took} {what}")
    blocker = stream.layers[other[1]]
    if item.cause == "read after write":
        return _for_data(kind, number, item.stall_s, other[0], other[1], blocker.name, took)
    where = RING_NAMES[ring] if ring and not stream.details.joint else "memory"
    text = (
        f"waited {took}, the {where} was full: {blocker.name} "
        f"({format_bytes(blocker.size_bytes)}) had to {VERBS[other[0]]} first"
    )
    return Wait("ring full", kind, number, item.stall_s, other[1], text)


def _for_data(
    kind: Kind, number: int, seconds: float, by: Kind, blocker: int, name: str, took: str
) -> Wait:
    """A wait for an earlier stage: a kernel for its read or copy, a copy for its read."""
    if by == "kernel":
        text = f"waited {took} for what {name} made"
        return Wait("in step", kind, number, seconds, blocker, text)
    cause: Cause = "waits for read" if by == "read" else "waits for copy"
    whose = "its" if blocker == number else f"{name}'s"
    return Wait(cause, kind, number, seconds, blocker, f"waited {took} for {whose} {by}")


@dataclass(frozen=True, slots=True)
class Stage:
    """A layer's read, copy or kernel: all of it, whatever parameters it has, and its wait."""

    kind: Kind
    layer: int
    ring: str
    engine: str
    start_s: float
    stop_s: float
    wait: Wait | None


def stages_of(stream: Stream, trace: sp.Trace) -> tuple[Stage, ...]:
    """Every read, copy and kernel in a trace; a layer's parameters are read as one."""
    stages: dict[tuple[Kind, int, str], Stage] = {}
    for item in trace.intervals:
        act = stream.acts.get(item.instruction)
        if act is None:
            continue
        kind, number, ring = act
        stage = stages.get(act)
        if stage is None:
            wait = wait_of(stream, item)
            stages[act] = Stage(kind, number, ring, item.engine, item.start_s, item.stop_s, wait)
        else:
            stop = max(stage.stop_s, item.stop_s)
            start = min(stage.start_s, item.start_s)
            stages[act] = Stage(kind, number, ring, item.engine, start, stop, stage.wait)
    return tuple(stages.values())


def waiting(stages: Sequence[Stage]) -> list[int]:
    """The layers whose kernels wait."""
    return sorted(s.layer for s in stages if s.kind == "kernel" and s.wait)


def stalled(stages: Sequence[Stage], stream: Stream) -> dict[Cause, float]:
    """Seconds that kernels were stalled, by cause; a full ring costs as much as kernels waited for
    it."""
    seconds: dict[Cause, float] = {}
    for stage in stages:
        if stage.kind == "kernel" and stage.wait and stage.start_s >= stream.details.preload_s:
            cause = stage.wait.cause
            seconds[cause] = seconds.get(cause, 0.0) + stage.wait.seconds
    return seconds
