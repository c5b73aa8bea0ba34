"""Small programs by hand, over pieces: rows in rings, segments in a pool, streamed layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

import planners as sp
from planners.core.loops import LoopedInstructions
from planners.core.machine import load_machine
from planners.core.plan import Claims, Plan
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
)
from planners.simulator.check import replay

HOST = Memory("host", None, offchip=True, addressed=False)


def plan_of(graph: sp.Graph, program: Program, budget_bytes: int) -> Plan:
    """A plan whose claims are what a replay finds."""
    report = replay(graph, program)
    claims = Claims(
        status="feasible",
        objective_bytes=report.noncompulsory_bytes,
        bound_bytes=0,
        compulsory_bytes=report.compulsory_bytes,
        noncompulsory_bytes=report.noncompulsory_bytes,
        peak_bytes=report.peak_bytes,
        extent_bytes=report.extent_bytes,
        plan_s=0.0,
        solver="by hand",
    )
    return Plan("hand", graph, load_machine("npu_small"), budget_bytes, program, claims)


def home(graph: sp.Graph, piece: Piece, memory: str = "host") -> Region:
    return Region(memory, None, piece_bytes(graph, piece))


def at(graph: sp.Graph, piece: Piece, memory: str, offset: int) -> Operand:
    return Operand(piece, Region(memory, offset, piece_bytes(graph, piece)))


class RowsInRings:
    """Two 3×3 convolutions fused row by row: each tensor rolls through a line buffer.

    The line buffers are circular windows of one scratchpad; the first holds rows of the input,
    the second rows between the convolutions, the third the row that goes out.
    """

    height, width, channels = 7, 5, 2

    def __init__(self, rows_held: int = 3) -> None:
        c = self.channels
        self.module = torch.nn.Sequential(
            torch.nn.Conv2d(c, c, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(c, c, 3, padding=1),
        ).eval()
        self.inputs = (torch.randn(1, c, self.height, self.width),)
        self.graph = sp.from_torch(self.module, self.inputs)
        self.row_bytes = c * self.width
        self.rows_held = rows_held

    @property
    def budget_bytes(self) -> int:
        return self.row_bytes * (2 * self.rows_held + 1)

    def row(self, tensor: str, y: int) -> Operand:
        piece = Piece(tensor, ((0, 1), (0, self.channels), (y, y + 1), (0, self.width)))
        # Addresses count on; the ring wraps them.
        return at(self.graph, piece, f"rows of {tensor}", y * self.row_bytes)

    def program(self) -> Program:
        first, second = self.graph.operators
        names = (*first.inputs, *first.outputs, *second.outputs)
        sizes = (self.rows_held, self.rows_held, 1)
        memories = [Memory("scratchpad", self.budget_bytes), HOST]
        base = 0
        for name, rows in zip(names, sizes, strict=True):
            ring = rows * self.row_bytes
            memories.append(Memory(f"rows of {name}", ring, True, parent="scratchpad", base=base))
            base += ring
        return Program(
            tuple(memories),
            LoopedInstructions(self.instructions),
            {"input": "host", "output": "host"},
            tuple(f"row {y}" for y in range(self.height + 2)),
        )

    def instructions(self) -> Iterable[Instruction]:
        first, second = self.graph.operators
        (x,), (mid,), (out,) = first.inputs, first.outputs, second.outputs
        for step in range(self.height + 2):
            if step < self.height:
                piece, region = self.row(x, step)
                yield Load(step, piece, home(self.graph, piece), region)
            if 0 <= step - 1 < self.height:
                yield from self.convolve(step, first, x, mid, step - 1)
            if 0 <= step - 2 < self.height:
                yield from self.convolve(step, second, mid, out, step - 2)
                piece, region = self.row(out, step - 2)
                yield Store(step, piece, region, home(self.graph, piece))
                yield Release(step, piece, region)

    def convolve(
        self, step: int, op: sp.Operator, source: str, target: str, y: int
    ) -> Iterable[Instruction]:
        """One row; the highest row of its window has then been read for the last time."""
        window = range(max(0, y - 1), min(self.height, y + 2))
        reads = tuple(self.row(source, row) for row in window)
        yield Compute(step, op.name, reads, (self.row(target, y),), op.macs // self.height)
        if y - 1 >= 0:
            yield Release(step, *self.row(source, y - 1))
        if y == self.height - 1:
            yield Release(step, *self.row(source, y))


class SegmentsInPool:
    """A pointwise convolution whose output chases its input through one circular pool (vMCU).

    Segments are the channels of a pixel. Output pixel i is written `distance` bytes before input
    pixel i, which its own instruction frees; the pool holds the input and `distance` bytes more.
    """

    pixels, c_in, c_out = 6, 3, 4

    def __init__(self, distance: int | None = None, spare: int = 0) -> None:
        self.module = torch.nn.Conv2d(self.c_in, self.c_out, 1).eval()
        self.inputs = (torch.randn(1, self.c_in, 1, self.pixels),)
        self.graph = sp.from_torch(self.module, self.inputs)
        need = (self.c_out - self.c_in) * (self.pixels - 1)
        self.distance = need if distance is None else distance
        self.pool = max(self.c_in * self.pixels + need, self.c_out * self.pixels) + spare

    def segment(self, tensor: str, channels: int, pixel: int, start: int) -> Operand:
        piece = Piece(tensor, ((0, 1), (0, channels), (0, 1), (pixel, pixel + 1)))
        return at(self.graph, piece, "pool", (start + pixel * channels) % self.pool)

    def program(self) -> Program:
        return Program(
            (Memory("pool", self.pool, circular=True, level="scratchpad"), HOST),
            tuple(self.instructions()),
            {"input": "host", "output": "host"},
            ("load", *(f"pixel {i}" for i in range(self.pixels)), "store"),
        )

    def instructions(self) -> Iterable[Instruction]:
        (op,) = self.graph.operators
        start = 5  # Anywhere: the pool is a ring.
        source = [self.segment(op.inputs[0], self.c_in, i, start) for i in range(self.pixels)]
        target = [
            self.segment(op.outputs[0], self.c_out, i, start - self.distance)
            for i in range(self.pixels)
        ]
        for piece, region in source:
            yield Load(0, piece, home(self.graph, piece), region)
        for i in range(self.pixels):
            macs = op.macs // self.pixels
            yield Compute(i + 1, op.name, (source[i],), (target[i],), macs, frees=(0,))
        for piece, region in target:
            yield Store(self.pixels + 1, piece, region, home(self.graph, piece))
            yield Release(self.pixels + 1, piece, region)


class StreamedLayers:
    """Three linear layers whose parameters come from storage through a ring, layer by layer.

    The second layer's weights are read in two slices of its output channels.
    """

    width = 4

    def __init__(self) -> None:
        layers = [torch.nn.Linear(self.width, self.width, bias=False) for _ in range(3)]
        self.module = torch.nn.Sequential(*layers).eval()
        self.inputs = (torch.randn(1, self.width),)
        self.graph = sp.from_torch(self.module, self.inputs)
        self.layer_bytes = self.width * self.width
        self.ring = 2 * self.layer_bytes

    def slices(self, layer: int) -> list[tuple[int, int]]:
        half = self.width // 2
        return [(0, half), (half, self.width)] if layer == 1 else [(0, self.width)]

    def program(self) -> Program:
        memories = (
            Memory("scratchpad", self.ring + 2 * self.width),
            Memory("ring", self.ring, True, parent="scratchpad"),
            Memory("maps", 2 * self.width, parent="scratchpad", base=self.ring),
            Memory("storage", None, offchip=True, addressed=False),
            HOST,
        )
        homes = {"input": "host", "output": "host", "parameter": "storage"}
        return Program(memories, tuple(self.instructions()), homes, ("1", "2", "3"))

    def map_at(self, tensor: str, layer: int, box: Box) -> Operand:
        piece = Piece(tensor, box)
        return at(self.graph, piece, "maps", layer % 2 * self.width + box[1][0])

    def instructions(self) -> Iterable[Instruction]:
        everything = (0, self.width)
        x = self.map_at(self.graph.inputs[0], 0, ((0, 1), everything))
        yield Load(0, x.piece, home(self.graph, x.piece), x.region)
        current: tuple[Operand, ...] = (x,)
        for layer, op in enumerate(self.graph.operators):
            made = []
            for start, stop in self.slices(layer):
                weights = Piece(op.parameters[0], ((start, stop), everything))
                offset = layer * self.layer_bytes + start * self.width
                operand = at(self.graph, weights, "ring", offset)
                source = home(self.graph, weights, "storage")
                yield Load(layer, weights, source, operand.region, engine="storage")
                out = self.map_at(op.outputs[0], layer + 1, ((0, 1), (start, stop)))
                macs = op.macs * (stop - start) // self.width
                yield Compute(layer, op.name, (*current, operand), (out,), macs)
                yield Release(layer, *operand)
                made.append(out)
            for operand in current:
                yield Release(layer, *operand)
            current = tuple(made)
        (out,) = current
        yield Store(2, out.piece, out.region, home(self.graph, out.piece))
        yield Release(2, *out)


EXAMPLES: tuple[type[Any], ...] = (RowsInRings, SegmentsInPool, StreamedLayers)


def budget_of(program: Program) -> int:
    return sum(m.size_bytes or 0 for m in program.memories if m.addressed and m.parent is None)
