"""Tensors that stay on chip, whole, from group to group: their places, and how they come and go.

A tensor lies as blocks of rows, one after the other, like a line buffer of all its rows: any rows
of any channels that are made or loaded together are a piece of their own within it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from planners.core.boxes import meet
from planners.core.graph import Graph
from planners.core.loops import rolled
from planners.core.machine import Machine
from planners.core.program import (
    Box,
    Item,
    Load,
    Operand,
    Piece,
    Region,
    Release,
    Store,
    piece_bytes,
    whole,
)
from planners.fusion.tile.axes import channels_in, channels_of, images_of, rows_in, rows_of

# ---- The pieces of a tensor that are on chip, in the order in which they came, found by a box ----

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


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoundOnChip:
    """What a group finds on chip, by name: `at` are the addresses in bytes of what it holds.

    Before it begins some are `stored` and leave, some are `dropped`, and some are `loaded`, whole;
    after it some are `over`.
    """

    at: Mapping[str, int] = field(default_factory=dict)
    stored: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    over: tuple[str, ...] = ()


class Residents:
    """The pieces of all tensors that are on chip between groups.

    No instruction is written after `until_s`, in seconds of `time.perf_counter`.
    """

    def __init__(self, graph: Graph, machine: Machine, until_s: float = inf) -> None:
        self.graph, self.machine, self.until_s = graph, machine, until_s
        self.pieces: dict[str, PiecesInOrder] = defaultdict(PiecesInOrder)

    def come_and_go(self, stays: FoundOnChip, step: int) -> Iterator[Item]:
        """Before a group: what makes room leaves, and what it wants whole is loaded."""
        for tensor in stays.stored:
            yield from rolled(
                [
                    [Store(step, piece, region, home(self.graph, self.machine, piece))]
                    for piece, region in self.pieces[tensor]
                ]
            )
        for tensor in (*stays.stored, *stays.dropped):
            yield from self.leave(tensor, step)
        for tensor in stays.loaded:
            piece = whole(self.graph.tensors[tensor])
            region = self.place(piece, stays.at[tensor])
            yield Load(step, piece, home(self.graph, self.machine, piece), region)
            self.pieces[tensor].append(Operand(piece, region))

    def leave(self, tensor: str, step: int) -> Iterator[Item]:
        """Let all of a tensor go."""
        yield from rolled([[Release(step, *operand)] for operand in self.pieces.pop(tensor, ())])

    def uneven(self, tensor: str) -> bool:
        """Whether its pieces are of channels of more than one number, the last but one."""
        shape = self.graph.tensors[tensor]
        parts = sorted({channels_in(shape, piece.box) for piece, _ in self.pieces[tensor]})
        size = parts[0][1] - parts[0][0] if parts else 0
        return any(
            part != (k * size, min((k + 1) * size, channels_of(shape)))
            for k, part in enumerate(parts)
        )

    def place(self, piece: Piece, base: int, channels: tuple[int, int] | None = None) -> Region:
        """Where a piece lies in its tensor's place: some images', rows', columns', channels'."""
        tensor = self.graph.tensors[piece.tensor]
        size, start = piece_bytes(self.graph, piece), rows_in(tensor, piece.box)[0]
        first, last = piece.box[0] if len(tensor.shape) > 1 else (0, 1)
        images = images_of(tensor)
        image = self.graph.size_bytes(piece.tensor) // images
        at = base + first * image + start * (image // rows_of(tensor)) * (last - first)
        if len(piece.box) == 4:  # All channels of a band of columns after those of the last.
            rows = piece.box[2][1] - start
            left = piece.box[3][0] * rows * channels_of(tensor) * (last - first)
            at += self.graph.bytes_of(piece.tensor, left)
        if channels is not None:
            at += size // (channels[1] - channels[0]) * channels[0]
        return Region(self.machine.onchip, at, size)


def home(graph: Graph, machine: Machine, piece: Piece) -> Region:
    """Where a piece is off chip."""
    kind = graph.tensors[piece.tensor].kind
    memory = machine.parameters if kind == "parameter" else machine.offchip
    return Region(memory, None, piece_bytes(graph, piece))
