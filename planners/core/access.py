"""What an operator must read to write a part of its output.

For windows, products and element-wise operators it follows from kinds and sizes. Calls that move
elements state how they read (`planners.core.relations`); a call that does not needs everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from planners.core.boxes import around, filled, meet
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.core.program import Box
from planners.core.relations import Slide, boxes, broadcast, full, window

ELEMENTWISE = frozenset(
    "relu relu6 silu gelu hardswish hardsigmoid hardtanh sigmoid tanh elu leaky_relu mish softplus "
    "add sub mul div neg exp sqrt rsqrt clamp clamp_min pow abs maximum minimum".split()
)
NORMS = frozenset({"batch_norm"})
POOLS = frozenset(f"{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3))
CONVOLUTIONS = frozenset(f"conv{n}d" for n in (1, 2, 3))
BINARY = frozenset({"add", "sub", "mul", "div", "pow", "maximum", "minimum"})
UNARY = ELEMENTWISE - BINARY
MOST_APART = 4
"""Boxes of one value that are held apart."""
MOST_KNOWN = 10_000
"""Operators of which is held how they read."""


def needs(
    graph: Graph,
    op: Operator,
    output: str,
    box: Box,
    sums: tuple[int, int] | None = None,
    last: bool = True,
) -> list[tuple[str, Box]]:
    """Boxes of the inputs and parameters that `op` reads to write `box` of `output`.

    With `sums`, to add the products of these channels, out of `reduced` many, to the box; what
    follows the sum is read by the `last` part only.
    """
    reads = _needs(graph, op, output, box)
    return reads if sums is None else _summed(graph, op, output, reads, sums, last)


def needs_apart(
    graph: Graph,
    op: Operator,
    output: str,
    box: Box,
    sums: tuple[int, int] | None = None,
    last: bool = True,
) -> list[tuple[str, Box]]:
    """The same, with several boxes of an operand where these lie apart: queries, keys and values
    that one product made, say."""
    if sums is not None or not ways_differ(graph, op, output):
        return needs(graph, op, output, box, sums, last)
    read = _boxes_apart(graph, op, output, box)
    names = (*op.inputs, *op.parameters)
    return [(name, part) for name in names for part in read.get(name, ())]


def ways_differ(graph: Graph, op: Operator, output: str) -> bool:
    """Whether it may read boxes of one operand that lie apart."""
    return detailed(op) and _known(graph, op, output).ways_differ


def _needs(graph: Graph, op: Operator, output: str, box: Box) -> list[tuple[str, Box]]:
    if detailed(op):
        read = read_boxes(graph, op, output, box)
        return [(name, read[name]) for name in (*op.inputs, *op.parameters) if name in read]
    return [(name, rule(box)) for name, rule in _known(graph, op, output).rules]


@dataclass(frozen=True)
class _HowRead:
    """How an operator reads to write a part of one output, found once: planners ask it often."""

    graph: Graph
    op: Operator
    out: Tensor

    @cached_property
    def rules(self) -> list[tuple[str, Callable[[Box], Box]]]:
        """By operand: from a box of the output to the box that is read."""
        graph, op, out = self.graph, self.op, self.out
        operands = [graph.tensors[name] for name in (*op.inputs, *op.parameters)]
        if not is_local(graph, op, out):
            return [(tensor.name, _always(full(tensor.shape))) for tensor in operands]
        main = graph.tensors[op.inputs[0]] if op.inputs else None
        return [(tensor.name, _rule(op, tensor, out, tensor is main)) for tensor in operands]

    @cached_property
    def calls(self) -> list[tuple[Part, list[tuple[int, ...]], Slide]]:
        """The parts that state how they read, the last first, with the shapes of what they read."""
        graph, op = self.graph, self.op
        shapes = {name: graph.tensors[name].shape for name in (*op.inputs, *op.parameters)}
        shapes |= {part.name: part.shape for part in op.parts}
        return [(part, [shapes[t] for t in part.reads], op.slide) for part in reversed(op.parts)]

    @cached_property
    def ways_differ(self) -> bool:
        """Whether a value is read in more than one way, by calls that state how they read."""
        ways: dict[str, set[tuple[object, ...]]] = {self.out.name: {()}}
        for part, _, _ in self.calls:
            for at, name in enumerate(part.reads):
                alike = part.relation[:1] in (("same",), ("channels",))
                step = () if alike else ((at, part.relation, part.shape),)
                ways.setdefault(name, set()).update(
                    (*way, *step) for way in ways.get(part.name, ())
                )
                if len(ways[name]) > 1:
                    return True
        return False

    @cached_property
    def reduced(self) -> int | None:
        """See `reduced`."""
        graph, op, out = self.graph, self.op, self.out
        if len(op.inputs) != 1 or op.groups != 1:
            return None
        if op.kind not in CONVOLUTIONS | {"linear"} or (op.parts and op.parts[0].kind != op.kind):
            return None
        if not is_local(graph, op, out) or len(_weights(graph, op, out)) != 1:
            return None
        # An operand of arithmetic that is a parameter may be broadcast along any axis.
        if len(op.parameters) > 1 and not BINARY.isdisjoint(part.kind for part in op.parts):
            return None
        return graph.tensors[op.inputs[0]].shape[-1 if op.kind == "linear" else 1]


_how_read: dict[tuple[int, int, str], _HowRead] = {}


def _known(graph: Graph, op: Operator, output: str) -> _HowRead:
    """What is known of an operator: it is held, so that no other has its number."""
    key = (id(graph), id(op), output)
    how_read = _how_read.get(key)
    if how_read is None:
        if len(_how_read) >= MOST_KNOWN:
            _how_read.clear()
        how_read = _how_read[key] = _HowRead(graph, op, graph.tensors[output])
    return how_read


def _rule(op: Operator, tensor: Tensor, out: Tensor, main: bool) -> Callable[[Box], Box]:
    """How an operator whose parts need only parts reads one operand."""
    if tensor.kind == "parameter":
        return _parameter_rule(op, tensor, out)
    if op.kernel and main:
        return lambda box: _window_box(op, tensor, out, box)
    if op.kind == "linear":
        last = (0, tensor.shape[-1])
        return lambda box: (*box[:-1], last)
    return _broadcast_rule(tensor, out)


def _always(read: Box) -> Callable[[Box], Box]:
    return lambda _: read


def _broadcast_rule(tensor: Tensor, out: Tensor) -> Callable[[Box], Box]:
    return lambda box: broadcast(tensor.shape, out.shape, box)


def needs_of_all(graph: Graph, op: Operator) -> dict[str, Box]:
    """The least box of each operand that holds what `op` reads to write all of its outputs."""
    read: dict[str, Box] = {}
    for output in op.outputs:
        for name, box in needs(graph, op, output, full(graph.tensors[output].shape)):
            read[name] = around(box, read.get(name))
    return read


def detailed(op: Operator) -> bool:
    """Whether an operator's parts state how they read."""
    return bool(op.parts) and op.parts[-1].detailed


