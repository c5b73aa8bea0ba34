"""A user's table of times: `layer,read_s,copy_s,kernel_s`, one row a layer, or one a sample.

The first column names an operator of the graph, every operator has a row; without parameters its
read and copy may be empty. A layer with several rows was measured several times: plans are made
with the median of each column, `planners.streaming.search.bound` takes the largest and draws from
them.
"""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.streaming.model.layers import Layer, Unit

COLUMNS = ("layer", "read_s", "copy_s", "kernel_s")


class OperatorTimes:
    """Times by operator: samples of (read, copy, kernel). Inputs and outputs take no time.

    A slice of an operator takes its share: of reads and copies by bytes, of kernels by MACs.
    """

    own = True

    def __init__(
        self, graph: Graph, samples: Mapping[str, Sequence[tuple[float, ...]]], title: str
    ) -> None:
        self.graph, self.samples, self.title = graph, samples, title

    def of(
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
    """The times of a graph's layers from a CSV file.

    Raises `BadInput` naming the line for a layer that is missing or unknown, and for a time that
    is negative or no number.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read times from {path}: {error}") from error
    if not rows or tuple(cell.strip() for cell in rows[0]) != COLUMNS:
        raise BadInput(f"{path}: the first line must be {','.join(COLUMNS)}")
    samples: dict[str, list[tuple[float, ...]]] = {}
    operators = {op.name: op for op in graph.operators}
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}, line {number}"
        if len(row) != len(COLUMNS):
            raise BadInput(f"{where}: {len(row)} cells, not {len(COLUMNS)}")
        name = row[0].strip()
        if name not in operators:
            near = difflib.get_close_matches(name, operators, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInput(f"{where}: {graph.name} has no layer {name!r:.60}{hint}")
        streams = bool(operators[name].parameters)
        cells = zip(COLUMNS[1:], row[1:], strict=True)
        samples.setdefault(name, []).append(
            tuple(_seconds(cell, f"{where}: {column}", streams) for column, cell in cells)
        )
    if missing := [name for name in operators if name not in samples]:
        raise BadInput(f"{path}: layer {missing[0]!r} is missing ({len(missing)} in all)")
    return OperatorTimes(graph, samples, f"table {Path(path).name}")


def _seconds(cell: str, where: str, streams: bool) -> float:
    text = cell.strip()
    if not text and not streams and not where.endswith("kernel_s"):
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Written so that NaN fails.
    if not 0 <= value < 1e9:
        raise BadInput(f"{where} must be seconds, zero or above, not {text!r:.40}")
    return value
