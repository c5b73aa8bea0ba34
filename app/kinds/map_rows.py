"""The rectangles of the address map: each stay in a window, or bundles where there are too many."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from app.display.detail import Boxes
from app.display.displayed_plan import DisplayedPlan
from app.display.names import tensor_path, tensor_text
from planners.core.colours import STAYS, stay_of
from planners.core.tables.distinct import distinct
from planners.core.tables.table import Numbers
from planners.core.units import format_bytes
from planners.simulator.records.residency_columns import ENDINGS, ORIGINS

REFILLED = "parameters, loaded in turn"
MANY = "too many to tell apart"
Row = dict[str, Any]


class MapRows:
    """The map's rectangles of a memory, by the steps that are in sight."""

    strips = False

    def __init__(self, shown: DisplayedPlan, memory: str) -> None:
        self.shown = shown
        every = shown.residency_columns
        number = every.memories.index(memory) if memory in every.memories else -1
        self._stays = np.flatnonzero(every.memory == number)
        self._columns = every.at(self._stays)
        self._left, self._right = (side[self._stays] for side in shown.sides)
        self._of = np.repeat(np.arange(len(self._stays)), np.diff(self._columns.first))
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
        return [self.row(int(k)) for k in np.flatnonzero(self._inside(start, stop)[self._of])]

    @cached_property
    def boxes(self) -> Boxes:
        """All rectangles as columns, with the number of each one's look."""
        of, residencies = self._of, self._columns
        looks = {kind: number for number, kind in enumerate(STAYS)}
        every, which = distinct(residencies.tensor, residencies.origin, residencies.ending)
        kinds = np.array([looks[self._kind(*each)] for each in every.tolist()], dtype=np.int64)
        low, high = residencies.span_start, residencies.span_stop
        return Boxes(self._left[of], self._right[of], low, high, kinds[which][of])

    @property
    def looks(self) -> list[tuple[str, str, str]]:
        """The look of each number: colour, hatch and name."""
        return [(colour, hatch, name) for name, (colour, hatch, _) in STAYS.items()]

    def row(self, box: int) -> Row:
        """The row of a rectangle."""
        where = int(self._columns.span_start[box]), int(self._columns.span_stop[box])
        return self._row(int(self._of[box]), where)

    def of_tensors(self, names: Container[str]) -> list[int]:
        """The rectangles of some tensors."""
        those = np.array([name in names for name in self._columns.tensors], dtype=np.bool_)
        boxes: list[int] = np.flatnonzero(those[self._columns.tensor][self._of]).tolist()
        return boxes

    def placed(self, row: Row) -> Row:
        """A row that stands for several, given by the steps of the axis: these are its own."""
        return row

    @cached_property
    def bundles(self) -> list[Row]:
        """A row for each line buffer, parameter and so on of each group: all stays, bundled."""
        bundles: dict[tuple[int, str], list[Any]] = {}
        starts = [group.start_step for group in self.shown.groups]
        group_of = np.maximum(np.searchsorted(starts, self._left, side="right") - 1, 0)
        every, which = distinct(group_of, self._columns.tensor)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(every) + 1))
        in_order = sorted(range(len(every)), key=lambda at: int(order[bounds[at]]))
        for at in in_order:
            group, tensor = every[at].tolist()
            name = self._bundle(group, self._columns.tensors[tensor])
            bundles.setdefault((group, name), []).append(order[bounds[at] : bounds[at + 1]])
        return [
            self._of_bundle(name, np.sort(np.concatenate(members)))
            for (_, name), members in bundles.items()
        ]

    def _inside(self, start: float, stop: float) -> Any:
        return (self._left < stop) & (self._right > start)

    def _kind(self, tensor: int, origin: int, ending: int) -> str:
        """Of a tensor and of how a stay begins and ends, by their numbers."""
        name = self._columns.tensors[tensor]
        return stay_of(ORIGINS[origin], ENDINGS[ending], name in self.shown.graph.outputs)

    def _kind_of(self, i: int) -> str:
        residencies = self._columns
        return self._kind(
            int(residencies.tensor[i]), int(residencies.origin[i]), int(residencies.ending[i])
        )

    def _row(self, i: int, where: tuple[int, int]) -> Row:
        residency = self.shown.report.residencies[int(self._stays[i])]
        place = int(self._left[i]), int(self._right[i])
        row = row_of(place, where, self._kind_of(i), residency.tensor)
        row["what"] = describe(self.shown, residency.tensor)
        row["size"] = format_bytes(residency.size_bytes)
        return {**row, "ending": residency.ending, "origin": residency.origin}

    def _bundle(self, group: int, tensor: str) -> str:
        """The name a stay is bundled under: its tensor, or the largest parameter of its operator,
        whose channels lie side by side with those of the others."""
        if tensor in self.shown.groups[group].refilled:
            return REFILLED
        return self._beside.get(tensor, tensor)

    def _of_bundle(self, name: str, found: Numbers) -> Row:
        residencies = self._columns.at(found)
        place = int(self._left[found].min()), int(self._right[found].max())
        bytes_ = int(residencies.span_start.min()), int(residencies.span_stop.max())
        every, _ = distinct(residencies.tensor, residencies.origin, residencies.ending)
        kinds = {self._kind(*each) for each in every.tolist()}
        kind = next(kind for kind in ("output", "came back", "leaves", *STAYS) if kind in kinds)
        row = row_of(place, bytes_, kind, name)
        row["what"] = describe(self.shown, name) if name != REFILLED else "weight tiles"
        row["size"] = f"{len(found)} pieces in {format_bytes(bytes_[1] - bytes_[0])}"
        row["story"] = f"{row['story']}; {MANY}" if len(found) > 1 else row["story"]
        return row


def row_of(steps: tuple[int, int], where: tuple[int, int], residency: str, tensor: str) -> Row:
    """A rectangle over steps and addresses."""
    colour, hatch, story = STAYS[residency]
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
        "stay": residency,
        "ending": "",
        "origin": "",
    }


def map_marks(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Triangles: up where something leaves the chip, down where it comes back."""
    marks: dict[str, list[Any]] = {"x": [], "y": [], "angle": [], "colour": []}

    def add(x: float, row: Row, angle: float, residency: str) -> None:
        marks["x"].append(x)
        marks["y"].append(row["label_y"])
        marks["angle"].append(angle)
        marks["colour"].append(STAYS[residency][0])

    for row in rows:
        if row["origin"] == "retrieve":
            add(row["left"], row, 3.141592653589793, "came back")
        if row["ending"] in ("spill", "drop"):
            add(row["right"], row, 0.0, "leaves")
    return marks


def describe(shown: DisplayedPlan, tensor: str) -> str:
    """Kind and shape of a tensor, and the module that makes it."""
    path = tensor_path(shown.graph, tensor)
    maker = f", made by {path}" if path != tensor else ""
    return f"{tensor_text(shown.graph, tensor)}{maker}"