def read_boxes(graph: Graph, op: Operator, output: str, box: Box) -> dict[str, Box]:
    """The boxes of all values that a box of the output needs, where parts state how they read."""
    wanted = {output: box}
    for part, operands, slide in _known(graph, op, output).calls:
        wanted_box = wanted.get(part.name)
        if wanted_box is None:
            continue
        read = boxes(part.relation, part.shape, operands, wanted_box, slide)
        for name, more in zip(part.reads, read, strict=True):
            if more is not None:
                earlier = wanted.get(name)
                wanted[name] = more if earlier is None else around(earlier, more)
    return wanted


def _boxes_apart(graph: Graph, op: Operator, output: str, box: Box) -> dict[str, list[Box]]:
    """The same with the boxes of each value that lie apart, those of different calls and ways."""
    wanted = {output: [box]}
    for part, operands, slide in _known(graph, op, output).calls:
        for wanted_box in wanted.get(part.name, ()):
            read = boxes(part.relation, part.shape, operands, wanted_box, slide)
            for name, more in zip(part.reads, read, strict=True):
                if more is not None:
                    wanted[name] = _with_box(wanted.get(name, []), more)
    return wanted


def _with_box(apart: list[Box], more: Box) -> list[Box]:
    """Boxes with one more: those that meet it, or that it fills a box with, become one with it."""
    for at, other in enumerate(apart):
        if meet(other, more) or filled((other, more)):
            return _with_box([*apart[:at], *apart[at + 1 :]], around(other, more))
    return [*apart, more] if len(apart) < MOST_APART else [around(*apart, more)]


def reduced(graph: Graph, op: Operator) -> int | None:
    """Channels that `op` sums over, where it can do so in parts; None where it cannot.

    A convolution in one group or a linear of one input and a weight of its own, which comes first;
    what follows must not mix elements of the sum.
    """
    return _known(graph, op, op.outputs[0]).reduced if len(op.outputs) == 1 else None


