"""Tensors as rows and channels, and which rows of its inputs an operator needs for its own.

All of it is read off `planners.core.access`, so what is planned here is what `check` requires:
windows with stride, padding and dilation, t·S + K − S rows for t (Optimus, section 2.3).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planners.core.access import detailed, is_local, needs, needs_of_all, reduced
from planners.core.boxes import around
from planners.core.graph import Graph, Operator, Tensor
from planners.core.program import Box, Piece, piece_bytes, whole

Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes of a shape are images, rows and channels; None where it has none.

    N×C×H×W and N×C×D×H×W have rows along their third axis, N×T×F along its second.
    """

    row: int | None
    channel: int | None

    @staticmethod
    def of(shape: tuple[int, ...]) -> Axes:
        if len(shape) >= 4:
            return Axes(2, 1)
        return Axes(*{3: (1, 2), 2: (None, 1)}.get(len(shape), (None, None)))


def rows_of(tensor: Tensor) -> int:
    """Rows of a tensor: one where it has no axis of rows."""
    return _rows(tensor.shape)


@cache
def _rows(shape: tuple[int, ...]) -> int:
    axis = Axes.of(shape).row
    return 1 if axis is None else shape[axis]


def channels_of(tensor: Tensor) -> int:
    """Channels of a tensor: one where it has no axis of channels."""
    axis = Axes.of(tensor.shape).channel
    return 1 if axis is None else tensor.shape[axis]


def columns_of(tensor: Tensor) -> int:
    """Columns of a tensor: one where it has no axis of columns."""
    return tensor.shape[3] if len(tensor.shape) == 4 else 1


def box_of(
    tensor: Tensor,
    rows: tuple[int, int],
    channels: tuple[int, int] | None = None,
    images: tuple[int, int] | None = None,
    columns: tuple[int, int] | None = None,
) -> Box:
    """The box of these rows, of all channels, images and columns unless some are given."""
    axes = Axes.of(tensor.shape)
    box = [(0, n) for n in tensor.shape]
    if axes.row is not None:
        box[axes.row] = rows
    if channels is not None and axes.channel is not None:
        box[axes.channel] = channels
    if images is not None and tensor.shape:
        box[0] = images
    if columns is not None and len(box) == 4:
        box[3] = columns
    return tuple(box)


def rows_in(tensor: Tensor, box: Box) -> tuple[int, int]:
    """The rows of a box."""
    axis = Axes.of(tensor.shape).row
    return (0, 1) if axis is None else box[axis]


