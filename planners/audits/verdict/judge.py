"""One memory of another tool's plan: is it right, how large is it, how small could it be?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planners.allocation.aligned import unit_of
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.portfolio import pack
from planners.allocation.problem.model import Lifetime, held_over_time, live_peak
from planners.audits.conflicts import Conflict, conflicts
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.verdict.buffers import pack_buffers
from planners.core.errors import BadInput
from planners.core.progress import MOST_SHARE, Clock
from planners.core.range_maxima import range_maxima

if TYPE_CHECKING:
    from planners.audits.cure.arena import Overlaps

# ---- Files that say for whose kernels their plan is: there, outputs lie over inputs by right -----


def allowed_overlaps(plan: ForeignPlan) -> Overlaps | None:
    """What may share bytes though it lives at once; None where the plan's file says nothing.

    Raises `BadInput` for a broken file.
    """
    if plan.graph is None or "tflite" not in plan.graph.source:
        return None
    # Here and not above: the format's own package takes longer to import than most audits.
    from planners.audits.cure.arena import overlaps
    from planners.audits.cure.tflm import ASSUMPTION
    from planners.importers.tflite.file import BROKEN, read_tflite

    file = read_tflite(plan.graph.source["tflite"])
    if ASSUMPTION not in file.metadata:
        return None
    try:
        return overlaps(file, plan.tensors)
    except BROKEN as error:
        raise BadInput(f"{file.path} is broken: an operator's options cannot be read") from error


def by_right(conflict: Conflict, tensors: dict[str, ForeignTensor], allowed: Overlaps) -> bool:
    """Whether the later of two begins far enough before the other, which dies as it is made."""
    for output, source in ((conflict.one, conflict.other), (conflict.other, conflict.one)):
        ahead = (tensors[source].offset or 0) - (tensors[output].offset or 0)
        distance = allowed.distances.get((output, source))
        if distance is not None and ahead >= distance:
            return True
        if allowed.same.get(output) == source and ahead == 0:
            return True
    return False


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlamedTensor:
    """A tensor that ends at `stop`, though never more than `live_bytes` are live while it is."""

    id: str
    size_bytes: int
    stop: int
    live_bytes: int


@dataclass(frozen=True)
class MemoryAudit:
    """What is found of one memory; sizes and addresses in bytes.

    `peak_bytes` is the highest address in use, None where nothing has a place; `own_bytes` what the
    tool says itself. `floor_bytes` are live at once, first in `worst_step`: with these lifetimes no
    placement needs less (where outputs may lie over inputs: what of them may not). `least_bytes` is
    the least extent found, with `offsets`, and no extent is below `bound_bytes`. `binding` are
    tensors that need so much: those live at the worst step, or, where they do not fit together
    though each step does, those (`packing`). `blame` lie above it.
    """

    memory: str
    tensors: int
    unplaced: int
    conflicts: tuple[Conflict, ...]
    misaligned: tuple[str, ...]
    peak_bytes: int | None
    own_bytes: int | None
    capacity_bytes: int | None
    floor_bytes: int
    worst_step: int
    least_bytes: int
    bound_bytes: int
    packing: bool
    binding: tuple[str, ...]
    blame: tuple[BlamedTensor, ...]
    offsets: Mapping[str, int]

    @property
    def proven(self) -> bool:
        return self.bound_bytes == self.least_bytes

    @property
    def broken(self) -> bool:
        """Whether the plan cannot be run as it is."""
        return bool(self.conflicts or self.misaligned)

    @property
    def judged_bytes(self) -> int:
        """The tool's extent; where it gave no places, the least there is."""
        return self.least_bytes if self.peak_bytes is None else self.peak_bytes


