"""`spillway apply`: a `.tflite` file whose plan TensorFlow Lite Micro follows instead of its own.

The runtime reads addresses from the metadata `OfflineMemoryAllocation`: version, number of
subgraphs, number of tensors, and for each tensor an offset into its arena, −1 where it is to find
one. Scratch buffers it places itself, around the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planners.audits.cure.arena import Overlaps, apart, overlapping, overlaps, pairs_at_once
from planners.audits.cure.kernels import RUNTIME
from planners.audits.cure.metadata import with_metadata
from planners.audits.foreign import ForeignTensor
from planners.audits.readers.tflm import (
    BY_RUNTIME,
    METADATA,
    VERSION,
    buffers,
    greedy,
    scratch_buffers,
)
from planners.audits.readers.tflm_refused import kernels_missing, require_runs
from planners.core.errors import BadInput
from planners.core.files import write_bytes
from planners.importers.tflite.file import BROKEN, TfliteFile, read_tflite

MOST_TENSORS, MOST_PAIRS = 5_000, 500_000
"""Placed, and live at once with overlap, within seconds; known networks have far fewer."""
ASSUMPTION = "SpillwayOverlap"
"""Metadata that say for whose kernels a plan with overlaps is."""


@dataclass(frozen=True)
class ArenaPlan:
    """Offsets in bytes by tensor and scratch buffer, and what the runtime's arena takes with them.

    `head_bytes` is what its *head* takes, scratch included, and `own_bytes` what it takes with the
    runtime's own planner; no plan of this kind takes less than `bound_bytes`. `overlapped` are the
    kernels whose outputs lie over their inputs, `unknown` those that may ask for scratch of a size
    that is not known here: the head may then be larger.
    """

    tensors: tuple[ForeignTensor, ...]
    scratch: tuple[ForeignTensor, ...]
    offsets: Mapping[str, int]
    head_bytes: int
    own_bytes: int
    bound_bytes: int
    overlapped: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def proven(self) -> bool:
        return self.head_bytes == self.bound_bytes

    def sentence(self) -> str:
        """What was won, and whether more can be."""
        head, own_bytes = self.head_bytes, self.own_bytes
        saved = (
            f"{1 - head / own_bytes:.1%} less than the {own_bytes:,} of the runtime's own planner"
        )
        won = saved if head < own_bytes else "as many as the runtime's own planner takes"
        least = "proven least" if self.proven else f"none takes less than {self.bound_bytes:,}"
        how = "with outputs over dying inputs" if self.overlapped else "with all apart"
        return f"{head:,} bytes of the arena's head, {won}; {least} for this order {how}."


def plan_arena(file: TfliteFile, *, overlap: bool = False, time_limit_s: float = 10.0) -> ArenaPlan:
    """Addresses for what the arena's head holds; raises `BadInput` for what cannot be planned.

    With `overlap` outputs lie over dying inputs, as far as the reference kernels' order allows.
    """
    if len(file.subgraphs) > 1:
        count = len(file.subgraphs)
        raise BadInput(
            f"{file.path} has {count} subgraphs: its lifetimes do not say what they may share"
        )
    require_runs(file)
    tensors = buffers(file, {})
    if not tensors:
        raise BadInput(f"{file.path}: its operators hand nothing on: there is nothing to place")
    try:
        scratch, unknown = scratch_buffers(file)
        allowed = overlaps(file, tensors) if overlap else Overlaps({}, {})
    except BROKEN as error:
        raise BadInput(f"{file.path} is broken: an operator's options cannot be read") from error
    every = (*tensors, *scratch)
    _refuse_too_many(file, every, overlap)
    placed = apart(every, time_limit_s)
    if overlap:
        over = overlapping(every, allowed)
        low = over if over.extent_bytes <= placed.extent_bytes else placed
        placed = replace(low, bound_bytes=over.bound_bytes)
    runtime_plan = greedy(every, {})
    own_bytes = _head(runtime_plan)
    offsets, head = placed.offsets, _head(greedy(every, _without(placed.offsets, scratch)))
    if head > own_bytes:  # The runtime's own way with scratch around ours: its own plan is kept.
        offsets, head = {t.id: t.offset or 0 for t in runtime_plan}, own_bytes
    used = _used(file, offsets, allowed)
    bound = min(placed.bound_bytes, head)
    kinds = tuple(sorted({*unknown, *kernels_missing(file)}))
    return ArenaPlan(tensors, scratch, offsets, head, own_bytes, bound, used, kinds)


def _refuse_too_many(file: TfliteFile, tensors: Sequence[ForeignTensor], overlap: bool) -> None:
    if len(tensors) > MOST_TENSORS:
        raise BadInput(
            f"{file.path} has {len(tensors):,} tensors to place, more than {MOST_TENSORS:,}"
        )
    if overlap and (pairs := pairs_at_once(tensors)) > MOST_PAIRS:
        raise BadInput(
            f"{file.path}: {pairs:,} pairs of tensors are live at once, more than {MOST_PAIRS:,}: "
            "plan it without overlap"
        )


def _without(offsets: Mapping[str, int], tensors: Sequence[ForeignTensor]) -> dict[str, int]:
    """Offsets of tensors alone: a file cannot say where scratch lies."""
    left = {t.id for t in tensors}
    return {name: offset for name, offset in offsets.items() if name not in left}


def _head(placed: Sequence[ForeignTensor]) -> int:
    return max(t.stop for t in placed)


def _used(file: TfliteFile, offsets: Mapping[str, int], allowed: Overlaps) -> tuple[str, ...]:
    """The kernels whose outputs do lie over inputs."""
    tensors = {t.id: t for t in buffers(file, {})}
    kinds = set()
    for output, source in (*allowed.distances, *allowed.same.items()):
        a, b = offsets[output], offsets[source]
        if a < b + tensors[source].size_bytes and b < a + tensors[output].size_bytes:
            kinds.add(file.subgraphs[0].operators[tensors[output].lower - 1].kind)
    return tuple(sorted(kinds))


def metadata_of(file: TfliteFile, plan: ArenaPlan) -> dict[str, bytes]:
    """The plan as the runtime reads it, and what it assumes."""
    count = sum(len(graph.tensors) for graph in file.subgraphs)
    offsets = [plan.offsets.get(str(number), BY_RUNTIME) for number in range(count)]
    if max(offsets) > np.iinfo(np.int32).max:
        raise BadInput(
            f"{file.path}: an arena of {max(offsets):,} bytes and more cannot be written"
        )
    numbers = np.array([VERSION, len(file.subgraphs), count, *offsets], "<i4")
    if not plan.overlapped:
        return {METADATA: numbers.tobytes()}
    words = f"for the {RUNTIME} only: outputs overlap inputs in {', '.join(plan.overlapped)}"
    return {METADATA: numbers.tobytes(), ASSUMPTION: words.encode()}


def planned(
    path: str | Path, *, overlap: bool = False, time_limit_s: float = 10.0
) -> tuple[TfliteFile, ArenaPlan]:
    """A file and a plan of its arena. Raises `BadInput` where it cannot be planned."""
    file = read_tflite(path)
    return file, plan_arena(file, overlap=overlap, time_limit_s=time_limit_s)


def with_plan(file: TfliteFile, plan: ArenaPlan) -> bytes:
    """The file with that plan; nothing else in it is changed. Raises `BadInput`."""
    return with_metadata(file, metadata_of(file, plan), without={ASSUMPTION})


def written(file: TfliteFile, plan: ArenaPlan, out: str | Path) -> None:
    """Write the file with that plan. Raises `BadInput`."""
    write_bytes(out, with_plan(file, plan))


# ---- The same plan as C99: `BufferPlan` for TensorFlow Lite Micro's planner shim
# One offset for each buffer in the order in which the runtime asks: tensors by number, then
# scratch buffers by operator. With it a binary needs no planner (tflite-micro,
# `offline_memory_plan.md`).

_TEXT = """\
/* {bytes} bytes of the arena's head, {count} buffers. {assumes}
   tflite::NonPersistentMemoryPlannerShim planner(
       reinterpret_cast<const tflite::BufferPlan*>(&spillway_buffer_plan)); */
#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
const struct {{ int32_t buffer_count; int32_t offsets[{count}]; }} spillway_buffer_plan = {{
  {count},
  {{
{lines}
  }}
}};
"""


def plan_c(plan: ArenaPlan) -> str:
    """The plan as source. Raises `BadInput` where a kernel may ask for a buffer not known here."""
    if plan.unknown:
        kinds = ", ".join(plan.unknown)
        raise BadInput(f"--c: {kinds} may ask for scratch buffers whose number is not known here")
    buffers = (*plan.tensors, *plan.scratch)
    lines = [f"    {plan.offsets[t.id]}, /* {_comment(t.name)} */" for t in buffers]
    extent = max(plan.offsets[t.id] + t.size_bytes for t in buffers)
    assumes = f"For the {RUNTIME} only: outputs overlap inputs." if plan.overlapped else ""
    return _TEXT.format(
        bytes=extent, count=len(buffers), lines="\n".join(lines), assumes=assumes
    ).replace(" \n", "\n")


def _comment(name: str) -> str:
    """A name as it may stand in a comment."""
    kept = "".join(c if c.isalnum() or c in " _-./:()" else "?" for c in name[:80])
    return kept.replace("*/", "?").replace("/*", "?")
