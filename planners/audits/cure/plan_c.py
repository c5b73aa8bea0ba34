"""The same plan as C99: `BufferPlan` for TensorFlow Lite Micro's `NonPersistentMemoryPlannerShim`.

One offset for each buffer in the order in which the runtime asks: tensors by number, then scratch
buffers by operator. With it a binary needs no planner (tflite-micro, `offline_memory_plan.md`).
"""

from __future__ import annotations

from planners.audits.cure.kernels import RUNTIME
from planners.audits.cure.tflm import ArenaPlan
from planners.core.errors import BadInput

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
