"""The rectangles of the address map: each stay in a window, or bundles where there are too many."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import planners as sp
from app.model.checked_plan import Shown
from app.model.colours import STAYS, stay_of
from app.model.detail import Boxes
from planners.core.units import format_bytes

REFILLED = "parameters in turn"
MANY = "too many to tell apart"
Row = dict[str, Any]


class MapRows:
    """The map's rectangles of a memory, by the steps that are in sight."""

    def __init__(self, shown: Shown, memory: str) -> None:
        self.shown = shown
        self.stays = [r for r in shown.report.residencies if r.memory == memory]
        columns = [shown.columns(stay) for stay in self.stays]
        self._left = np.array([left for left, _ in columns], dtype=np.int64)
        self._right = np.array([right for _, right in columns], dtype=np.int64)
        self._spans = [(i, span) for i, stay in enumerate(self.stays) for span in stay.spans]
        self.bundled = bool(shown.groups)
        size = shown.graph.size_bytes
        self._beside = {
            name: max(op.parameters, key=size)
            for op in shown.graph.operators
            for name in op.parameters
        }

    def count(self, start: float, stop: float) -> int:
        """How many stays there are in a window of steps."""
        return int(self._inside(start, stop).sum())

    @property
    def densest(self) -> int:
        """The most stays in any one step."""
        change = np.zeros(self.shown.steps + 1, dtype=np.int64)
        np.add.at(change, self._left, 1)
        np.add.at(change, self._right, -1)
        return int(change.cumsum().max())

    def rows(self, start: float, stop: float) -> list[Row]:
        """A row for each span of each stay in a window."""
        inside = np.flatnonzero(self._inside(start, stop))
        return [
            self._row(int(i), (span.start, span.stop))
            for i in inside
            for span in self.stays[i].spans
        ]

    @cached_property
    def boxes(self) -> Boxes:
        """All rectangles as columns, with the number of each one's look."""
        of = np.array([i for i, _ in self._spans], dtype=np.int64)
        bottom, top = ([getattr(span, end) for _, span in self._spans] for end in ("start", "stop"))
        looks = {kind: number for number, kind in enumerate(STAYS)}
        kinds = np.array([looks[self._kind(stay)] for stay in self.stays], dtype=np.int64)
        low, high = (np.array(ends, dtype=np.int64) for ends in (bottom, top))
        return Boxes(self._left[of], self._right[of], low, high, kinds[of])

    @property
    def looks(self) -> list[tuple[str, str, str]]:
        """The look of each number: colour, hatch and name."""
        return [(colour, hatch, name) for name, (colour, hatch, _) in STAYS.items()]

    def row(self, box: int) -> Row:
        """The row of a rectangle."""
        i, span = self._spans[box]
        return self._row(i, (span.start, span.stop))

    def of(self, names: Container[str]) -> list[int]:
        """The rectangles of some tensors."""
        return [k for k, (i, _) in enumerate(self._spans) if self.stays[i].tensor in names]

    def placed(self, row: Row) -> Row:
        """A row that stands for several, given by the steps of the axis: these are its own."""
        return row

    @cached_property
    def bundles(self) -> list[Row]:
        """A row for each line buffer, parameter and so on of each group: all stays, bundled."""
        bundles: dict[tuple[int, str], list[int]] = {}
        starts = [group.start_step for group in self.shown.groups]
        group_of = np.searchsorted(starts, self._left, side="right") - 1
        for i, stay in enumerate(self.stays):
            group = max(0, int(group_of[i]))
            bundles.setdefault((group, self._bundle(group, stay)), []).append(i)
        return [self._of_bundle(name, members) for (_, name), members in bundles.items()]

    def _inside(self, start: float, stop: float) -> Any:
        return (self._left < stop) & (self._right > start)

    def _kind(self, stay: sp.Residency) -> str:
        return stay_of(stay.origin, stay.ending, stay.tensor in self.shown.graph.outputs)

    def _row(self, i: int, where: tuple[int, int]) -> Row:
        stay = self.stays[i]
        place = int(self._left[i]), int(self._right[i])
        row = row_of(place, where, self._kind(stay), stay.tensor)
        row["what"] = describe(self.shown, stay.tensor)
        row["size"] = format_bytes(stay.size_bytes)
        return {**row, "ending": stay.ending, "origin": stay.origin}

    def _bundle(self, group: int, stay: sp.Residency) -> str:
        """The name a stay is bundled under: its tensor, or the largest parameter of its operator,
        whose channels lie side by side with those of the others."""
        if stay.tensor in self.shown.groups[group].refilled:
            return REFILLED
        return self._beside.get(stay.tensor, stay.tensor)

    def _of_bundle(self, name: str, found: Sequence[int]) -> Row:
        stays = [self.stays[i] for i in found]
        spans = [span for stay in stays for span in stay.spans]
        place = int(self._left[found].min()), int(self._right[found].max())
        bytes_ = min(span.start for span in spans), max(span.stop for span in spans)
        kinds = {self._kind(stay) for stay in stays}
        kind = next(kind for kind in ("output", "came back", "leaves", *STAYS) if kind in kinds)
        row = row_of(place, bytes_, kind, name)
        row["what"] = describe(self.shown, name) if name != REFILLED else "weight tiles"
        row["size"] = f"{len(found)} pieces in {format_bytes(bytes_[1] - bytes_[0])}"
        row["story"] = f"{row['story']}; {MANY}" if len(found) > 1 else row["story"]
        return row


def row_of(steps: tuple[int, int], where: tuple[int, int], stay: str, tensor: str) -> Row:
    """A rectangle over steps and addresses."""
    colour, hatch, story = STAYS[stay]
    (left, right), (bottom, top) = steps, where
    return {
        "left": left,
        "right": right,
        "bottom": bottom,
        "top": top,
        "colour": colour,
        "hatch": hatch,
        "tensor": tensor,
        "what": "",
        "size": "",
        "address": f"{bottom:#x} – {top:#x} ({format_bytes(bottom)})",
        "steps": f"steps {left + 1} – {right}",
        "story": story,
        "label_x": (left + right) / 2,
        "label_y": (bottom + top) / 2,
        "stay": stay,
        "ending": "",
        "origin": "",
    }


def map_marks(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Triangles: up where something leaves the chip, down where it comes back."""
    marks: dict[str, list[Any]] = {"x": [], "y": [], "angle": [], "colour": []}

    def add(x: float, row: Row, angle: float, stay: str) -> None:
        marks["x"].append(x)
        marks["y"].append(row["label_y"])
        marks["angle"].append(angle)
        marks["colour"].append(STAYS[stay][0])

    for row in rows:
        if row["origin"] == "retrieve":
            add(row["left"], row, 3.141592653589793, "came back")
        if row["ending"] in ("spill", "drop"):
            add(row["right"], row, 0.0, "leaves")
    return marks


def describe(shown: Shown, tensor: str) -> str:
    """Kind and shape of a tensor."""
    spec = shown.graph.tensors[tensor]
    return f"{spec.kind} {'×'.join(map(str, spec.shape)) or 'scalar'} {spec.dtype}"
