"""Programs by hand whose pieces are sums of parts: tiles of layers by input channels."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

import torch

import planners as sp
from planners.core.access import needs, reduced, share_of_macs
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

Range = tuple[int, int]


class SummedLayers:
    """Layers one after the other, each in tiles of rows and channels that are sums of parts.

    The parts of all tiles of a layer come in any order. Data lie on chip one channel a piece,
    a weight and what follows the sum come for each part; a tile goes to host when it is complete
    and comes back as channels. `frees`: a part ends its parameters' residencies itself.
    `types`: of tensors by name, each then counted as it is.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        inputs: tuple[torch.Tensor, ...],
        seed: int,
        *,
        frees: bool = True,
        types: Mapping[str, str] | None = None,
    ) -> None:
        self.module, self.inputs = module.eval(), inputs
        self.graph = sp.from_torch(module, inputs)
        if types is not None:
            tensors = {
                name: replace(tensor, dtype=types.get(name, tensor.dtype))
                for name, tensor in self.graph.tensors.items()
            }
            self.graph = replace(self.graph, tensors=tensors, bytes_per_element="native")
        self.rng = random.Random(seed)
        self.frees = frees
        self.instructions = list(self._layers())

    @property
    def budget_bytes(self) -> int:
        """Enough for everything at once: nothing here tries to be tight."""
        return sum(map(self._room, self.graph.tensors))

    def program(self) -> Program:
        homes = dict.fromkeys(("input", "output", "parameter"), "host")
        steps = tuple(op.name for op in self.graph.operators)
        memories = (Memory("scratchpad", self.budget_bytes), HOST)
        return Program(memories, tuple(self.instructions), homes, steps)

    def _layers(self) -> Iterator[Instruction]:
        for step, op in enumerate(self.graph.operators):
            channels = list(self._channels(op.inputs[0]))
            for data in channels:
                yield Load(step, data.piece, home(self.graph, data.piece), data.region)
            yield from self._layer(step, op, channels)
            for data in channels:
                yield Release(step, *data)

    def _layer(self, step: int, op: sp.Operator, data: list[Operand]) -> Iterator[Instruction]:
        parts = [
            (tile, sums)
            for tile in self._tiles(op)
            for sums in split(reduced(self.graph, op) or 0, self.rng)
        ]
        self.rng.shuffle(parts)
        left = [tile for tile, _ in parts]
        for tile, sums in parts:
            left.remove(tile)
            last = tile not in left
            yield from self._part(step, op, data, tile, sums, last)
            if last:
                yield Store(step, tile.piece, tile.region, home(self.graph, tile.piece))
                yield Release(step, *tile)

    def _part(
        self,
        step: int,
        op: sp.Operator,
        data: list[Operand],
        tile: Operand,
        sums: Range,
        last: bool,
    ) -> Iterator[Instruction]:
        out, box = tile.piece
        wanted = needs(self.graph, op, out, box, sums, last)
        parameters = []
        offset = self._base(op.parameters[0]) if op.parameters else 0
        for name, part in wanted:
            if name in op.parameters:
                operand = at(self.graph, Piece(name, part), "scratchpad", offset)
                offset += operand.region.size_bytes
                parameters.append(operand)
                yield Load(step, operand.piece, home(self.graph, operand.piece), operand.region)
        axis = self._axis(op.inputs[0])
        reads = [d for d in data if sums[0] <= d.piece.box[axis][0] < sums[1]]
        macs = share_of_macs(self.graph, op, out, box, sums)
        frees = tuple(range(len(reads), len(reads) + len(parameters))) if self.frees else ()
        size = self.graph.sum_bytes(op, tile.piece.elements)
        writes = (Operand(tile.piece, tile.region._replace(size_bytes=size)),)
        yield Compute(step, op.name, (*reads, *parameters), writes, macs, frees=frees, sums=sums)
        if not self.frees:
            for operand in parameters:
                yield Release(step, *operand)

    def _tiles(self, op: sp.Operator) -> Iterator[Operand]:
        """Tiles of rows (where there are any) and channels, one after the other in memory."""
        (out,) = op.outputs
        shape = self.graph.tensors[out].shape
        axis = len(shape) - 1 if op.kind == "linear" else 1
        rows = 2 if op.kind != "linear" else 0
        offset = self._base(out)
        for channels in split(shape[axis], self.rng):
            for lines in split(shape[rows], self.rng):
                cut = {axis: channels, rows: lines}
                box: Box = tuple(cut.get(i, (0, n)) for i, n in enumerate(shape))
                operand = at(self.graph, Piece(out, box), "scratchpad", offset)
                offset += self.graph.sum_bytes(op, operand.piece.elements)
                yield operand

    def _channels(self, name: str) -> Iterator[Operand]:
        shape = self.graph.tensors[name].shape
        axis = self._axis(name)
        size = self.graph.bytes_of(name, prod(shape) // shape[axis])
        for c in range(shape[axis]):
            box: Box = tuple((c, c + 1) if i == axis else (0, n) for i, n in enumerate(shape))
            yield at(self.graph, Piece(name, box), "scratchpad", self._base(name) + c * size)

    def _axis(self, name: str) -> int:
        """Where the channels of what an operator reads are."""
        (reader,) = (op for op in self.graph.operators if op.inputs == (name,))
        return len(self.graph.tensors[name].shape) - 1 if reader.kind == "linear" else 1

    def _base(self, name: str) -> int:
        """Every tensor has its own place."""
        before = list(self.graph.tensors)[: list(self.graph.tensors).index(name)]
        return sum(map(self._room, before))

    def _room(self, name: str) -> int:
        """Bytes kept for a tensor: while it is summed, those of its accumulators."""
        if name not in self.graph.producer:
            return self.graph.size_bytes(name)
        op = self.graph.operators[self.graph.producer[name]]
        return self.graph.sum_bytes(op, self.graph.tensors[name].elements)


def split(count: int, rng: random.Random) -> list[Range]:
    """A range cut at random places."""
    cuts = sorted({0, count, *(rng.randrange(count) for _ in range(rng.randint(0, 2)))})
    return list(zip(cuts, cuts[1:], strict=False))
