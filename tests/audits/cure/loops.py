"""The loops of TensorFlow Lite Micro's reference kernels, one line of Python for each of C++.

They say in which order elements are read and written, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from planners.importers.tflite.file import TfliteFile, TfliteOperator

Event = tuple[str, int]
"""`read` or `write`, and the element as it lies in memory."""


def loops(file: TfliteFile, operator: TfliteOperator, tensor: int) -> list[Event]:
    """What a kernel does to its output and to one of its inputs, in order."""
    graph = file.subgraphs[0]
    shape, out = graph.tensors[tensor].shape, graph.tensors[operator.outputs[0]].shape
    return list(_LOOPS.get(operator.kind, _elements)(file, operator, shape, out))


def at(shape: tuple[int, ...], *index: int) -> int:
    """`Offset` of the runtime: an element by its index."""
    place = 0
    for n, k in zip(shape, index, strict=True):
        place = place * n + k
    return place


def _padding(operator: TfliteOperator, size: int, out: int, axis: str, taps: int) -> int:
    dilation = operator.get(f"Dilation{axis}Factor", 1)
    if operator.get("Padding"):  # VALID
        return 0
    effective = (taps - 1) * dilation + 1
    return max(0, (out - 1) * operator.get(f"Stride{axis}", 1) + effective - size) // 2


def _inside(
    operator: TfliteOperator, shape: tuple[int, ...], out: tuple[int, ...], taps: tuple[int, int]
) -> Callable[[int, int], Iterator[tuple[int, int]]]:
    """The pixels under a window of the output's pixel, in the order of the filter."""
    strides = [operator.get(f"Stride{a}", 1) for a in "HW"]
    dilations = [operator.get(f"Dilation{a}Factor", 1) for a in "HW"]
    pads = [_padding(operator, shape[k], out[k], "HW"[k - 1], taps[k - 1]) for k in (1, 2)]

    def pixels(out_y: int, out_x: int) -> Iterator[tuple[int, int]]:
        for filter_y in range(taps[0]):
            for filter_x in range(taps[1]):
                in_y = out_y * strides[0] - pads[0] + filter_y * dilations[0]
                in_x = out_x * strides[1] - pads[1] + filter_x * dilations[1]
                if 0 <= in_y < shape[1] and 0 <= in_x < shape[2]:
                    yield in_y, in_x

    return pixels


def _convolution(file, operator, shape, out):  # type: ignore[no-untyped-def]
    made, high, wide, each = file.subgraphs[0].tensors[operator.inputs[1]].shape
    pixels = _inside(operator, shape, out, (high, wide))
    per_group = made // (shape[3] // each)
    for batch in range(out[0]):
        for out_y in range(out[1]):
            for out_x in range(out[2]):
                for out_channel in range(made):
                    group = out_channel // per_group
                    for in_y, in_x in pixels(out_y, out_x):
                        for in_channel in range(each):
                            yield "read", at(shape, batch, in_y, in_x, in_channel + group * each)
                    yield "write", at(out, batch, out_y, out_x, out_channel)


def _depthwise(file, operator, shape, out):  # type: ignore[no-untyped-def]
    weights = file.subgraphs[0].tensors[operator.inputs[1]].shape
    pixels = _inside(operator, shape, out, weights[1:3])
    multiplier = out[3] // shape[3]
    for batch in range(out[0]):
        for out_y in range(out[1]):
            for out_x in range(out[2]):
                for in_channel in range(shape[3]):
                    for m in range(multiplier):
                        for in_y, in_x in pixels(out_y, out_x):
                            yield "read", at(shape, batch, in_y, in_x, in_channel)
                        channel = m + in_channel * multiplier
                        yield "write", at(out, batch, out_y, out_x, channel)


def _pool(file, operator, shape, out):  # type: ignore[no-untyped-def]
    taps = operator.get("FilterHeight"), operator.get("FilterWidth")
    pixels = _inside(operator, shape, out, taps)
    for batch in range(out[0]):
        for out_y in range(out[1]):
            for out_x in range(out[2]):
                for channel in range(out[3]):
                    for in_y, in_x in pixels(out_y, out_x):
                        yield "read", at(shape, batch, in_y, in_x, channel)
                    yield "write", at(out, batch, out_y, out_x, channel)


def _elements(file, operator, shape, out):  # type: ignore[no-untyped-def]
    stretched = (1,) * (len(out) - len(shape)) + tuple(shape)
    for element in range(prod(out)):
        index, rest = [], element
        for n in reversed(out):
            index.insert(0, rest % n)
            rest //= n
        yield "read", at(stretched, *(k if n > 1 else 0 for n, k in zip(stretched, index)))
        yield "write", element


def _softmax(file, operator, shape, out):  # type: ignore[no-untyped-def]
    depth = shape[-1]
    for row in range(prod(shape[:-1])):
        for _ in ("largest", "sum"):
            for c in range(depth):
                yield "read", row * depth + c
        for c in range(depth):
            yield "read", row * depth + c
            yield "write", row * depth + c


def _sums(file, operator, shape, out):  # type: ignore[no-untyped-def]
    made, depth = file.subgraphs[0].tensors[operator.inputs[1]].shape
    for batch in range(prod(out[:-1])):
        for out_channel in range(made):
            for d in range(depth):
                yield "read", batch * depth + d
            yield "write", out_channel + made * batch


def _pad(file, operator, shape, out):  # type: ignore[no-untyped-def]
    around = file.numbers(file.subgraphs[0].tensors[operator.inputs[1]])
    taken = 0
    for element in range(prod(out)):
        index, rest = [], element
        for n in reversed(out):
            index.insert(0, rest % n)
            rest //= n
        if all(a <= k < n - b for k, n, (a, b) in zip(index, out, around)):
            yield "read", taken
            taken += 1
        yield "write", element


_LOOPS = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "MAX_POOL_2D": _pool,
    "AVERAGE_POOL_2D": _pool,
    "SOFTMAX": _softmax,
    "FULLY_CONNECTED": _sums,
    "PAD": _pad,
}
