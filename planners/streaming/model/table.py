"""Layers with the times of a user's table (`planners.core.layer_times`).

Plans are made with the median of what was measured, `planners.streaming.search.bound` takes the
largest and draws from all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from planners.core.graph import Graph
from planners.core.layer_times import read_samples
from planners.streaming.model.layers import Layer, Unit


class OperatorTimes:
    """Times by operator: samples of (read, copy, kernel). Inputs and outputs take no time.

    A slice of an operator takes its share: of reads and copies by bytes, of kernels by MACs.
    """

    own = True

    def __init__(
        self, graph: Graph, samples: Mapping[str, Sequence[tuple[float, ...]]], title: str
    ) -> None:
        self.graph, self.samples, self.title = graph, samples, title

    def layers(
        self, units: Sequence[Unit], stages: int = 3, overlapped: bool = True
    ) -> tuple[Layer, ...]:
        return self._layers(units, stages, median)

    def largest(self, units: Sequence[Unit], stages: int = 3) -> tuple[Layer, ...]:
        """The longest that each was measured to take."""
        return self._layers(units, stages, max)

    def drawn(self, units: Sequence[Unit], stages: int) -> list[list[Layer]]:
        """All samples of each unit, as layers."""
        rows = [len(self.samples[self._name(unit)]) for unit in units]
        return [
            [self._layer(unit, stages, self.samples[self._name(unit)][i]) for i in range(count)]
            for unit, count in zip(units, rows, strict=True)
        ]

    def _layers(
        self, units: Sequence[Unit], stages: int, pick: Callable[[Sequence[float]], float]
    ) -> tuple[Layer, ...]:
        layers = []
        for unit in units:
            columns = zip(*self.samples[self._name(unit)], strict=True)
            layers.append(self._layer(unit, stages, [pick(column) for column in columns]))
        return tuple(layers)

    def _name(self, unit: Unit) -> str:
        return self.graph.operators[unit.operator].name

    def _layer(self, unit: Unit, stages: int, times: Sequence[float]) -> Layer:
        op = self.graph.operators[unit.operator]
        whole_bytes = sum(self.graph.size_bytes(name) for name in op.parameters)
        moved = unit.size_bytes / whole_bytes if whole_bytes else 0.0
        ran = 1.0 if unit.part is None else unit.macs / op.macs if op.macs else moved
        copy = times[1] * moved if stages == 3 else 0.0
        return Layer(unit.name, unit.size_bytes, times[0] * moved, copy, times[2] * ran)

    def input_s(self, tensor: str) -> float:
        return 0.0

    def output_s(self, tensor: str) -> float:
        return 0.0


def read_table(graph: Graph, path: str | Path) -> OperatorTimes:
    """The times of a graph's layers from a CSV file. Raises `BadInput` as `read_samples` does."""
    return OperatorTimes(graph, read_samples(graph, path), f"table {Path(path).name}")
