"""Operators that run together row by row: rings of rows between them, as `Pull` has of pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planners.core.graph import Graph, Operator
from planners.overlap.kernels.candidates import BufferNeed, RunCandidate, ends
from planners.overlap.model.rows import (
    Span,
    TensorRows,
    blocks,
    in_place,
    lowest_left,
    row_distance,
    spans_read,
)
from planners.overlap.model.segments import Segments
from planners.overlap.model.separable import AnswersByLook, look, streams


def alone_in_rows(graph: Graph, position: int, rows: int) -> RunCandidate:
    """One operator that makes so many rows in an instruction."""
    op = graph.operators[position]
    by_input = {name: row_distance(graph, op, name, rows) for name in op.inputs}
    distances = {name: d for name, d in by_input.items() if d is not None}
    return RunCandidate("alone", (position,), op.inputs, op.outputs, (), distances, rows=rows)


def line_in_rows(graph: Graph, positions: Sequence[int], rows: int) -> RunCandidate | None:
    """Operators with rings of rows between them; None where they cannot run so.

    The last one makes so many rows in an instruction; the others, in one each, what that takes.
    """
    if not joins(graph, positions):
        return None
    reads, writes = ends(graph, positions)
    pull = RowPull(graph, positions, rows)
    needs = tuple(pull.need(op.outputs[0]) for op in pull.ops[:-1])
    distances = {name: pull.distance(name) for name in reads}
    return RunCandidate("line", tuple(positions), reads, writes, needs, distances, rows=rows)


def joins(graph: Graph, positions: Sequence[int]) -> bool:
    """Whether operators can run together: all stream, and the last one's output alone is left."""
    ops = [graph.operators[p] for p in positions]
    return all(streams(graph, op) for op in ops) and ends(graph, positions)[1] == ops[-1].outputs


_input_rows = AnswersByLook["InputRows"](20_000)


def row(graph: Graph, op: Operator, tensor: str) -> InputRows:
    """What an operator's rows read of one input; operators of equal looks share it."""
    key = (look(graph, op), op.inputs.index(tensor))
    return _input_rows.get(key, lambda: InputRows(graph, op, tensor))


class InputRows:
    """What the rows of an operator's output read of one input, row by row."""

    def __init__(self, graph: Graph, op: Operator, tensor: str) -> None:
        self.count = TensorRows(graph, tensor).count
        self.spans: list[Span] = list(spans_read(graph, op, 1)[op.inputs.index(tensor)])
        self.left = lowest_left(self.spans, self.count)
        self.upto = [0]
        for _, stop in self.spans:
            self.upto.append(max(self.upto[-1], stop))
        self.upto[-1] = self.count  # In the end all of it must have been made.


class RowPull:
    """How far each operator of a group is after each block of rows of the last one's output."""

    def __init__(self, graph: Graph, positions: Sequence[int], rows: int) -> None:
        self.graph = graph
        self.ops = [graph.operators[p] for p in positions]
        self.last = self.ops[-1]
        self.out = TensorRows(graph, self.last.outputs[0])
        self.blocks = blocks(self.out.count, rows)
        self.readers: dict[str, dict[str, InputRows]] = {}  # by tensor, then by the reader's output
        for op in self.ops:
            for name in op.inputs:
                self.readers.setdefault(name, {})[op.outputs[0]] = row(graph, op, name)
        self.made = self._made([0, *(stop for _, stop in self.blocks)])

    def _made(self, done: list[int]) -> dict[str, list[int]]:
        """The rows of each tensor that are made once so many of the last one's are."""
        rows_of = {self.out.tensor: done}
        for op in reversed(self.ops[:-1]):
            name = op.outputs[0]
            readers = self.readers[name].items()
            pulled = [[each.upto[n] for n in rows_of[c]] for c, each in readers]
            rows_of[name] = [max(each) for each in zip(*pulled, strict=True)]
        return rows_of

    def need(self, name: str) -> BufferNeed:
        """The ring that holds an inner tensor's rows from their making to their last read."""
        most = 1
        for number in range(len(self.blocks)):
            lowest = min(each.left[self.made[c][number]] for c, each in self.readers[name].items())
            # Rows that nothing reads are there too while they are made with others.
            lowest = min(lowest, self.made[name][number])
            most = max(most, self.made[name][number + 1] - lowest)
        pixels = Segments(self.graph, name)
        rows = TensorRows(self.graph, name).count
        return BufferNeed(name, min(most, rows) * (pixels.count // rows), pixels.size_bytes)

    def distance(self, name: str) -> int:
        """Bytes by which the output begins before a tensor that dies with the group, at least.

        A row lies in front of all that the row and later ones pull, so that pixels may be pulled
        one by one as well.
        """
        readers = dict(self.readers[name])
        of_last = readers.pop(self.out.tensor, None)
        rows_of = self._made(list(range(self.out.count)))
        d = 0
        for c, each in readers.items():
            pairs = ((r + 1, each.left[n]) for r, n in enumerate(rows_of[c]))
            d = max(d, self._most(name, pairs))
        if of_last is not None:
            begun = in_place(self.graph, self.last, name)
            pairs = ((start if begun else stop, of_last.left[start]) for start, stop in self.blocks)
            d = max(d, self._most(name, pairs))
        return d

    def _most(self, name: str, pairs: Iterable[tuple[int, int]]) -> int:
        """The most bytes from a row still read to the end of rows written, of such pairs."""
        out, source = self.out.size_bytes, TensorRows(self.graph, name)
        ahead = (end * out - low * source.size_bytes for end, low in pairs if low < source.count)
        return max(0, max(ahead, default=0))
