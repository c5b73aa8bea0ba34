"""A model of the Jetson AGX Xavier with a 980 PRO drive: fitted to published figures, not measured.

The paper prints no times of single layers. These formulas give times to its five networks whose
delays, pipeline by pipeline, are those of its Table II within three points, and 160 ms to YOLOv4
preloaded, with layers as its Table I counts them (`planners.papers.demand_layering.study`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planners.core.graph import Graph
from planners.core.program import Piece, piece_bytes
from planners.streaming.model.layers import Layer, Unit

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

    def of(
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
