"""The pieces of a tensor that are on chip, in the order in which they came, found by a box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from planners.core.boxes import meet
from planners.core.program import Box, Operand

FEW = 24
"""So many are asked one by one."""


class PiecesInOrder:
    """Of many, those that meet a box are found in a table of all their boxes."""

    def __init__(self, operands: Iterable[Operand] = ()) -> None:
        self._operands = list(operands)
        self._bounds = np.zeros((0, 0, 2), dtype=np.int64)
        self._known = 0  # Of the operands, those whose boxes are in the table.

    def __len__(self) -> int:
        return len(self._operands)

    def __iter__(self) -> Iterator[Operand]:
        return iter(self._operands)

    def append(self, operand: Operand) -> None:
        self._operands.append(operand)

    def insert(self, at: int, operands: Iterable[Operand]) -> None:
        """Put more in front of the one at a position."""
        self._operands[at:at] = operands
        self._known = min(self._known, at)

    def cut(self, at: int) -> None:
        """Leave those at a position and after it out."""
        del self._operands[at:]
        self._known = min(self._known, at)

    def meeting(self, box: Box) -> list[Operand]:
        """Those with an element in a box."""
        if len(self) < FEW:
            return [operand for operand in self._operands if meet(operand.piece.box, box)]
        self._learn(len(box))
        wanted = np.array(box, dtype=np.int64).reshape(len(box), 2)
        bounds = self._bounds[: len(self)]
        there = (bounds[:, :, 0] < wanted[:, 1]) & (wanted[:, 0] < bounds[:, :, 1])
        return [self._operands[at] for at in np.flatnonzero(there.all(axis=1))]

    def _learn(self, axes: int) -> None:
        """Put the boxes of all into the table, which grows by doubling."""
        count = len(self)
        if count > len(self._bounds):
            bounds = np.zeros((2 * count, axes, 2), dtype=np.int64)
            if self._known:
                bounds[: self._known] = self._bounds[: self._known]
            self._bounds = bounds
        if self._known < count:
            boxes = [operand.piece.box for operand in self._operands[self._known :]]
            self._bounds[self._known : count] = np.array(boxes).reshape(len(boxes), axes, 2)
            self._known = count
