"""Addresses in the arena of TensorFlow Lite Micro: apart, or outputs over the inputs that die."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planners.allocation.min_capacity import pack_tightest
from planners.allocation.overlapping.exact import pack_overlapping
from planners.allocation.overlapping.model import PoolBlock, PoolProblem
from planners.audits.cure.kernels import distance, in_place
from planners.audits.foreign import ForeignTensor
from planners.audits.readers.tflm import ALIGNMENT
from planners.core.errors import InvalidPlan
from planners.core.integers import rounded_up
from planners.importers.tflite.file import TfliteFile


@dataclass(frozen=True, slots=True)
class ArenaPlaces:
    """Offsets in bytes by tensor, the highest address in use, and what none can be below.

    `bound_bytes` is for these lifetimes and this way of placing, apart or with these overlaps.
    """

    offsets: Mapping[str, int]
    extent_bytes: int
    bound_bytes: int


def apart(tensors: Sequence[ForeignTensor], time_limit_s: float) -> ArenaPlaces:
    """All disjoint while they live; the least extent found, and a proven bound."""
    packed = pack_tightest([t.lifetime for t in tensors], time_limit_s=time_limit_s)
    return ArenaPlaces(packed.offsets, packed.extent_bytes, packed.bound_bytes)


@dataclass(frozen=True)
class Overlaps:
    """What may share bytes though it lives at once.

    `distances` by (output, input) in whole multiples of the alignment: the output begins at least
    so many bytes before the input, which dies as it is made. `same` leads from an output to the
    input whose place it may take, byte for byte.
    """

    distances: Mapping[tuple[str, str], int]
    same: Mapping[str, str]


def overlaps(file: TfliteFile, tensors: Sequence[ForeignTensor]) -> Overlaps:
    """Outputs that may lie over inputs that die, by the order of the runtime's kernels."""
    by_id = {t.id: t for t in tensors}
    distances, same = {}, {}
    for step, operator in enumerate(file.subgraphs[0].operators, 1):
        dying = [t for n in operator.inputs if (t := by_id.get(str(n))) and t.upper == step + 1]
        outputs = [t for n in operator.outputs if (t := by_id.get(str(n))) and t.lower == step]
        if len(outputs) != 1:
            continue
        for tensor in {t.id: t for t in dying}.values():
            if tensor.lower < step and (d := distance(file, operator, int(tensor.id))) is not None:
                distances[outputs[0].id, tensor.id] = rounded_up(d, ALIGNMENT)
        source = str(operator.inputs[0]) if operator.inputs else ""
        if in_place(file, operator) and any(t.id == source for t in dying):
            if by_id[source].lower < step:
                same[outputs[0].id] = source
    return Overlaps(distances, same)


def overlapping(tensors: Sequence[ForeignTensor], allowed: Overlaps) -> ArenaPlaces:
    """The lowest of the packings with outputs over inputs: with and without what is in place."""
    packings = [_packed(tensors, allowed, same) for same in (allowed.same, {})]
    best = min(packings, key=lambda placed: placed.extent_bytes)
    check(tensors, best.offsets, allowed)
    # Whatever is done in place might also be left: a distance of zero or more has both.
    freer = Overlaps({**allowed.distances, **dict.fromkeys(allowed.same.items(), 0)}, {})
    bound = _packed(tensors, freer, {}).bound_bytes if allowed.same else best.bound_bytes
    return ArenaPlaces(best.offsets, best.extent_bytes, min(bound, best.extent_bytes))


def pairs_at_once(tensors: Sequence[ForeignTensor]) -> int:
    """How many pairs there are that live at the same time."""
    ends = sorted(t.upper for t in tensors)
    return sum(k - bisect_right(ends, at) for k, at in enumerate(sorted(t.lower for t in tensors)))


def _packed(
    tensors: Sequence[ForeignTensor], allowed: Overlaps, same: Mapping[str, str]
) -> ArenaPlaces:
    by_id = {t.id: t for t in tensors}
    first = {t.id: t.id for t in tensors}
    last = dict(first)
    for output, source in sorted(same.items(), key=lambda pair: by_id[pair[0]].lower):
        first[output] = first[source]
        last[first[output]] = output
    blocks = [
        PoolBlock(t.id, t.size_bytes, t.lower, by_id[last[t.id]].upper - 1)
        for t in tensors
        if first[t.id] == t.id
    ]
    distances = {
        (output, first[source]): d
        for (output, source), d in allowed.distances.items()
        if first[output] == output and last[first[source]] == source
    }
    packed = pack_overlapping(PoolProblem(blocks, distances, unit=ALIGNMENT))
    assert packed is not None
    offsets = {t.id: packed.offsets[first[t.id]] for t in tensors}
    return ArenaPlaces(offsets, packed.size_bytes, packed.bound_bytes)


def check(tensors: Sequence[ForeignTensor], offsets: Mapping[str, int], allowed: Overlaps) -> None:
    """Raise `InvalidPlan` where two that live at once lie over each other and may not."""
    live: list[ForeignTensor] = []
    for tensor in sorted(tensors, key=lambda t: t.lower):
        live = [other for other in live if other.upper > tensor.lower]
        for other in live:
            a, b = offsets[tensor.id], offsets[other.id]
            if max(a, b) >= min(a + tensor.size_bytes, b + other.size_bytes):
                continue
            d = allowed.distances.get((tensor.id, other.id))
            if d is not None and b - a >= d:
                continue
            if not (allowed.same.get(tensor.id) == other.id and a == b):
                raise InvalidPlan(
                    f"{tensor.name} at {a} lies over {other.name} at {b}, which is read later"
                )
        live.append(tensor)
