"""Files that say for whose kernels their plan is: there, outputs lie over inputs by right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planners.audits.foreign import Conflict, ForeignPlan, ForeignTensor
from planners.core.errors import BadInput

if TYPE_CHECKING:
    from planners.audits.cure.arena import Overlaps


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
    for made, source in ((conflict.one, conflict.other), (conflict.other, conflict.one)):
        ahead = (tensors[source].offset or 0) - (tensors[made].offset or 0)
        distance = allowed.distances.get((made, source))
        if distance is not None and ahead >= distance:
            return True
        if allowed.same.get(made) == source and ahead == 0:
            return True
    return False
