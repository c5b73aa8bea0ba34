"""Operators whose rows and columns are independent: what a pixel of the output reads of an operand
is what its row reads and what its column reads.

That holds of what works pixel by pixel or slides a window. All operands are asked for in one
question a row and one a column: a concatenation of thirty maps is not asked thirty times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from planners.core.access import detailed, is_local, needs
from planners.core.graph import Graph, Operator
from planners.core.relations import full

Table: TypeAlias = tuple[list[tuple[int, int]], list[tuple[int, int]]]
"""Rows and columns that are read, by row and by column of the output."""
Answer = TypeVar("Answer")


class AnswersByLook(Generic[Answer]):
    """What was asked of operators, by their looks and what else counts; emptied when it is full."""

    def __init__(self, most: int) -> None:
        self.most, self._answers = most, dict[Hashable, Answer]()

    def get(self, key: Hashable, ask: Callable[[], Answer]) -> Answer:
        """The answer under a key, asked for where it is not there."""
        if key not in self._answers:
            if len(self._answers) >= self.most:
                self.clear()
            self._answers[key] = ask()
        return self._answers[key]

    def clear(self) -> None:
        self._answers.clear()


_tables = AnswersByLook[list[Table]](5_000)


def look(graph: Graph, op: Operator) -> Hashable:
    """What an operator reads, and its distances, depend on this; it has no names."""
    names = (*op.inputs, *op.parameters, *op.outputs)
    shapes = tuple((graph.tensors[name].shape, graph.tensors[name].kind) for name in names)
    return (op.kind, op.slide, op.look, shapes, len(op.inputs), len(op.parameters))


def streams(graph: Graph, op: Operator) -> bool:
    """Whether rows and columns of the output read rows and columns of the operands, in order."""
    if len(op.outputs) != 1 or not op.inputs:
        return False
    tensors = [graph.tensors[name] for name in (*op.inputs, op.outputs[0])]
    if any(len(tensor.shape) != 4 or tensor.shape[0] != 1 for tensor in tensors):
        return False
    if not detailed(op):
        return is_local(graph, op, tensors[-1])
    words = {part.relation[:2] if part.relation else ("",) for part in op.parts}
    local = {"same", "channels", "window", "pad"}
    return all(word[0] in local or word == ("cat", 1) for word in words) and all(
        len(part.shape) == 4 for part in op.parts
    )


def rows_and_columns(graph: Graph, op: Operator) -> list[Table]:
    """What each row and each column of the output reads of each input, where it `streams`."""

    def ask() -> list[Table]:
        _, _, height, width = graph.tensors[op.outputs[0]].shape
        rows = [_axis(graph, op, 2, i) for i in range(height)]
        columns = [_axis(graph, op, 3, j) for j in range(width)]
        places = range(len(op.inputs))
        return [([row[k] for row in rows], [column[k] for column in columns]) for k in places]

    return _tables.get(look(graph, op), ask)


def _axis(graph: Graph, op: Operator, axis: int, at: int) -> list[tuple[int, int]]:
    """What all of a row or column reads of each input: of padding some pixels read nothing."""
    box = list(full(graph.tensors[op.outputs[0]].shape))
    box[axis] = (at, at + 1)
    read = dict(needs(graph, op, op.outputs[0], tuple(box)))
    return [read[name][axis] if name in read else (0, 0) for name in op.inputs]
