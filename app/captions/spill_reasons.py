"""Why a tensor left the chip, and for how long, read off the checked program. No Panel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

import planners as sp
from app.display.displayed_plan import DisplayedPlan, holes
from app.display.instruction_names import InstructionNames
from app.model.units import seconds_text
from planners.core.program import Compute
from planners.core.units import format_bytes


@dataclass(frozen=True, slots=True)
class Pressure:
    """What prevented a tensor from staying on chip while it was away.

    `step` is the fullest of the steps it missed, `needs_bytes` what that step's operator reads and
    writes, `held_bytes` all that is on chip then, `short_bytes` what would exceed the budget with
    the tensor. `hole_bytes` is the largest range of addresses that stays free all the time.
    """

    step: int
    operator: str
    needs_bytes: int
    held_bytes: int
    short_bytes: int
    hole_bytes: int


@dataclass(frozen=True, slots=True)
class Rank:
    """When a tensor is read next, and which tensors on chip with it are read later still."""

    step: int
    others: int
    later: tuple[tuple[str, int], ...]


def next_use(shown: DisplayedPlan, tensor: str, step: int) -> int | None:
    """The next step after `step` that reads a tensor."""
    steps = shown.reads.get(tensor, ())
    after = bisect_right(steps, step)
    return steps[after] if after < len(steps) else None


def away(shown: DisplayedPlan, residency: sp.Residency) -> range:
    """The steps between a stay and the next of the same piece, or the end."""
    later = [
        s
        for s in shown.stays[residency.tensor]
        if s.start_instruction > residency.start_instruction
    ]
    stop = min((shown.columns(s)[0] for s in later), default=shown.steps)
    return range(min(shown.columns(residency)[1], stop), stop)


def pressure(shown: DisplayedPlan, residency: sp.Residency) -> Pressure | None:
    """What prevented a tensor that is read again from staying; None if it misses no step."""
    missed = away(shown, residency)
    if not missed:
        return None
    memory, budget = residency.memory, shown.plan.budget_bytes
    fullest = max(missed, key=lambda s: shown.report.occupancy[s])
    residencies, (left, right) = shown.residency_columns, shown.sides
    same = residencies.memory == residencies.memories.index(memory)
    there = np.flatnonzero(same & (left < missed.stop) & (missed.start < right))
    at_fullest = there[(left[there] <= fullest) & (fullest < right[there])]
    held_bytes = int(residencies.size_bytes[at_fullest].sum())
    spans = residencies.at(there)
    taken = list(zip(spans.span_start.tolist(), spans.span_stop.tolist(), strict=True))
    free = [stop - start for start, stop in holes(taken, budget)]
    return Pressure(
        fullest,
        " and ".join(shown.ran[fullest]) or shown.plan.program.steps[fullest],
        needs_bytes(shown, fullest),
        held_bytes,
        max(0, held_bytes + residency.size_bytes - budget),
        max(free, default=0),
    )


def needs_bytes(shown: DisplayedPlan, step: int) -> int:
    """Bytes on chip that the operators of a step read and write; shared addresses count once."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for item in shown.at(step):
        for _, region in (*item.reads, *item.writes) if isinstance(item, Compute) else ():
            if region.offset is not None:
                stop = region.offset + region.size_bytes
                ranges.setdefault(region.memory, []).append((region.offset, stop))
    return sum(covered(spans) for spans in ranges.values())


def covered(ranges: Iterable[tuple[int, int]]) -> int:
    """How many bytes ranges cover together."""
    total, reached = 0, 0
    for start, stop in sorted(ranges):
        total += max(0, stop - max(start, reached))
        reached = max(reached, stop)
    return total


def rank(shown: DisplayedPlan, residency: sp.Residency, step: int) -> Rank | None:
    """A tensor's next use after a step, compared with those of all else that is on chip in it."""
    mine = next_use(shown, residency.tensor, step)
    if mine is None:
        return None
    others = dict.fromkeys(
        r.tensor
        for r in shown.live(step)
        if r.memory == residency.memory and r.tensor != residency.tensor
    )
    uses: Mapping[str, int] = {
        name: use for name in others if (use := next_use(shown, name, step)) is not None
    }
    later = sorted(((n, u) for n, u in uses.items() if u > mine), key=lambda item: -item[1])
    return Rank(mine, len(uses), tuple(later))


def why_words(shown: DisplayedPlan, residency: sp.Residency) -> str:
    """What prevented keeping a tensor, as the end of a sentence; empty if nothing is known."""
    obstacle = pressure(shown, residency)
    if obstacle is None:
        return ""
    budget, name = format_bytes(shown.plan.budget_bytes), residency.tensor
    if obstacle.short_bytes:
        rest = obstacle.held_bytes - obstacle.needs_bytes
        more = f" and {format_bytes(rest)} more are on chip" if rest > 0 else ""
        return (
            f": {obstacle.operator} in step {obstacle.step + 1} needs "
            f"{format_bytes(obstacle.needs_bytes)} of {budget}{more}, "
            f"{format_bytes(obstacle.short_bytes)} short of keeping {name} as well"
        )
    if obstacle.hole_bytes < residency.size_bytes:
        free = format_bytes(obstacle.hole_bytes) if obstacle.hole_bytes else "nothing"
        return f": {free} stays free in one piece that long, too little for {name}"
    return ", although there would be room: this plan does not use it"


def until_words(shown: DisplayedPlan, residency: sp.Residency, step: int) -> tuple[str, str]:
    """When a tensor is read next, and a sentence on what else on chip is read later."""
    ranked = rank(shown, residency, step)
    if ranked is None:
        return "", ""
    until = f" until step {ranked.step + 1} reads it again, in {steps_words(ranked.step - step)}"
    if ranked.later:
        name, use = ranked.later[0]
        return until, f" {name} is read even later, in step {use + 1}."
    return until, " Nothing else on chip is read later." if ranked.others else ""


def steps_words(count: int) -> str:
    """A number of steps."""
    return "1 step" if count == 1 else f"{count} steps"


def cause_text(names: InstructionNames, item: sp.Interval) -> str:
    """Why an interval did not start earlier, in words."""
    if not item.cause:
        return "no wait"
    name = "earlier instructions" if item.blocker is None else names.called(item.blocker)
    reason = {
        "read after write": f"its data came from {name}",
        "write after read": f"the bytes it writes were still read by {name}",
        "write after write": f"the bytes it writes were still written by {name}",
        "barrier": f"a barrier behind {name}",
    }[item.cause]
    return f"waited {seconds_text(item.stall_s)}: {reason} ({item.cause})"


def output_words(graph: sp.Graph, tensor: str) -> str:
    """What an output is to the network: returned, or what it keeps for the next run."""
    kept = [name for name, new in graph.state.items() if new == tensor]
    return f"the new value of {' and '.join(kept)}" if kept else "an output of the network"