def channels_in(tensor: Tensor, box: Box) -> tuple[int, int]:
    """The channels of a box."""
    axis = Axes.of(tensor.shape).channel
    return (0, 1) if axis is None else box[axis]


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Rows of an input by rows of the output: `upto[k]` are needed for the first k of them,
    and none before `start[k]` for those from k on. Or columns by columns."""

    tensor: str
    upto: Counts
    start: Counts


@dataclass(frozen=True)
class OperatorRows:
    """An operator as the rows that it reads and writes.

    `streams`: rows can be made from some rows of each input, so it can be fused; else `alone` says
    why not. `channels` can be made apart from each other where `sliced`, each with
    `channel_bytes` of parameters; of the inputs in `by_channel` each needs only the same channel.
    Sums over `reduced` input channels can be taken one after the other, each with
    `reduced_bytes` of parameters, where that is not 0. `by_image`: images are independent.
    `content` is equal for operators that differ in names only, and for no others.
    """

    position: int
    op: Operator
    windows: tuple[RowWindow, ...]
    columns: tuple[RowWindow, ...]
    alone: str
    sliced: bool
    channels: int
    parameter_bytes: int
    channel_bytes: int
    by_channel: frozenset[str]
    reduced: int
    reduced_bytes: int
    by_image: bool
    content: int

    @property
    def streams(self) -> bool:
        return not self.alone

    @property
    def rest_bytes(self) -> int:
        """Bytes of parameters that belong to no reduced channel: bias, batch norm."""
        return self.parameter_bytes - self.reduced * self.reduced_bytes

    def sums(self, tensor: str) -> bool:
        """Whether channels of an input can be added up one after the other."""
        return bool(self.reduced) and tensor == self.op.inputs[0] and tensor not in self.by_channel

    def adds_up(self, sliced: Collection[str]) -> bool:
        """Whether its output is a sum that grows, with these tensors held by the channel."""
        return bool(self.reduced) and any(self.sums(t) for t in self.op.inputs if t in sliced)


def parameter_boxes(
    graph: Graph,
    op: Operator,
    channels: tuple[int, int] | None = None,
    sums: tuple[int, int] | None = None,
    last: bool = True,
) -> dict[str, Box]:
    """What an operator reads of its parameters for all rows, images and columns.

    It may be a part of them: of a table of positions, those that the sequence has.
    """
    read: dict[str, Box] = {}
    for name in op.outputs:
        out = graph.tensors[name]
        box = box_of(out, (0, rows_of(out)), channels)
        for tensor, part in needs(graph, op, name, box, sums, last):
            if tensor in op.parameters:
                read[tensor] = around(part, read.get(tensor))
    return read


def parameter_bytes(graph: Graph, op: Operator, only: str = "") -> int:
    """Bytes that an operator reads of its parameters, or only of one."""
    boxes = parameter_boxes(graph, op).items()
    return sum(piece_bytes(graph, Piece(name, box)) for name, box in boxes if only in ("", name))


MOST_KNOWN = 2000
"""Tables that are kept, over all graphs: the largest, of 25,000 rows, takes 400 KB."""
_known: dict[tuple[object, ...], list[tuple[Counts, Counts]]] = {}


class RowTables:
    """The rows of every operator of a graph; operators of equal content share their tables.

    Without `wide_sums` nothing is summed in parts whose accumulators are wider than its elements:
    what may be held whole between groups has no room for them.
    """

    def __init__(self, graph: Graph, columns: bool = False, wide_sums: bool = True) -> None:
        self.graph, self._with_columns, self._wide_sums = graph, columns, wide_sums
        self._made: dict[int, OperatorRows] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def __getitem__(self, position: int) -> OperatorRows:
        if position not in self._made:
            self._made[position] = self._make(position)
        return self._made[position]

    def _make(self, position: int) -> OperatorRows:
        graph, op = self.graph, self.graph.operators[position]
        out = graph.tensors[op.outputs[0]]
        content = _content(graph, op)
        windows = self._windows(op, content, 2)
        with_columns = self._with_columns and _has_columns(graph, op)
        columns = self._windows(op, content, 3) if with_columns else ()
        sliced, channels = _sliced(graph, op, out)
        size = parameter_bytes(graph, op)
        adds = self._wide_sums or not wider(graph, op)
        summed, summed_bytes = _reduced(graph, op, out) if adds else (0, 0)
        return OperatorRows(
            position=position,
            op=op,
            windows=windows,
            columns=columns,
            alone=_alone(graph, op, out, windows),
            sliced=sliced,
            channels=channels,
            parameter_bytes=size,
            channel_bytes=size // channels if sliced else size,
            # With parameters that come in one piece only, channels cannot come apart.
            by_channel=_by_channel(graph, op, out) if sliced or not size else frozenset(),
            reduced=summed,
            reduced_bytes=summed_bytes,
            by_image=_by_image(graph, op, out),
            content=self._numbers.setdefault(content, len(self._numbers)),
        )

    def _windows(
        self, op: Operator, content: tuple[object, ...], axis: int
    ) -> tuple[RowWindow, ...]:
        """Of each input. Tables depend on the content alone, so graphs share them."""
        key = (axis, *content)
        if key not in _known:
            if len(_known) >= MOST_KNOWN:
                _known.clear()
            _known[key] = _tables(self.graph, op, self.graph.tensors[op.outputs[0]], axis)
        return tuple(RowWindow(name, *table) for name, table in zip(op.inputs, _known[key]))


def _content(graph: Graph, op: Operator) -> tuple[object, ...]:
    shapes = tuple(
        tuple(graph.tensors[name].shape for name in names)
        for names in (op.inputs, op.outputs, op.parameters)
    )
    window = (op.kernel, op.stride, op.padding, op.dilation, op.groups, op.macs)
    return (op.kind, op.look, shapes, window, graph.types_of(op))


def _has_columns(graph: Graph, op: Operator) -> bool:
    tensors = [graph.tensors[name] for name in (*op.inputs, *op.outputs)]
    return len(op.outputs) == 1 and all(len(tensor.shape) == 4 for tensor in tensors)


def _tables(graph: Graph, op: Operator, out: Tensor, axis: int) -> list[tuple[Counts, Counts]]:
    """The rows (axis 2) or columns (3) of each input that those of the output need.

    Asked of all rows up to each, and of all from each: through a reshape, several rows may need
    more than what each of them needs alone, since what is needed is given as one box.
    """
    count = rows_of if axis == 2 else columns_of
    size = count(out)
    sources = [graph.tensors[name] for name in op.inputs]
    upto = np.zeros((len(sources), size + 1), dtype=np.int64)
    start = np.array([[count(source)] * (size + 1) for source in sources], dtype=np.int64)

    def needed(part: tuple[int, int]) -> list[tuple[int, int]]:
        box = box_of(out, part) if axis == 2 else box_of(out, (0, rows_of(out)), columns=part)
        several = len(op.outputs) > 1  # They are made at once.
        boxes = needs_of_all(graph, op) if several else dict(needs(graph, op, out.name, box))
        pairs = [(source, boxes.get(source.name)) for source in sources]
        return [
            (count(source), 0) if box is None else rows_in(source, box) if axis == 2 else box[3]
            for source, box in pairs
        ]

    for y in range(size):
        upto[:, y + 1] = [high for _, high in needed((0, y + 1))]
        start[:, y] = [low for low, _ in needed((y, size))]
    return list(zip(upto, start, strict=True))


def _alone(graph: Graph, op: Operator, out: Tensor, windows: tuple[RowWindow, ...]) -> str:
    """Why an operator cannot be computed row by row in a group; empty where it can."""
    if len(op.outputs) > 1:
        return f"{op.name} ({op.kind}) writes several tensors at once"
    if op.kind == "conv1d":
        return f"{op.name} ({op.kind}) has no rows"
    if is_local(graph, op, out):
        return ""
    tall = [w for w in windows if rows_of(graph.tensors[w.tensor]) > 1]
    if rows_of(out) == 1:
        return f"{op.name} ({op.kind}) needs all rows of its input at once" if tall else ""
    if not tall or any(w.upto[1] == w.upto[-1] and not w.start[-2] for w in tall):
        return f"{op.name} ({op.kind}) needs all of its input for each row"
    return ""


def _sliced(graph: Graph, op: Operator, out: Tensor) -> tuple[bool, int]:
    """Whether output channels can be made one by one, each with its part of every parameter."""
    axis = Axes.of(out.shape).channel
    if not op.parameters or axis is None or len(op.outputs) > 1 or not _adds_up(graph, op):
        return False, 1
    channels = out.shape[axis]
    if channels == 1:
        return True, 1
    if any(graph.tensors[name].shape[:1] != (channels,) for name in op.parameters):
        return False, channels
    whole_boxes = parameter_boxes(graph, op)
    if whole_boxes.keys() != set(op.parameters):
        return False, channels  # of one of them nothing is read
    # Calls that move elements may give channels another order.
    for c in range(channels if detailed(op) else 1):
        boxes = parameter_boxes(graph, op, (c, c + 1))
        if any(boxes.get(name) != ((c, c + 1), *whole_boxes[name][1:]) for name in op.parameters):
            return False, channels
    return True, channels


def wider(graph: Graph, op: Operator) -> bool:
    """Whether sums of an operator take more bytes until they are complete."""
    return bool(op.inputs) and graph.sum_bytes(op, 1) > graph.bytes_of(op.outputs[0], 1)


def _adds_up(graph: Graph, op: Operator) -> bool:
    """Whether bytes of slices of the parameters add up: not those of elements below a byte."""
    return all(graph.whole_bytes(name) for name in op.parameters)


def _by_channel(graph: Graph, op: Operator, out: Tensor) -> frozenset[str]:
    """Inputs of which each channel of the output needs the same one, and no other."""
    axis = Axes.of(out.shape).channel
    if axis is None or len(op.outputs) > 1 or out.shape[axis] == 1:
        return frozenset()
    channels = out.shape[axis]
    names = {name for name in op.inputs if channels_of(graph.tensors[name]) == channels}
    half = channels // 2
    parts = {(0, 1), (0, half), (half, channels), (channels - 1, channels)}
    if detailed(op):  # Calls that move elements may give channels another order.
        parts |= {(c, c + 1) for c in range(channels)}
    for part in sorted(parts):
        boxes = dict(needs(graph, op, out.name, box_of(out, (0, rows_of(out)), part)))
        own = {t for t in names & set(boxes) if channels_in(graph.tensors[t], boxes[t]) == part}
        names &= own
    return frozenset(names)


def channels_read(graph: Graph, op: Operator, tensor: str) -> int:
    """Channels of an input that some channel of the output needs."""
    read: set[int] = set()
    for name in op.outputs:
        out = graph.tensors[name]
        for c in range(channels_of(out)):
            boxes = dict(needs(graph, op, name, box_of(out, (0, rows_of(out)), (c, c + 1))))
            if tensor in boxes:
                read.update(range(*channels_in(graph.tensors[tensor], boxes[tensor])))
    return len(read)


def _reduced(graph: Graph, op: Operator, out: Tensor) -> tuple[int, int]:
    """Input channels that can be summed one after the other, and bytes of parameters of each."""
    channels = reduced(graph, op) if _adds_up(graph, op) else None
    if channels is None or channels == 1 or channels_of(graph.tensors[op.inputs[0]]) != channels:
        return 0, 0
    boxes = dict(needs(graph, op, out.name, whole(out).box, sums=(0, 1), last=False))
    data = graph.tensors[op.inputs[0]]
    if channels_in(data, boxes.pop(data.name)) != (0, 1):
        return 0, 0  # They are not the channels of the rows that are planned here.
    return channels, sum(piece_bytes(graph, Piece(name, box)) for name, box in boxes.items())


def _by_image(graph: Graph, op: Operator, out: Tensor) -> bool:
    """Whether an image of the output needs the same image of each input, and no other."""
    tensors = [graph.tensors[name] for name in (*op.inputs, *op.outputs)]
    if len(op.outputs) > 1 or any(len(t.shape) < 2 for t in tensors) or out.shape[0] == 1:
        return False
    if any(t.shape[0] != out.shape[0] for t in tensors):
        return False
    boxes = dict(needs(graph, op, out.name, box_of(out, (0, rows_of(out)), images=(0, 1))))
    return all(boxes.get(name, ((0, 1),))[0] == (0, 1) for name in op.inputs)