def judge(
    plan: ForeignPlan,
    memory: str,
    clock: Clock,
    allowed: Overlaps | None = None,
) -> MemoryAudit:
    """Judge one memory of a plan, in which some may share bytes though they live at once.

    Raises `BadInput` where the plan contradicts itself.
    """
    tensors = plan.inside(memory)
    placed = [t for t in tensors if t.offset is not None]
    wrong = tuple(conflicts(placed))
    if allowed is not None:
        by_id = {t.id: t for t in tensors}
        wrong = tuple(c for c in wrong if not by_right(c, by_id, allowed))
    misaligned = tuple(t.id for t in placed if (t.offset or 0) % t.alignment)
    peak = max((t.stop for t in placed if t.size_bytes), default=0) if placed else None
    lifetimes = [t.lifetime for t in tensors]
    floor, worst = live_peak(lifetimes)
    offsets, least, bound = _least(tensors, clock.share(MOST_SHARE), allowed)
    right = peak is not None and len(placed) == len(tensors) and not wrong and not misaligned
    if right and peak is not None and peak <= least:
        offsets, least = {t.id: t.offset or 0 for t in tensors}, peak
    at_worst = _live_at(tensors, worst)
    binding, packing = at_worst, False
    if allowed is not None:
        floor = min(floor, bound)
    elif least > floor and bound == least:
        unfit = _what_does_not_fit(lifetimes, least, clock)
        binding, packing = (unfit, True) if unfit else (at_worst, False)
    return MemoryAudit(
        memory,
        len(tensors),
        len(tensors) - len(placed),
        wrong,
        misaligned,
        peak,
        plan.own_peak.get(memory),
        plan.capacities.get(memory),
        floor,
        worst,
        least,
        min(least, bound),
        packing,
        binding,
        blamed(tensors, least),
        offsets,
    )


def _least(
    tensors: Sequence[ForeignTensor], clock: Clock, allowed: Overlaps | None
) -> tuple[Mapping[str, int], int, int]:
    """The offsets of the least extent found, that extent, and what none can be below."""
    if allowed is not None:
        from planners.audits.cure.arena import overlapping  # and TensorFlow Lite's format

        over = overlapping(tensors, allowed)
        return over.offsets, over.extent_bytes, over.bound_bytes
    lifetimes = [t.lifetime for t in tensors]
    tight = pack_tightest(lifetimes, clock=clock)
    if any(t.buffer for t in tensors):
        return pack_buffers(tensors, tight.bound_bytes, clock)
    return tight.offsets, tight.extent_bytes, tight.bound_bytes


def blamed(tensors: Sequence[ForeignTensor], limit_bytes: int) -> tuple[BlamedTensor, ...]:
    """The placed tensors that end above a limit, the highest first."""
    high = [t for t in tensors if t.offset is not None and t.size_bytes and t.stop > limit_bytes]
    high.sort(key=lambda t: (-t.stop, -t.size_bytes))
    times, loads = _loads(tensors)
    most = range_maxima(
        loads,
        [max(0, bisect_right(times, t.lower) - 1) for t in high],
        [bisect_left(times, t.upper) for t in high],
    )
    return tuple(
        BlamedTensor(t.id, t.size_bytes, t.stop, live) for t, live in zip(high, most, strict=True)
    )


def _loads(tensors: Sequence[ForeignTensor]) -> tuple[list[int], list[int]]:
    """The steps at which tensors begin or end, and the bytes live from each on."""
    loads = held_over_time(t.lifetime for t in tensors)
    return [time for time, _ in loads], [size for _, size in loads]


def _live_at(tensors: Sequence[ForeignTensor], step: int) -> tuple[str, ...]:
    """Those live in a step, the largest first."""
    live = [t for t in tensors if t.held_in(step)]
    return tuple(t.id for t in sorted(live, key=lambda t: -t.held_in(step)))


def _what_does_not_fit(
    lifetimes: Sequence[Lifetime], least_bytes: int, clock: Clock
) -> tuple[str, ...]:
    """Few lifetimes that are proven not to fit in less, the largest first; empty if none known."""
    less = least_bytes - unit_of(lifetimes)
    packing = pack(lifetimes, less, clock=clock)
    size = {item.id: item.size_bytes for item in lifetimes}
    return tuple(sorted(packing.conflict, key=lambda id: -size[id]))
