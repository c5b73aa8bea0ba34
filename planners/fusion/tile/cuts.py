"""How operators can be cut: found once for all of equal content, in all graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.core.access import detailed, is_local, needs, reduced
from planners.core.boxes import around
from planners.core.graph import Graph, Operator, Tensor
from planners.core.program import Box, Piece, piece_bytes, whole
from planners.fusion.tile.axes import Axes, RowWindow, box_of, channels_in, channels_of, rows_of

MOST_KNOWN = 10_000
"""Operators that are remembered, over all graphs."""
_cuts: dict[tuple[object, ...], Cuts] = {}
IN_ORDER = frozenset({"same", "channels", "window", "transposed", "groups", "pad", "cat"})
"""Relations by which neighbouring channels read neighbouring channels, or the same."""
_channels: dict[tuple[object, ...], list[int]] = {}
_breaks: dict[tuple[object, ...], tuple[int, ...]] = {}


@dataclass(frozen=True, slots=True)
class Cuts:
    """What operators of equal content have in common; inputs by their place."""

    alone: str
    sliced: bool
    channels: int
    parameter_bytes: int
    by_channel: frozenset[int]
    reduced: int
    reduced_bytes: int
    by_image: bool


def cuts_of(graph: Graph, op: Operator, windows: Sequence[RowWindow]) -> Cuts:
    """What an operator is like, by its content and the width of elements."""
    key = (graph.bytes_per_element, *content_of(graph, op))
    if key not in _cuts:
        if len(_cuts) >= MOST_KNOWN:
            _cuts.clear()
        out = graph.tensors[op.outputs[0]]
        sliced, channels = _sliced(graph, op, out)
        size = parameter_bytes(graph, op)
        summed, summed_bytes = _reduced(graph, op, out)
        # With parameters that come in one piece only, channels cannot come apart.
        apart = _by_channel(graph, op, out) if sliced or not size else frozenset()
        _cuts[key] = Cuts(
            alone=_alone(graph, op, out, windows),
            sliced=sliced,
            channels=channels,
            parameter_bytes=size,
            by_channel=frozenset(k for k, name in enumerate(op.inputs) if name in apart),
            reduced=summed,
            reduced_bytes=summed_bytes,
            by_image=_by_image(graph, op, out),
        )
    return _cuts[key]


def content_of(graph: Graph, op: Operator) -> tuple[object, ...]:
    """Equal for operators that differ in names only, in any graph with the same width."""
    shapes = tuple(
        tuple(graph.tensors[name].shape for name in names)
        for names in (op.inputs, op.outputs, op.parameters)
    )
    window = (op.kernel, op.stride, op.padding, op.dilation, op.groups, op.macs)
    twice = tuple(op.inputs.index(name) for name in op.inputs)
    return (op.kind, op.look, shapes, window, graph.types_of(op), twice)


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


def _alone(graph: Graph, op: Operator, out: Tensor, windows: Sequence[RowWindow]) -> str:
    """Why an operator cannot be computed row by row in a group; empty where it can."""
    if len(op.outputs) > 1:
        return "writes several tensors at once"
    if op.kind == "conv1d":
        return "has no rows"
    if is_local(graph, op, out):
        return ""
    tall = [w for w in windows if rows_of(graph.tensors[w.tensor]) > 1]
    if rows_of(out) == 1:
        return "needs all rows of its input at once" if tall else ""
    if not tall or any(w.upto[1] == w.upto[-1] and not w.start[-2] for w in tall):
        return "needs all of its input for each row"
    return ""


def _sliced(graph: Graph, op: Operator, out: Tensor) -> tuple[bool, int]:
    """Whether output channels can be made one by one, each with its part of every parameter."""
    axis = Axes.from_shape(out.shape).channel
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
    axis = Axes.from_shape(out.shape).channel
    if axis is None or len(op.outputs) > 1 or out.shape[axis] == 1:
        return frozenset()
    channels = out.shape[axis]
    names = {name for name in op.inputs if channels_of(graph.tensors[name]) == channels}
    half = channels // 2
    parts = {(0, 1), (0, half), (half, channels), (channels - 1, channels)}
    if detailed(op):  # Calls that move elements may give channels another order.
        parts |= {(c, c + 1) for c in range(channels)}
    for part in sorted(parts):
        if not names:
            break
        boxes = dict(needs(graph, op, out.name, box_of(out, (0, rows_of(out)), part)))
        cut_so = {t for t in names & set(boxes) if channels_in(graph.tensors[t], boxes[t]) == part}
        names &= cut_so
    return frozenset(names)


def channels_read(graph: Graph, op: Operator, tensor: str) -> int:
    """Channels of an input that some channel of the output needs."""
    key = content_of(graph, op)
    if key not in _channels:
        if len(_channels) >= MOST_KNOWN:
            _channels.clear()
        _channels[key] = _channels_read(graph, op)
    return _channels[key][op.inputs.index(tensor)]


def _channels_read(graph: Graph, op: Operator) -> list[int]:
    """The same of each input: one question a channel says it of all.

    And one question says it of all channels where neighbours read neighbours.
    """
    read: dict[str, set[int]] = {name: set() for name in op.inputs}
    for name in op.outputs:
        out = graph.tensors[name]
        step = channels_of(out) if in_order(op) else 1
        for c in range(0, channels_of(out), step):
            box = box_of(out, (0, rows_of(out)), (c, c + step))
            for tensor, part in needs(graph, op, name, box):
                if tensor in read:
                    read[tensor].update(range(*channels_in(graph.tensors[tensor], part)))
    return [len(read[name]) for name in op.inputs]


def channel_breaks(graph: Graph, op: Operator) -> tuple[int, ...]:
    """Channels of the output at which other operands are read than for the one before, rising, of
    an operator that reads `in_order`."""
    if not detailed(op):
        return ()
    key = content_of(graph, op)
    if key not in _breaks:
        if len(_breaks) >= MOST_KNOWN:
            _breaks.clear()
        _breaks[key] = tuple(_found_breaks(graph, op))
    return _breaks[key]


def _found_breaks(graph: Graph, op: Operator) -> Iterator[int]:
    """By bisection: what two channels read, all between them do."""
    out = graph.tensors[op.outputs[0]]

    def read(c: int) -> set[str]:
        box = box_of(out, (0, rows_of(out)), (c, c + 1))
        return {name for name, _ in needs(graph, op, out.name, box)}

    def between(a: int, b: int, before: set[str], after: set[str]) -> Iterator[int]:
        if before != after:
            if b == a + 1:
                yield b
            else:
                middle = (a + b) // 2
                inside = read(middle)
                yield from between(a, middle, before, inside)
                yield from between(middle, b, inside, after)

    last = channels_of(out) - 1
    yield from between(0, last, read(0), read(last))


def in_order(op: Operator) -> bool:
    """Whether neighbouring channels of its output need neighbouring ones, or the same."""
    words = {str(part.relation[0]) if part.relation else "" for part in op.parts}
    return not detailed(op) or words <= IN_ORDER


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
