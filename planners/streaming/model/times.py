"""How long layers take: the machine's roofline, a model fitted to a machine, or a user's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from planners.core.engines import storage
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.machine import Machine, changed_numbers
from planners.core.program import (
    AddressSpace,
    Compute,
    Load,
    Memory,
    Operand,
    Piece,
    Region,
    Store,
    piece_bytes,
    whole,
)
from planners.core.times import GivenTimes, LayerTime
from planners.simulator.timing import Durations
from planners.streaming.model.layers import Layer, Unit
from planners.streaming.model.table import read_table

# ---- A model of the Jetson AGX Xavier with a 980 PRO drive, fitted to published figures
# The paper prints no times of single layers. These formulas give times to its five networks whose
# delays, pipeline by pipeline, are those of its Table II within three points, and 160 ms to
# YOLOv4 preloaded, with layers as its Table I counts them
# (`planners.papers.demand_layering.study`).

NAME = "jetson_xavier_980pro"
READ_S, READ_RATE = 0.225e-3, 5.57e9
COPY_S, COPY_RATE = 0.005e-3, 23.3e9
KERNEL_S = 0.095e-3
FLOP_RATE_3X3, FLOP_RATE = 0.946e12, 1.63e12
DRAM_RATE, WEIGHT_RATE = 48.7e9, 1.3e12
OUTPUT_SHARE = 1.07  # of an output's bytes at the DRAM's rate, behind the product itself
BESIDE_COPY, BESIDE_READ = 0.143, 0.014
"""How much of a copy (three stages) or of a read (two) is added to the kernel beside it."""


class Xavier:
    """Read, copy and kernel times by formulas; inputs and outputs are in the DRAM already."""

    own = True
    title = "model of the Jetson AGX Xavier with a 980 PRO, fitted to published figures"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def layers(
        self, units: Sequence[Unit], stages: int = 3, overlapped: bool = True
    ) -> tuple[Layer, ...]:
        return tuple(self._layer(unit, stages, overlapped) for unit in units)

    def _layer(self, unit: Unit, stages: int, overlapped: bool) -> Layer:
        size = unit.size_bytes
        read = READ_S + size / READ_RATE if size else 0.0
        copy = COPY_S + size / COPY_RATE if size else 0.0
        layer = Layer(unit.name, size, read, copy, self._kernel_s(unit))
        if not overlapped:
            return layer
        more = BESIDE_COPY * copy if stages == 3 else BESIDE_READ * read
        return replace(layer, kernel_s=layer.kernel_s + more)

    def _kernel_s(self, unit: Unit) -> float:
        op = self.graph.operators[unit.operator]
        inputs = sum(self.graph.size_bytes(name) for name in op.inputs)
        outputs = sum(self.graph.size_bytes(name) for name in op.outputs)
        if unit.part is not None:
            outputs = piece_bytes(self.graph, Piece(op.outputs[0], unit.part))
        if not unit.size_bytes:
            return (inputs + outputs) / DRAM_RATE
        rate = FLOP_RATE_3X3 if set(op.kernel) == {3} else FLOP_RATE
        weights = max((piece_bytes(self.graph, piece) for piece in unit.pieces), default=0)
        moved = (inputs + unit.size_bytes + outputs) / DRAM_RATE
        product = max(2 * unit.macs / rate, moved, weights / WEIGHT_RATE)
        return KERNEL_S + product + OUTPUT_SHARE * outputs / DRAM_RATE

    def input_s(self, tensor: str) -> float:
        return 0.0

    def output_s(self, tensor: str) -> float:
        return 0.0


# --------------------------------------------------------------------------------------------------

CPU_RING = "cpu ring"


class Times(Protocol):
    """Times of a network's layers, inputs and outputs on a machine, in seconds.

    `own`: they are not the machine's roofline, so a plan must carry them.
    """

    title: str
    own: bool

    def layers(
        self, units: Sequence[Unit], stages: int = 3, overlapped: bool = True
    ) -> tuple[Layer, ...]:
        """Layers in a pipeline of 3 stages, or of 2; `overlapped` where reads and copies run
        beside kernels, which may then take longer."""

    def input_s(self, tensor: str) -> float:
        """Seconds until an input of the network is on chip."""

    def output_s(self, tensor: str) -> float:
        """Seconds to store an output."""


class ParameterRoute:
    """Which memories and engines of a machine parameters pass through.

    They are read from `storage` where the machine has it, else from where its parameters live.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        engines = {engine.name for engine in machine.engines}
        self.source = storage(machine)
        self.read = "storage" if "storage" in engines else "dma_in"
        self.copy = "copy" if "copy" in engines else "dma_in"
        self.input, self.output = "dma_in", "dma_out"

    @property
    def two_rings(self) -> bool:
        """Whether reads and copies have engines of their own."""
        return self.read != self.copy

    def require(self, stages: int) -> None:
        """Raise `BadInput` where the machine cannot run three stages."""
        if stages == 3 and not self.two_rings:
            raise BadInput(
                f"machine {self.machine.name!r} has no engine 'storage': it cannot read and copy "
                "at once; choose pipeline 2s or 2s-md, or exact with stages 2"
            )


