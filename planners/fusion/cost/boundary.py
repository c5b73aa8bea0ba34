"""What an operator reads and writes of the tensors around it, for bounds on what must cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planners.core.access import detailed
from planners.core.graph import Graph, Operator
from planners.fusion.tile.axes import RowWindow, channels_of, columns_of, rows_of
from planners.fusion.tile.cuts import channels_read
from planners.fusion.tile.rows import OperatorRows, RowTables


class BoundaryRead(NamedTuple):
    """A tensor by number, the bytes that are read of it at least, and who makes it as a mask."""

    tensor: int
    size_bytes: int
    maker: int


class Made(NamedTuple):
    """A tensor that is made: its bytes, and who reads it as a mask."""

    size_bytes: int
    readers: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """The tensors around one operator."""

    parameters: int
    read: tuple[BoundaryRead, ...]
    made: tuple[Made, ...]

    @staticmethod
    def around_operator(graph: Graph, member: OperatorRows, number: Mapping[str, int]) -> Crossing:
        """What crosses around an operator alone; tensors are numbered by `number`."""
        read = tuple(
            BoundaryRead(
                number[window.tensor],
                _read_bytes(graph, member, k),
                1 << graph.producer[window.tensor] if window.tensor in graph.producer else 0,
            )
            for k, window in enumerate(member.windows)
        )
        outputs = []
        for name in member.op.outputs:
            readers = sum(1 << i for i in graph.consumers[name])
            if name in graph.outputs:
                readers |= 1 << len(graph.operators)
            outputs.append(Made(graph.size_bytes(name), readers))
        return Crossing(member.parameter_bytes, read, tuple(outputs))


def least_read_bytes(graph: Graph, op: Operator, tensor: str) -> int:
    """Bytes of an input that an operator loads at least, however it runs."""
    member = RowTables(graph, columns=True)[graph.index[op.name]]
    return _read_bytes(graph, member, op.inputs.index(tensor))


def _read_bytes(graph: Graph, member: OperatorRows, k: int) -> int:
    """Bytes of an input that are loaded at least: of rows, and of columns where they are apart."""
    tensor = graph.tensors[member.windows[k].tensor]
    size = graph.size_bytes(tensor.name) // rows_of(tensor)
    size *= _covered(member.windows[k], rows_of(tensor))
    if member.columns:
        size = size // columns_of(tensor) * _covered(member.columns[k], columns_of(tensor))
    if detailed(member.op):
        size = size // channels_of(tensor) * channels_read(graph, member.op, tensor.name)
    return size


def _covered(window: RowWindow, count: int) -> int:
    """How many are read: none before the first and past the last needed, nor between windows that
    follow each other."""
    reached = np.maximum.accumulate(np.concatenate(([0], window.upto[1:-1])))
    more = window.upto[1:] - np.maximum(reached, window.start[:-1])
    total = int(np.maximum(more, 0).sum())
    return min(total, count)
