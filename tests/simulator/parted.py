"""Programs by hand whose pieces are made in parts: blocks of rows and channels in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

import planners as sp
from planners.core.access import needs, share_of_macs
from planners.core.boxes import common
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Release,
    Store,
)
from tests.simulator.programs import HOST, at, home
from tests.simulator.summed import split


class PartedLayers:
    """Layers one after the other, each in pieces of rows that are made in parts, in any order.

    An instruction makes some channels of some rows of several pieces at once. The pieces lie in a
    ring that begins anywhere, go to host when the layer is done and come back whole.
    """

    def __init__(
        self, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], seed: int
    ) -> None:
        self.module, self.inputs = module.eval(), inputs
        self.graph = sp.from_torch(module, inputs)
        self.rng = random.Random(seed)
        self.start = self.rng.randrange(self.budget_bytes)
        self.instructions = list(self._layers())

    @property
    def budget_bytes(self) -> int:
        """Enough for everything at once: nothing here tries to be tight."""
        return sum(self.graph.size_bytes(name) for name in self.graph.tensors)

    def program(self) -> Program:
        homes = dict.fromkeys(("input", "output", "parameter"), "host")
        steps = tuple(op.name for op in self.graph.operators)
        memories = (Memory("scratchpad", self.budget_bytes, circular=True), HOST)
        return Program(memories, tuple(self.instructions), homes, steps)

    def _layers(self) -> Iterator[Instruction]:
        for step, op in enumerate(self.graph.operators):
            read = []
            for name in (*op.inputs, *op.parameters):
                shape = self.graph.tensors[name].shape
                piece = Piece(name, tuple((0, n) for n in shape))
                read.append(self._at(piece))
                yield Load(step, piece, home(self.graph, piece), read[-1].region)
            pieces = list(self._pieces(op))
            for box in self._blocks(op):
                yield self._part(step, op, tuple(read), pieces, box)
            for piece, region in pieces:
                yield Store(step, piece, region, home(self.graph, piece))
            for operand in (*pieces, *read):
                yield Release(step, *operand)

    def _part(
        self,
        step: int,
        op: sp.Operator,
        read: tuple[Operand, ...],
        pieces: list[Operand],
        box: Box,
    ) -> Compute:
        """What of the pieces lies in a box."""
        (out,) = op.outputs
        both = [(operand, common(operand.piece.box, box)) for operand in pieces]
        made = [(operand, part) for operand, part in both if part]
        macs = sum(share_of_macs(self.graph, op, out, part) for _, part in made)
        wanted = {name for name, _ in needs(self.graph, op, out, box)}
        return Compute(
            step,
            op.name,
            tuple(operand for operand in read if operand.piece.tensor in wanted),
            tuple(operand for operand, _ in made),
            macs,
            parts=tuple(part for _, part in made),
        )

    def _pieces(self, op: sp.Operator) -> Iterator[Operand]:
        """Pieces of rows, one after the other."""
        (out,) = op.outputs
        shape = self.graph.tensors[out].shape
        offset = self._base(out)
        for lines in split(shape[2], self.rng):
            box: Box = tuple(lines if i == 2 else (0, n) for i, n in enumerate(shape))
            operand = at(self.graph, Piece(out, box), "scratchpad", offset)
            offset += operand.region.size_bytes
            yield operand

    def _blocks(self, op: sp.Operator) -> list[Box]:
        """Blocks of rows and channels that cross the pieces, in any order."""
        shape = self.graph.tensors[op.outputs[0]].shape
        found = [
            tuple({1: channels, 2: lines}.get(i, (0, n)) for i, n in enumerate(shape))
            for channels in split(shape[1], self.rng)
            for lines in split(shape[2], self.rng)
        ]
        self.rng.shuffle(found)
        return found

    def _at(self, piece: Piece) -> Operand:
        return at(self.graph, piece, "scratchpad", self._base(piece.tensor))

    def _base(self, name: str) -> int:
        """Every tensor has its own place, which may go around the ring's end."""
        before = list(self.graph.tensors)[: list(self.graph.tensors).index(name)]
        return self.start + sum(self.graph.size_bytes(other) for other in before)
