"""Times of layers that belong to a problem: given by a table or a fitted model, not by a machine.

A plan that was made with such times carries them, row by row, and wherever its makespan is
printed, so is where they are from. What has no row takes the machine's roofline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, TypeAlias

from planners.core.boxes import uncovered
from planners.core.details import SECONDS, Details
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.program import Box, whole
from planners.core.records import SPARSE, Within, plain, read

Seconds: TypeAlias = Annotated[float, Within(0, 1e9)]


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds to read an operator's parameters, to copy them between rings, and to run it.

    `part` is the box of its first output that a row is for, where the operator is sliced.
    """

    operator: str
    read_s: Seconds
    copy_s: Seconds
    kernel_s: Seconds
    part: Box | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class GivenTimes:
    """Where times are from, and a row for each operator, or for each of its slices.

    The network's inputs and outputs are in place already and take no time.
    """

    source: str
    rows: tuple[LayerTime, ...]

    def require(self, graph: Graph) -> None:
        """Raise `BadInput` unless each operator has one row, or slices that are all of it."""
        parts: dict[str, list[Box | None]] = {op.name: [] for op in graph.operators}
        for row in self.rows:
            if row.operator not in parts:
                raise _fault(f"{graph.name} has no operator {row.operator!r:.60}")
            parts[row.operator].append(row.part)
        for op in graph.operators:
            _require_once(op.name, parts[op.name], whole(graph.tensors[op.outputs[0]]).box)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = plain(self)
        return data

    @staticmethod
    def from_json(data: Any, graph: Graph) -> GivenTimes:
        """The times that `to_json` wrote. Raises `BadInput` that names the place."""
        times = read(GivenTimes, data, "times")
        if not times.source.isprintable():
            raise BadInput(f"times.source is {times.source!r:.60}, not a line of text")
        times.require(graph)
        return times


def times_of_older(data: Mapping[str, Any], details: Details, graph: Graph) -> GivenTimes | None:
    """The times in an older plan, which had them with its layers and again as `seconds`."""
    streamed = details.streamed
    if SECONDS not in data or streamed is None:
        return None
    rows = [plain(layer) for layer in streamed.layers]
    return GivenTimes.from_json({"source": streamed.times, "rows": rows}, graph)


def _require_once(operator: str, parts: list[Box | None], box: Box) -> None:
    """Raise `BadInput` unless rows are one of all of a box, or parts that make it once."""
    if parts == [None]:
        return
    boxes = [part for part in parts if part is not None]
    if not parts:
        raise _fault(f"operator {operator!r:.60} has no row")
    if len(boxes) < len(parts) or any(len(part) != len(box) for part in boxes):
        raise _fault(f"operator {operator!r:.60} has two rows")
    sizes = [prod(stop - start for start, stop in part) for part in (*boxes, box)]
    if uncovered(box, boxes) or sum(sizes[:-1]) != sizes[-1]:
        raise _fault(f"the slices of operator {operator!r:.60} are not all of it, once")


def _fault(reason: str) -> BadInput:
    return BadInput(f"times: {reason}")
