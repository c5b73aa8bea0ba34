"""What an operator must read to write a part of its output: the access relation of each kind.

Kinds that are not listed, and operators whose parts reshape what they read, need everything.
"""

from __future__ import annotations

from planners.graph.model import Graph, Operator, Tensor
from planners.program import Box

ELEMENTWISE = frozenset(
    "relu relu6 silu gelu hardswish hardsigmoid hardtanh sigmoid tanh elu leaky_relu mish softplus "
    "add sub mul div neg exp sqrt rsqrt clamp clamp_min pow abs maximum minimum".split()
)
NORMS = frozenset({"batch_norm"})
POOLS = frozenset(f"{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3))
CONVOLUTIONS = frozenset(f"conv{n}d" for n in (1, 2, 3))
BINARY = frozenset({"add", "sub", "mul", "div", "pow", "maximum", "minimum"})
UNARY = ELEMENTWISE - BINARY
# They keep a weight of two axes as it is, if they keep its shape.
FLATTENING = frozenset("flatten view reshape squeeze unsqueeze contiguous select".split())


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
    found = _needs(graph, op, output, box)
    return found if sums is None else _summed(graph, op, output, found, sums, last)


def _needs(graph: Graph, op: Operator, output: str, box: Box) -> list[tuple[str, Box]]:
    out = graph.tensors[output]
    operands = [graph.tensors[name] for name in (*op.inputs, *op.parameters)]
    if special := _special(graph, op, out, box):
        return special
    if not is_local(graph, op, out):
        return [(t.name, _full(t)) for t in operands]
    main = graph.tensors[op.inputs[0]] if op.inputs else None
    found = []
    for tensor in operands:
        if tensor.kind == "parameter":
            found.append((tensor.name, _parameter_box(op, tensor, out, box)))
        elif op.kernel and tensor is main:
            found.append((tensor.name, _window_box(op, tensor, out, box)))
        elif op.kind == "linear":
            found.append((tensor.name, (*box[:-1], (0, tensor.shape[-1]))))
        else:
            found.append((tensor.name, _broadcast_box(tensor, out, box)))
    return found


def reduced(graph: Graph, op: Operator) -> int | None:
    """Channels that `op` sums over, where it can do so in parts; None where it cannot.

    A convolution in one group or a linear of one input and a weight of its own, which comes first;
    what follows must not mix elements of the sum.
    """
    if len(op.inputs) != 1 or len(op.outputs) != 1 or op.groups != 1:
        return None
    if op.kind not in CONVOLUTIONS | {"linear"} or (op.parts and op.parts[0].kind != op.kind):
        return None
    out = graph.tensors[op.outputs[0]]
    if not is_local(graph, op, out) or len(_weights(graph, op, out)) != 1:
        return None
    # An operand of arithmetic that is a parameter may be broadcast along any axis.
    if len(op.parameters) > 1 and not BINARY.isdisjoint(part.kind for part in op.parts):
        return None
    return graph.tensors[op.inputs[0]].shape[-1 if op.kind == "linear" else 1]


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


def _special(graph: Graph, op: Operator, out: Tensor, box: Box) -> list[tuple[str, Box]]:
    """Boxes for kinds that are local along some axes only; empty for all other operators."""
    kinds = [part.kind for part in op.parts] or [op.kind]
    while kinds and kinds[-1] in UNARY:
        kinds.pop()
    inputs = [graph.tensors[name] for name in op.inputs]
    parameters = [graph.tensors[name] for name in op.parameters]
    if kinds == ["cat"] and not parameters:
        return _concatenated(inputs, out, box)
    if len(inputs) != 1 or len(out.shape) == 0:
        return []
    (data,) = inputs
    if kinds == ["adaptive_avg_pool2d"] and not parameters and data.shape[:-2] == out.shape[:-2]:
        return [(data.name, _adaptive_box(data, out, box))]
    if kinds == ["layer_norm"] and {p.shape for p in parameters} == {out.shape[-1:]}:
        own = [(data.name, (*box[:-1], (0, data.shape[-1])))] if data.shape == out.shape else []
        return own and own + [(p.name, _full(p)) for p in parameters]
    return _rearranged(op, kinds, data, parameters, out, box)


def _rearranged(
    op: Operator, kinds: list[str], data: Tensor, parameters: list[Tensor], out: Tensor, box: Box
) -> list[tuple[str, Box]]:
    """A product or convolution of rearranged data: all of it, and the weight by output channel.

    Only where the weight itself is not what is rearranged: its shape, or the data's, tells.
    """
    while kinds and kinds[-1] in UNARY | NORMS:
        kinds = kinds[:-1]
    if len(kinds) < 2 or not set(kinds[:-1]) <= FLATTENING | {"transpose", "permute"}:
        return []
    axis = len(out.shape) - 1 if kinds[-1] == "linear" else 1
    rest = {"linear": 1, "conv2d": 3}.get(kinds[-1])
    if rest is None or axis >= len(out.shape) or op.groups != 1:
        return []
    shapes = sorted((len(p.shape), p.shape[:1]) for p in parameters)
    ranks = [rank for rank, _ in shapes]
    if ranks != [1] * (len(ranks) - 1) + [1 + rest] or {n for _, n in shapes} != {
        (out.shape[axis],)
    }:
        return []
    weight = max(parameters, key=lambda p: len(p.shape)).shape
    plain = set(kinds[:-1]) <= FLATTENING or kinds[0] in ("view", "reshape")
    told = kinds[-1] == "linear" and not weight[0] == weight[1] == data.shape[-1]
    if not plain and not told:
        return []
    by_image = (
        set(kinds[:-1]) <= {"flatten", "view", "reshape"}
        and len(out.shape) == 2
        and data.shape[0] == out.shape[0]
        and data.elements == data.shape[0] * weight[1]
    )
    images = box[0] if by_image else (0, data.shape[0]) if data.shape else None
    read = _full(data) if images is None else (images, *_full(data)[1:])
    return [(data.name, read), *((p.name, (box[axis], *_full(p)[1:])) for p in parameters)]


def _concatenated(inputs: list[Tensor], out: Tensor, box: Box) -> list[tuple[str, Box]]:
    """The part of each input that lies in the box, along the only axis that can be the joint."""
    joints = [
        axis
        for axis, size in enumerate(out.shape)
        if all(len(t.shape) == len(out.shape) for t in inputs)
        and sum(t.shape[axis] for t in inputs) == size
        and {t.shape[:axis] + t.shape[axis + 1 :] for t in inputs}
        == {out.shape[:axis] + out.shape[axis + 1 :]}
    ]
    if len(joints) != 1:
        return []
    (axis,) = joints
    found, at = [], 0
    for tensor in inputs:
        start = max(box[axis][0] - at, 0)
        stop = min(box[axis][1] - at, tensor.shape[axis])
        if start < stop:
            found.append((tensor.name, (*box[:axis], (start, stop), *box[axis + 1 :])))
        at += tensor.shape[axis]
    return found


def _adaptive_box(data: Tensor, out: Tensor, box: Box) -> Box:
    """Output i of n takes the inputs from ⌊i·m/n⌋ to ⌈(i+1)·m/n⌉ of m."""
    spatial = tuple(
        (start * m // n, -(-stop * m // n))
        for (start, stop), m, n in zip(box[-2:], data.shape[-2:], out.shape[-2:], strict=True)
    )
    return (*box[:-2], *spatial)


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


def _full(tensor: Tensor) -> Box:
    return tuple((0, n) for n in tensor.shape)


def _window_box(op: Operator, tensor: Tensor, out: Tensor, box: Box) -> Box:
    """Batch as written, the channels of the groups touched, and the window of each axis."""
    spatial = tuple(
        _window(axis, size, k, s, p, d)
        for axis, size, k, s, p, d in zip(
            box[2:], tensor.shape[2:], op.kernel, op.stride, op.padding, op.dilation, strict=True
        )
    )
    return (box[0], _channels(op, tensor.shape[1], out.shape[1], box[1]), *spatial)


def _window(axis: tuple[int, int], size: int, k: int, s: int, p: int, d: int) -> tuple[int, int]:
    """Input range of an output range: t·S + K − S for K without dilation (Optimus, eq. 4)."""
    start = min(max(0, axis[0] * s - p), size)
    stop = min(max(0, (axis[1] - 1) * s - p + d * (k - 1) + 1), size)
    return start, max(start, stop)


def _channels(op: Operator, inputs: int, outputs: int, axis: tuple[int, int]) -> tuple[int, int]:
    if op.kind in POOLS:
        return axis
    per_in, per_out = inputs // op.groups, outputs // op.groups
    return axis[0] // per_out * per_in, ((axis[1] - 1) // per_out + 1) * per_in


def _parameter_box(op: Operator, tensor: Tensor, out: Tensor, box: Box) -> Box:
    """Parameters are sliced by output channel where their first axis counts those.

    Those of element-wise operators are broadcast like any other operand.
    """
    if {part.kind for part in op.parts} | {op.kind} <= ELEMENTWISE:
        return _broadcast_box(tensor, out, box)
    axis = len(box) - 1 if op.kind == "linear" else 1
    if axis >= len(box) or not tensor.shape or tensor.shape[0] != out.shape[axis]:
        return _full(tensor)
    if op.kind not in CONVOLUTIONS | {"linear"} and "batch_norm" not in {p.kind for p in op.parts}:
        return _full(tensor)
    return (box[axis], *_full(tensor)[1:])


def _broadcast_box(tensor: Tensor, out: Tensor, box: Box) -> Box:
    """The same box, with axes of one element and missing leading axes as broadcasting has them."""
    if len(tensor.shape) > len(box):
        return _full(tensor)
    tail = box[len(box) - len(tensor.shape) :]
    sizes = out.shape[len(box) - len(tensor.shape) :]
    if any(n not in (1, full) for n, full in zip(tensor.shape, sizes, strict=True)):
        return _full(tensor)
    return tuple((0, 1) if n == 1 else axis for n, axis in zip(tensor.shape, tail, strict=True))
