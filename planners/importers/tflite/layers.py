"""TensorFlow Lite's layers in ATen's words: what slides, multiplies, or runs through time.

Weights are said to have the shapes that PyTorch gives them: (out, in, rows, columns).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import tflite

from planners.importers.tflite.values import TfliteNode, turned
from planners.importers.torch.aten_calls import BEFORE, Aten, Said, Shape
from planners.importers.torch.ops import lowest

RECURRENT = (
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "LSTM",
    "RNN",
    "SVDF",
)
_AXES = {1: "W", 2: "HW", 3: "DHW"}


def _window(
    node: TfliteNode, data: Sequence[int], out: Sequence[int], kernel: Sequence[int]
) -> dict[str, object]:
    """What slides over `data` to give `out`, sizes in space; padding is that in front."""
    letters = _AXES[len(kernel)]
    strides = [int(node.get(f"Stride{a}", 1)) or 1 for a in letters]
    dilations = [int(node.get(f"Dilation{a}Factor", 1)) or 1 for a in letters]
    pads = [0] * len(kernel)
    if node.get("Padding", 0) == tflite.Padding.SAME:
        sizes = zip(data, out, kernel, strides, dilations, strict=True)
        pads = [max(0, (m - 1) * s + d * (k - 1) + 1 - n) // 2 for n, m, k, s, d in sizes]
    return {"stride": strides, "padding": pads, "dilation": dilations}


def _operands(node: TfliteNode, weight: Shape) -> dict[str, str]:
    """Data, weight and bias; the weight has this shape."""
    names = {"input": node.input(0), "weight": node.reshaped(node.input(1), weight)}
    return names | ({"bias": node.input(2)} if node.input(2) else {})


def convolution(node: TfliteNode) -> Said:
    """A convolution; its filters are (out, rows, columns, in), with depth (d, rows, columns, in,
    out)."""
    given = node.file_shape(1)
    axes = len(given) - 2
    weight = turned(given) if axes == 2 else (given[-1], given[-2], *given[:-2])
    data = node.shape()
    if data[1] % weight[1] or weight[0] % (data[1] // weight[1]):
        raise ValueError(f"filters of {given} for {data}")
    window = _window(node, data[2:], node.out[2:], weight[2:])
    args = window | {"groups": data[1] // weight[1]}
    macs = prod(node.out) * prod(weight[1:])
    zero = node.zero(node.input(0))
    return [Aten(f"conv{axes}d", _operands(node, weight), args, macs=macs, beyond=zero)]


def depthwise(node: TfliteNode) -> Said:
    """Each channel by itself; filters are (1, rows, columns, out)."""
    _, rows, columns, count = node.file_shape(1)
    data, weight = node.shape(), (count, 1, rows, columns)
    if count % data[1]:
        raise ValueError(f"filters of {node.file_shape(1)} for {data}")
    window = _window(node, data[2:], node.out[2:], weight[2:])
    args = window | {"groups": data[1]}
    macs = prod(node.out) * rows * columns
    zero = node.zero(node.input(0))
    return [Aten("conv2d", _operands(node, weight), args, macs=macs, beyond=zero)]


def transposed(node: TfliteNode) -> Said:
    """A transposed convolution: sizes, filters (out, rows, columns, in), data, bias."""
    out, rows, columns, into = node.file_shape(1)
    weight = (into, out, rows, columns)
    operands = {"input": node.input(2), "weight": node.reshaped(node.input(1), weight)}
    if node.input(3):
        operands["bias"] = node.input(3)
    window = _window(node, node.out[2:], node.shape(2)[2:], weight[2:])
    macs = prod(node.shape(2)) * prod(weight[1:])
    return [Aten("conv_transpose2d", operands, window, macs=macs)]


def fully_connected(node: TfliteNode) -> Said:
    """A linear layer on what the file has as the last axis of its data."""
    columns, depth = node.file_shape(1)
    data, rows = node.file_shape(), prod(node.file_shape()) // max(1, depth)
    if prod(data) != rows * depth or prod(node.out) != rows * columns:
        raise ValueError(f"a weight of {(columns, depth)} for {data}")
    source, steps = node.input(0), []
    out = node.out
    if len(data) != 2 or len(out) != 2:
        mixed = len(data) in (4, 5) and prod(data[1:-1]) > 1
        relation = () if mixed else None
        steps.append(Aten("reshape", {"self": source}, relation=relation, shape=(rows, depth)))
        source = BEFORE
    operands = {"input": source, "weight": node.reshaped(node.input(1), (columns, depth))}
    if node.input(2):
        operands["bias"] = node.input(2)
    macs = rows * columns * depth
    steps.append(Aten("linear", operands, macs=macs, shape=(rows, columns)))
    if len(out) != 2:
        mixed = len(out) in (4, 5) and prod(out[2:]) > 1
        steps.append(Aten("reshape", {"self": BEFORE}, relation=() if mixed else None))
    return steps


def product(node: TfliteNode) -> Said:
    """A product of matrices, either of them transposed or not."""
    data = node.file_shape()
    depth = data[-2] if node.get("AdjX", False) else data[-1]
    plain = not (node.get("AdjX", False) or node.get("AdjY", False)) and len(data) < 4
    operands = {"self": node.input(0), "other": node.input(1)}
    relation = None if plain else ()
    return [Aten("matmul", operands, relation=relation, macs=prod(node.out) * depth)]


def pool(kind: str) -> Callable[[TfliteNode], Said]:
    """A pool with a window; averages leave out what is past the edge."""

    def say(node: TfliteNode) -> Said:
        kernel = (int(node.get("FilterHeight", 1)), int(node.get("FilterWidth", 1)))
        args = _window(node, node.shape()[2:], node.out[2:], kernel)
        args |= {"kernel_size": list(kernel)}
        name = node.input(0)
        beyond = lowest(node.values.of[name].dtype) if kind == "max" else None
        return [Aten(f"{kind}_pool2d", {"self": name}, args, ("window",), beyond=beyond)]

    return say


def resize(kind: str) -> Callable[[TfliteNode], Said]:
    """A resize in space; how it looks around is known where pixels have their centres half-way."""

    def say(node: TfliteNode) -> Said:
        corners = bool(node.get("AlignCorners", False))
        args = {"align_corners": corners}
        halves = bool(node.get("HalfPixelCenters", False))
        plain = "nearest" in kind and not corners and not halves
        plain_centres = plain or ("bilinear" in kind and (corners or halves))
        relation = None if plain_centres and not (corners and halves) else ()
        return [Aten(kind, {"self": node.input(0)}, args, relation)]

    return say


def recurrent(node: TfliteNode) -> Said:
    """All of it at once; MACs of each matrix at every step of each sequence."""
    data = node.file_shape()
    steps = prod(data[:-1])
    weights = [name for name in node.inputs[1:] if node.is_weight(name)]
    shapes = [node.values.tensors[name].shape for name in weights]
    if node.operator.kind == "SVDF":
        macs = data[0] * sum(prod(shape) for shape in shapes if len(shape) == 2)
    else:
        macs = steps * sum(prod(shape) for shape in shapes if len(shape) == 2)
    operands = {f"input{i}": name for i, name in enumerate(node.inputs)}
    kind = node.operator.kind.lower().replace("unidirectional_sequence_", "")
    return [Aten(kind, operands, relation=(), macs=macs)]