class Roofline:
    """The scoreboard's own times of the instructions that a plan is made of."""

    own = False

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph, self.machine, self.route = graph, machine, ParameterRoute(machine)
        self.title = f"roofline of {machine.name}"
        names = {machine.onchip, machine.offchip, self.route.source}
        memories = [Memory(name, None) for name in sorted(names)]
        memories.append(Memory(CPU_RING, None, level=machine.offchip))
        self.seconds = Durations(machine, AddressSpace(memories), graph)

    def layers(
        self, units: Sequence[Unit], stages: int = 3, overlapped: bool = True
    ) -> tuple[Layer, ...]:
        return tuple(self._layer(unit, stages) for unit in units)

    def _layer(self, unit: Unit, stages: int) -> Layer:
        route, onchip = self.route, self.machine.onchip
        first = CPU_RING if stages == 3 else onchip
        read = self._moved(unit, route.source, first, route.read)
        copy = self._moved(unit, CPU_RING, onchip, route.copy) if stages == 3 else 0.0
        op = self.graph.operators[unit.operator]
        operands = [Operand(p, Region(onchip, 0, self._bytes(p))) for p in unit.pieces]
        data = [Operand(p, Region(onchip, 0, self._bytes(p))) for p in map(self._whole, op.inputs)]
        outputs = [
            Operand(p, Region(onchip, 0, self._bytes(p))) for p in map(self._whole, op.outputs)
        ]
        parts = () if unit.part is None else (unit.part,)
        run = Compute(
            0, op.name, (*data, *operands), tuple(outputs), unit.macs, (), "compute", None, parts
        )
        return Layer(unit.name, unit.size_bytes, read, copy, self.seconds(run))

    def _moved(self, unit: Unit, source: str, target: str, engine: str) -> float:
        """A transfer of all pieces together, as the scoreboard adds it up."""
        total = 0.0
        for i, piece in enumerate(unit.pieces):
            size = self._bytes(piece)
            ends = Region(source, None, size), Region(target, 0, size)
            total += self.seconds(Load(0, piece, *ends, engine, joined=i > 0))
        return total

    def input_s(self, tensor: str) -> float:
        piece = self._whole(tensor)
        size = self._bytes(piece)
        home = Region(self.machine.offchip, None, size)
        return self.seconds(Load(0, piece, home, Region(self.machine.onchip, 0, size)))

    def output_s(self, tensor: str) -> float:
        piece = self._whole(tensor)
        size = self._bytes(piece)
        home = Region(self.machine.offchip, None, size)
        return self.seconds(Store(0, piece, Region(self.machine.onchip, 0, size), home))

    def _whole(self, tensor: str) -> Piece:
        return whole(self.graph.tensors[tensor])

    def _bytes(self, piece: Piece) -> int:
        return piece_bytes(self.graph, piece)


def given_times(
    graph: Graph, times: Times, units: Sequence[Unit], layers: Sequence[Layer]
) -> GivenTimes | None:
    """The times that a plan of these layers carries; None where they are the roofline."""
    if not times.own:
        return None
    rows = (
        LayerTime(
            graph.operators[unit.operator].name,
            layer.read_s,
            layer.copy_s,
            layer.kernel_s,
            unit.part,
        )
        for unit, layer in zip(units, layers, strict=True)
    )
    return GivenTimes(times.title, tuple(rows))


def times_of(graph: Graph, machine: Machine, source: str = "") -> Times:
    """The times of a graph on a machine.

    `source` is empty for what suits the machine best (its fitted model, as long as its numbers are
    those that were measured, else its roofline), `roofline`, or the path of a table
    (`planners.streaming.model.table`). Raises `BadInput`.
    """
    if source not in ("", "roofline"):
        return read_table(graph, source)
    if machine.name == NAME and not source and not changed_numbers(machine):
        return Xavier(graph)
    return Roofline(graph, machine)
