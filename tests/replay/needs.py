"""What operators of a plan's file need: the box of each operand for a box of an output.

Views and broadcasts are done to an array of the numbers of all elements, and windows index by
index; the box needed is the least one around what comes out. Nothing of `planners` is imported.
Graphs are taken as they are: that they make sense is not what is looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, ...]
Box: TypeAlias = tuple[tuple[int, int], ...]
Reads: TypeAlias = Callable[[int], "list[int]"]
"""Which elements of an operand's axis one element of an output's axis comes from."""


class Refused(Exception):
    """A file that is no valid plan, and why."""


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused(reason)


def number(value: Any, least: int | None = None) -> int:
    """A whole number of a file."""
    require(type(value) is int and (least is None or value >= least), f"{value!r:.40} is no count")
    return int(value)


def text(value: Any) -> str:
    require(isinstance(value, str), f"{value!r:.40} is no text")
    return str(value)


# ---- the graph -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """A tensor; its elements are numbers `first`, `first` + 1, … of the whole graph."""

    name: str
    kind: str
    dtype: str
    shape: Shape
    first: int

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator, its source calls as they are in the file."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    macs: int
    groups: int
    parts: tuple[Sequence[Any], ...]
    slide: tuple[Shape, ...]
    """Kernel, stride, padding and dilation: a number each a spatial axis."""

    @property
    def kinds(self) -> list[str]:
        return [part[1] for part in self.parts] or [self.kind]


def bits_of(dtype: str) -> int:
    """Bits of an element, which types have in their names: float16, int4, quint4x2, bool."""
    found = re.match(r"[a-z]+(\d+)(?:.*x(\d+)$)?", dtype)
    return 8 if found is None else int(found[1]) * int(found[2] or 1)


class Graph:
    """Tensors and operators of a file, and how many bytes boxes have."""

    def __init__(self, data: Any) -> None:
        self.width: int | str = data["bytes_per_element"]
        self.tensors: dict[str, Tensor] = {}
        first = 0
        for name, kind, dtype, shape, *_ in data["tensors"]:
            self.tensors[name] = Tensor(name, kind, dtype, tuple(shape), first)
            first += prod(shape)
        self.operators = {item["name"]: _operator(item) for item in data["operators"]}
        self.inputs, self.outputs = set(data["inputs"]), set(data["outputs"])
        require(self.inputs | self.outputs <= self.tensors.keys(), "an end of the graph is missing")

    def bits(self, name: str) -> int:
        if self.width == "native":
            return bits_of(self.tensors[name].dtype)
        return 8 * number(self.width, 1)

    def size(self, name: str, elements: int) -> int:
        """Bytes of a box: those of its elements, rounded up."""
        return -(-elements * self.bits(name) // 8)

    def sum_size(self, op: Operator, elements: int) -> int:
        """Bytes of a box while its sums are not complete: those of accumulators, or its own."""
        dtype = self.tensors[op.inputs[0]].dtype
        narrow = re.match(r"(b?float|q?u?int)\d", dtype) and bits_of(dtype) <= 16
        wide = (32 if narrow else bits_of(dtype)) if self.width == "native" else 0
        return max(self.size(op.outputs[0], elements), -(-elements * wide // 8))


def _operator(item: Mapping[str, Any]) -> Operator:
    known: dict[str, Any] = {key: item[key] for key in ("name", "kind", "macs")}
    known |= {key: tuple(item.get(key, ())) for key in ("inputs", "parameters", "outputs", "parts")}
    slide = tuple(tuple(item.get(key, ())) for key in ("kernel", "stride", "padding", "dilation"))
    return Operator(**known, groups=item.get("groups", 1), slide=slide)


# ---- what operators need ---------------------------------------------------------------------

POOLS = {f"{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)}
CONVOLUTIONS = {"conv1d", "conv2d", "conv3d"}
BINARY = {"add", "sub", "mul", "div", "pow", "maximum", "minimum"}
POINTWISE = BINARY | set(
    "relu relu6 silu gelu hardswish hardsigmoid hardtanh sigmoid tanh elu leaky_relu mish softplus "
    "neg exp sqrt rsqrt clamp clamp_min abs".split()
)


def whole(shape: Shape) -> Box:
    return tuple((0, n) for n in shape)


def hull(*boxes: Box) -> Box:
    """The least box around boxes."""
    return tuple((min(a for a, _ in axis), max(b for _, b in axis)) for axis in zip(*boxes))


def slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in box)


def around(shape: Shape, elements: Array) -> Box | None:
    """The least box of a shape around elements, given by number; None for none."""
    if not elements.size:
        return None
    ends = (np.unravel_index(np.unique(elements), shape)) if shape else ()
    return tuple((int(axis.min()), int(axis.max()) + 1) for axis in ends)


def by_number(shape: Shape, view: Callable[[Array], Array], box: Box) -> Box | None:
    """What a box of a view of an operand is of the operand itself."""
    return around(shape, view(np.arange(prod(shape)).reshape(shape))[slices(box)].reshape(-1))


def broadcast(shape: Shape, out: Shape, box: Box) -> Box | None:
    """An operand of element-wise arithmetic; whole where it does not broadcast."""
    try:
        return by_number(shape, lambda a: np.broadcast_to(a, out), box)
    except ValueError:
        return whole(shape)


def by_axis(shape: Shape, box: Box, reads: Sequence[Reads]) -> Box | None:
    """What a box needs of an operand whose axes are read each for itself."""
    found: list[tuple[int, int]] = []
    for size, (start, stop), rule in zip(shape, box, reads, strict=True):
        read = [at for i in (start, stop - 1) for at in rule(i)]
        a, b = max(0, min(read)), min(size, max(read) + 1)
        if a >= b:
            return None
        found.append((a, b))
    return tuple(found)


def same(i: int) -> list[int]:
    return [i]


def windows(op: Operator) -> list[Reads]:
    """Of each spatial axis, from the first to the last element under a window."""
    return [
        lambda i, k=k, s=s, p=p, d=d: [i * s - p + j * d for j in range(k)]  # type: ignore[misc]
        for k, s, p, d in zip(*op.slide, strict=True)
    ]


def channels(op: Operator, inputs: int, outputs: int) -> Reads:
    """The channels of the group that an output channel is in; of a pool the channel."""
    n, m = inputs // op.groups, outputs // op.groups
    return same if "pool" in op.kind else lambda i: [i // m * n, (i // m + 1) * n - 1]


def resized(word: str, m: int, n: int) -> Reads:
    """Of m elements those that an element of n comes from, and what rounding may reach."""

    def reads(i: int) -> list[int]:
        if word == "nearest":
            at, exact, more = i * m / n, m == n or n == 2 * m, 0
        elif word == "corners":
            at, exact, more = i * (m - 1) / max(n - 1, 1), False, 1
        else:
            at, exact, more = max(((2 * i + 1) * m / n - 1) / 2, 0.0), False, 1
        slack = 0.0 if exact else 1e-3
        return [floor(at - slack + 1e-9), floor(at + slack + 1e-9) + more]

    return reads


def call_needs(
    op: Operator, relation: Sequence[Any], shape: Shape, operands: list[Shape], box: Box
) -> list[Box | None]:
    """What a source call needs of its operands for a box of its value of `shape`."""
    if not relation:
        return [whole(operand) for operand in operands]
    word, *at = relation
    data, rest = operands[0], operands[1:]
    match word:
        case "same":
            return [broadcast(operand, shape, box) for operand in operands]
        case "channels":
            ones = (1,) * (len(shape) - 2)
            axes = (around((n,), np.unique(_channel((n, *ones), shape, box))) for (n,) in rest)
            return [broadcast(data, shape, box), *axes]
        case "permute":
            return [by_number(data, lambda a: a.transpose(at), box)]
        case "slice":
            axis, start, step = at
            cut = (*[slice(None)] * axis, slice(start, None, step))
            return [by_number(data, lambda a: a[cut], box)]
        case "select":
            return [by_number(data, lambda a: a.take(at[1], at[0]), box)]
        case "reshape":
            return [by_number(data, lambda a: a.reshape(shape), box), *(None for _ in rest)]
        case "pad":
            return [by_axis(data, box, [lambda i, n=n: [i - n] for n in at])]  # type: ignore[misc]
        case "cat":
            ends = np.cumsum([0, *(operand[at[0]] for operand in operands)])
            moved = [(*box[: at[0]], _minus(box[at[0]], e), *box[at[0] + 1 :]) for e in ends[:-1]]
            return [by_axis(o, b, [same] * len(b)) for o, b in zip(operands, moved)]
        case "roll":
            moves = {"shift": at[1::2], "axis": at[::2]}
            return [by_number(data, lambda a: np.roll(a, **moves), box)]
        case "reduce":
            own = iter(box)
            return [tuple((0, n) if i in at else next(own) for i, n in enumerate(data))]
        case "groups":
            each = data[1] // at[0]
            numbers = sorted({c // each for c in range(*box[1])})
            group = (numbers[0] * each, (numbers[-1] + 1) * each)
            alike = ((group,) if o == data[1:2] else whole(o) for o in rest)
            return [(box[0], group, *whole(data[2:])), *alike]
        case "write":
            return written_needs(at[0], at[1:], shape, rest, box)
        case "einsum":
            axes = iter(at)
            return [
                tuple((0, n) if (i := next(axes)) < 0 or n == 1 else box[i] for n in operand)
                for operand in operands
            ]
        case "attention":
            q, (k, v) = data, rest[:2]
            seen = (0, k[-2])
            ways = [
                (q, (*shape[:-1], q[-1]), (*box[:-1], (0, q[-1]))),
                (k, (*shape[:-2], *k[-2:]), (*box[:-2], seen, (0, k[-1]))),
                (v, (*shape[:-2], *v[-2:]), (*box[:-2], seen, box[-1])),
                *((o, (*shape[:-1], k[-2]), (*box[:-1], seen)) for o in rest[2:]),
            ]
            return [broadcast(*way) for way in ways]
        case "sampled":
            return [(*box[:2], *whole(data[2:])), (box[0], *box[2:], (0, rest[0][-1]))]
        case "transposed":
            n, m, (out, *_) = data[1] // op.groups, shape[1] // op.groups, box[1:]
            own_channels = [i // m for i in range(*out)]
            group = (min(own_channels) * n, (max(own_channels) + 1) * n)
            every = [i % m for i in range(*out)] if len(set(own_channels)) == 1 else range(m)
            space = [seen_from(size, *axis) for size, *axis in zip(data[2:], box[2:], *op.slide)]
            read = (box[0], group, *(axis or (0, 0) for axis in space))
            weight = (group, (min(every), max(every) + 1), *whole(rest[0][2:]))
            return [read if all(space) else None, weight, *((out,) for _ in rest[1:])]
        case "along":
            every = [(0, data[i]) if i in at else axis for i, axis in enumerate(box)]
            return [tuple(every), *map(whole, rest)]
        case "matmul":
            left, right = data, rest[0]
            rows, columns = (*box[:-1], (0, left[-1])), (*box[:-2], (0, right[-2]), box[-1])
            return [
                broadcast(left, (*shape[:-1], left[-1]), rows),
                broadcast(right, (*shape[:-2], *right[-2:]), columns),
            ]
        case "linear":
            found: list[Box | None] = [(*box[:-1], (0, data[-1])), (box[-1], (0, rest[0][1]))]
            return [*found, *(broadcast(operand, shape, box) for operand in rest[1:])]
        case "window":
            axes_ = [same, channels(op, data[1], shape[1]), *windows(op)]
            weights = [(box[1], *whole(operand)[1:]) for operand in rest]
            return [by_axis(data, box, axes_), *weights]
        case "nearest" | "bilinear" | "corners":
            sizes = zip(data[2:], shape[2:], strict=True)
            return [by_axis(data, box, [same, same, *(resized(word, *mn) for mn in sizes)])]
        case "adaptive":
            own = len(shape) - at[0]
            pairs = zip(data[own:], shape[own:], strict=True)
            pooled: list[Reads] = [
                lambda i, m=m, n=n: [i * m // n, -(-(i + 1) * m // n) - 1]  # type: ignore[misc]
                for m, n in pairs
            ]
            return [by_axis(data, box, [*[same] * own, *pooled])]
    raise Refused(f"unknown relation {word!r:.40}")


def seen_from(
    size: int, box: tuple[int, int], k: int, s: int, p: int, d: int
) -> tuple[int, int] | None:
    """The elements of an axis that reach into a range, each from its first to its last place."""
    reach = [i for i in range(size) if i * s - p < box[1] and i * s - p + d * (k - 1) >= box[0]]
    return (reach[0], reach[-1] + 1) if reach else None


def written_needs(
    over: int, numbers: Sequence[int], shape: Shape, rest: Sequence[Shape], box: Box
) -> list[Box | None]:
    """What is needed of a value a part of which is written into, and of what is written there."""
    parts = [numbers[i : i + 4] for i in range(0, len(numbers), 4)]
    place = tuple(slice(a, b, s) if stays else a for a, b, s, stays in parts)
    marks = np.full(shape, -1)
    part = marks[place].shape
    marks[place] = np.arange(prod(part)).reshape(part)
    inside = marks[slices(box)]
    first: Box | None = box
    if over and all(step == 1 for _, _, step, _ in parts):  # Steps are not looked between.
        left = around(inside.shape, np.flatnonzero(inside < 0))
        first = left and tuple((a + i, a + j) for (a, _), (i, j) in zip(box, left))
    found = around(part, inside[inside >= 0])
    return [first, *(None if found is None else broadcast(o, part, found) for o in rest)]


def _channel(sizes: Shape, shape: Shape, box: Box) -> Array:
    return np.broadcast_to(np.arange(prod(sizes)).reshape(sizes), shape)[slices(box)]


def _minus(axis: tuple[int, int], by: int) -> tuple[int, int]:
    return axis[0] - int(by), axis[1] - int(by)


def detailed_needs(graph: Graph, op: Operator, output: str, box: Box) -> dict[str, list[Box]]:
    """Of an operator whose source calls say how they read: call by call, from the last."""
    shapes = {name: graph.tensors[name].shape for name in (*op.inputs, *op.parameters)}
    shapes |= {part[0]: tuple(part[2]) for part in op.parts}
    wanted: dict[str, list[Box]] = {output: [box]}
    for name, _, _, reads, relation in reversed(op.parts):
        for own in wanted.get(name, []):
            operands = [shapes[read] for read in reads]
            found = call_needs(op, relation, shapes[name], operands, own)
            for read, more in zip(reads, found, strict=True):
                if more is not None:
                    wanted[read] = with_box(wanted.get(read, []), more)
    operands_ = (*op.inputs, *op.parameters)
    return {name: found for name, found in wanted.items() if name in operands_}


def with_box(known: list[Box], more: Box) -> list[Box]:
    """Boxes of which none meets another, or fills a box with it; four at most."""

    def size(box: Box) -> int:
        return prod(b - a for a, b in box)

    for other in known:
        both = hull(other, more)
        meets = all(max(a, c) < min(b, d) for (a, b), (c, d) in zip(other, more))
        if meets or size(both) == size(other) + size(more):
            return with_box([each for each in known if each != other], both)
    return [*known, more] if len(known) < 4 else [hull(*known, more)]


def own_weights(graph: Graph, op: Operator, out: Shape) -> list[str]:
    """The parameters that have the shape of a product's weight."""
    data = graph.tensors[op.inputs[0]].shape
    image = (out[1], data[1] // op.groups, *op.slide[0]) if op.kind != "linear" else ()
    shape = image or (out[-1], data[-1])
    return [name for name in op.parameters if graph.tensors[name].shape == shape]


def is_local(graph: Graph, op: Operator, out: Shape) -> bool:
    """Whether a part of the output needs but a part: a window or product, and pointwise calls."""
    main = {op.kind} & (POOLS | CONVOLUTIONS | {"linear"})
    norms = set() if op.kind == "linear" else {"batch_norm"}
    if not set(op.kinds) <= POINTWISE | norms | main:
        return False
    if not main:
        return True
    if op.kinds.count(op.kind) != 1 or len(op.inputs) != 1:
        return False
    if BINARY & set(op.kinds[: op.kinds.index(op.kind)]):
        return False
    data = graph.tensors[op.inputs[0]].shape
    if op.kind == "linear":
        return len(out) == len(data) and bool(own_weights(graph, op, out))
    if not op.slide[0] or not len(out) == len(data) == len(op.slide[0]) + 2:
        return False
    if op.kind in POOLS:
        return data[1] == out[1]
    whole_groups = data[1] % op.groups == out[1] % op.groups == 0
    return whole_groups and bool(own_weights(graph, op, out))


def plain_needs(graph: Graph, op: Operator, output: str, box: Box) -> dict[str, Box]:
    """Of an operator of which kinds and sizes are known."""
    out = graph.tensors[output].shape
    shapes = {name: graph.tensors[name].shape for name in (*op.inputs, *op.parameters)}
    if not is_local(graph, op, out):
        return {name: whole(shape) for name, shape in shapes.items()}
    found: dict[str, Box | None] = {}
    for name, shape in shapes.items():
        axis = len(out) - 1 if op.kind == "linear" else 1
        if name in op.parameters and {*op.kinds, op.kind} - POINTWISE:
            by_channel = axis < len(out) and shape[:1] == out[axis : axis + 1]
            first = box[axis] if by_channel else (0, 0)
            found[name] = (first, *whole(shape)[1:]) if by_channel else whole(shape)
        elif op.kind == "linear" and name not in op.parameters:
            found[name] = (*box[:-1], (0, shape[-1]))
        elif op.slide[0] and name == op.inputs[0]:
            rules = [same, channels(op, shape[1], out[1]), *windows(op)]
            found[name] = by_axis(shape, box, rules)
        else:
            found[name] = broadcast(shape, out, box)
    return {name: b for name, b in found.items() if b is not None}


def summed(graph: Graph, op: Operator) -> int:
    """Channels that an operator may add up in parts; 0 where it may not."""
    products = CONVOLUTIONS | {"linear"}
    if len(op.outputs) != 1 or len(op.inputs) != 1 or op.groups != 1 or op.kind not in products:
        return 0
    out = graph.tensors[op.outputs[0]].shape
    if op.kinds[0] != op.kind or not is_local(graph, op, out):
        return 0
    mixes = len(op.parameters) > 1 and BINARY & set(op.kinds)
    if mixes or len(own_weights(graph, op, out)) != 1:
        return 0
    return graph.tensors[op.inputs[0]].shape[-1 if op.kind == "linear" else 1]


def needs(
    graph: Graph, op: Operator, output: str, box: Box, sums: tuple[int, int] | None, last: bool
) -> list[tuple[str, Box]]:
    """The boxes of operands that an operator needs to make a box of an output."""
    if op.parts and len(op.parts[-1]) > 2:
        apart = detailed_needs(graph, op, output, box)
        if sums is None:
            return [(name, each) for name, every in apart.items() for each in every]
        found = {name: hull(*every) for name, every in apart.items()}
    else:
        found = plain_needs(graph, op, output, box)
        if sums is None:
            return [*found.items()]
    weight = own_weights(graph, op, graph.tensors[output].shape)[0]
    axes = {op.inputs[0]: len(found[op.inputs[0]]) - 1 if op.kind == "linear" else 1, weight: 1}
    return [
        (name, (*b[: axes[name]], sums, *b[axes[name] + 1 :]) if name in axes else b)
        for name, b in found.items()
        if last or name in axes
    ]