def share_of_macs(
    graph: Graph, op: Operator, output: str, box: Box, sums: tuple[int, int] | None = None
) -> int:
    """MACs for the part of `op` that writes `box` of `output`, rounded up."""
    elements = 1
    for start, stop in box:
        elements *= stop - start
    whole = graph.tensors[output].elements
    if sums is not None:
        elements *= sums[1] - sums[0]
        whole *= reduced(graph, op) or 1
    return -(-op.macs * elements // whole)


def is_local(graph: Graph, op: Operator, out: Tensor) -> bool:
    """Whether a part of the output needs only a part: every source call keeps the axes."""
    windows = CONVOLUTIONS | POOLS
    if op.kind == "linear":
        allowed = ELEMENTWISE | {"linear"}
    elif op.kind in windows:
        allowed = ELEMENTWISE | NORMS | {op.kind}
    else:
        allowed = ELEMENTWISE | NORMS
    kinds = [part.kind for part in op.parts] or [op.kind]
    if not set(kinds) <= allowed:
        return False
    if op.kind not in windows | {"linear"}:
        return True
    if kinds.count(op.kind) != 1:
        return False
    # What comes first may mix parameters into the weight, along any of its axes.
    mixed = not BINARY.isdisjoint(kinds[: kinds.index(op.kind)])
    return not mixed and len(op.inputs) == 1 and _has_own_weight(graph, op, out)


def _weights(graph: Graph, op: Operator, out: Tensor) -> list[str]:
    """The parameters of the shape of a local operator's weight."""
    data = graph.tensors[op.inputs[0]].shape
    if op.kind == "linear":
        shape: tuple[int, ...] = (out.shape[-1], data[-1])
    else:
        shape = (out.shape[1], data[1] // op.groups, *op.kernel)
    return [name for name in op.parameters if graph.tensors[name].shape == shape]


def _summed(
    graph: Graph,
    op: Operator,
    output: str,
    found: list[tuple[str, Box]],
    sums: tuple[int, int],
    last: bool,
) -> list[tuple[str, Box]]:
    """The data and the weight cut to these channels; the rest where it is the last part."""
    weight = _weights(graph, op, graph.tensors[output])[0]
    axis = {op.inputs[0]: -1 if op.kind == "linear" else 1, weight: 1}
    cut = []
    for name, box in found:
        if name in axis:
            at = axis[name] % len(box)
            cut.append((name, (*box[:at], sums, *box[at + 1 :])))
        elif last:
            cut.append((name, box))
    return cut


def _has_own_weight(graph: Graph, op: Operator, out: Tensor) -> bool:
    """Whether the only input is the data, in batches, and the weight (if any) is a parameter."""
    data = graph.tensors[op.inputs[0]].shape
    if op.kind == "linear":
        return len(out.shape) == len(data) and bool(_weights(graph, op, out))
    if not op.kernel or not len(out.shape) == len(data) == len(op.kernel) + 2:
        return False
    if op.kind in POOLS:
        return data[1] == out.shape[1]
    if data[1] % op.groups or out.shape[1] % op.groups:
        return False
    return bool(_weights(graph, op, out))


def _window_box(op: Operator, tensor: Tensor, out: Tensor, box: Box) -> Box:
    """Batch as written, the channels of the groups touched, and the window of each axis."""
    spatial = tuple(
        window(axis, size, k, s, p, d)
        for axis, size, k, s, p, d in zip(
            box[2:], tensor.shape[2:], op.kernel, op.stride, op.padding, op.dilation, strict=True
        )
    )
    return (box[0], _channels(op, tensor.shape[1], out.shape[1], box[1]), *spatial)


def _channels(op: Operator, inputs: int, outputs: int, axis: tuple[int, int]) -> tuple[int, int]:
    if op.kind in POOLS:
        return axis
    per_in, per_out = inputs // op.groups, outputs // op.groups
    return axis[0] // per_out * per_in, ((axis[1] - 1) // per_out + 1) * per_in


def _parameter_rule(op: Operator, tensor: Tensor, out: Tensor) -> Callable[[Box], Box]:
    """Parameters are sliced by output channel where their first axis counts those.

    Those of element-wise operators are broadcast like any other operand.
    """
    if {part.kind for part in op.parts} | {op.kind} <= ELEMENTWISE:
        return _broadcast_rule(tensor, out)
    axes = len(out.shape)
    axis = axes - 1 if op.kind == "linear" else 1
    if axis >= axes or not tensor.shape or tensor.shape[0] != out.shape[axis]:
        return _always(full(tensor.shape))
    if op.kind not in CONVOLUTIONS | {"linear"} and "batch_norm" not in {p.kind for p in op.parts}:
        return _always(full(tensor.shape))
    rest = full(tensor.shape)[1:]
    return lambda box: (box[axis], *rest)
