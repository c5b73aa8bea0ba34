"""Kernels that compute one output pixel of an operator from the bytes under its window.

Products are summed in float64, where integers below 2^53 are exact; none here reaches 2^31.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.geometry import Image, image
from planners.backends.int8.net import Channels, QOp, finished, scaled
from planners.core.graph import Graph
from tests.backends.int8_pool.covers import WindowPixels, cover

Integers = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """An operator, pixel by pixel.

    `images` are its inputs as it reads them, `target` its output. `last[i][c]` is the last output
    channel that reads channel c of input i, −1 where none does. `weight` is ready for `compute`.
    """

    op: QOp
    images: tuple[Image, ...]
    target: Image
    last: tuple[Integers, ...]
    weight: NDArray[np.float64]

    def covers(self, row: int, column: int) -> list[WindowPixels]:
        """The pixels of each input under the window of an output pixel."""
        if self.op.kind in ("conv", "max_pool", "avg_pool"):
            return [cover(self.op, self.images[0], row, column)]
        own = pixel(row, column)
        return [pixel(0, 0) if source.pixels == 1 else own for source in self.images]

    def compute(self, values: Sequence[Integers], covers: Sequence[WindowPixels]) -> Integers:
        """All channels of the output pixel, from [pixels, channels] of each input."""
        op = self.op
        if op.kind in ("conv", "linear"):
            return finished(op, scaled(self.sums(values[0], covers[0]), op.multiplier, op.shift))
        taken = [
            value if (chosen := op.channels_of(i)) is None else value[:, chosen]
            for i, value in enumerate(values)
        ]
        return finished(op, self._unweighted(taken, covers))

    def sums(self, value: Integers, under: WindowPixels, bias: bool = True) -> Integers:
        """The sums of products, one a channel, of a convolution or a linear operator."""
        op, (taps, channels, _) = self.op, self.weight.shape
        assert op.bias is not None
        chosen = op.channels_of(0)
        full = np.zeros((op.kernel[0] * op.kernel[1], len(self.last[0])))
        full[under.taps] = value - op.zero_in[0]
        if chosen is not None:
            full = full[:, chosen]
        if channels == 1 and op.groups > 1:
            repeats = self.target.channels // op.groups
            full = full if repeats == 1 else np.repeat(full, repeats, axis=1)
            sums = np.einsum("tk,tk->k", full, self.weight[:, 0])
        elif op.groups == 1:
            sums = full.ravel() @ self.weight.reshape(taps * channels, -1)
        else:
            each = full.reshape(taps, op.groups, 1, channels).swapaxes(0, 1)
            weight = self.weight.reshape(taps, channels, op.groups, -1).transpose(2, 0, 1, 3)
            sums = (each @ weight).sum(axis=1).ravel()
        exact: Integers = sums.astype(np.int64)
        return exact + op.bias if bias else exact

    def pointwise(self, values: Integers) -> Integers:
        """[pixels, K] of a 1×1 convolution of one group, from [pixels, channels]."""
        assert self.op.bias is not None
        sums = (values - self.op.zero_in[0]).astype(np.float64) @ self.weight[0]
        exact: Integers = sums.astype(np.int64) + self.op.bias
        return finished(self.op, scaled(exact, self.op.multiplier, self.op.shift))

    def _unweighted(self, values: list[Integers], covers: Sequence[WindowPixels]) -> Integers:
        op = self.op
        if op.kind == "max_pool":
            inside: Integers = values[0].max(axis=0)
            return inside - op.zero_out
        if op.kind == "table":
            looked_up: Integers = values[0][0]
            return looked_up - op.zero_out
        real = [value - zero for value, zero in zip(values, op.zero_in)]
        if op.kind == "avg_pool":
            factor = op.multiplier[covers[0].averaged]
            return scaled(real[0].sum(axis=0), factor, op.shift)
        if op.kind == "cat":
            parts = [scaled(r[0], m, op.shift) for r, m in zip(real, op.multiplier)]
            return np.concatenate(parts)
        if op.kind == "add":
            both = real[0][0] * op.multiplier[0] + real[1][0] * op.multiplier[1]
            return scaled(both, 1, op.shift)
        return scaled(real[0][0] * real[1][0], op.multiplier[0], op.shift)


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Kernel):
    """A kernel and an element-wise one that reads its value, which is never stored."""

    first: Kernel
    second: Kernel
    joint: int

    @staticmethod
    def of(first: Kernel, second: Kernel) -> Joined:
        """Both as one; the first's inputs come before the second's others."""
        joint = second.op.inputs.index(first.op.output)

        def others(items: Sequence[T]) -> list[T]:
            return [item for i, item in enumerate(items) if i != joint]

        return Joined(
            op=replace(second.op, inputs=(*first.op.inputs, *others(second.op.inputs))),
            images=(*first.images, *others(second.images)),
            target=second.target,
            last=(*first.last, *others(second.last)),
            weight=first.weight,
            first=first,
            second=second,
            joint=joint,
        )

    def covers(self, row: int, column: int) -> list[WindowPixels]:
        rest = self.second.covers(row, column)
        del rest[self.joint]
        return [*self.first.covers(row, column), *rest]

    def compute(self, values: Sequence[Integers], covers: Sequence[WindowPixels]) -> Integers:
        count = len(self.first.images)
        value = self.first.compute(values[:count], covers[:count])
        rest, under = list(values[count:]), list(covers[count:])
        rest.insert(self.joint, value[None])
        under.insert(self.joint, pixel(0, 0))
        return self.second.compute(rest, under)


def pixel(row: int, column: int) -> WindowPixels:
    """One pixel."""
    return WindowPixels(np.array([row]), np.array([column]), np.zeros(1, np.int64), 1)


def kernel(graph: Graph, op: QOp) -> Kernel:
    """The kernel of an operator of the graph."""
    target = image(graph.tensors[op.output].shape)
    images = tuple(image(graph.tensors[name].shape) for name in op.inputs)
    if op.kind == "linear":
        assert op.weight is not None
        images = (Image(target.pixels, 1, op.weight.shape[1]),)
    return shaped(op, images, target)


def shaped(op: QOp, images: tuple[Image, ...], target: Image) -> Kernel:
    """The kernel of an operator on images of these sizes."""
    return Kernel(op, images, target, _last(op, images, target), _weight(op))


def part_of(whole: Kernel, begin: int, end: int, *, outputs: bool, inputs: bool) -> Kernel:
    """A convolution's output channels begin…end, or its products with those input channels only.

    With both, a depthwise convolution of these channels alone; with `outputs` alone it picks them
    out of all that its input has.
    """
    op, channels = whole.op, slice(begin, end)
    assert op.weight is not None
    assert op.bias is not None
    depthwise = op.groups > 1
    weight, bias, multiplier = op.weight, op.bias, op.multiplier
    if outputs:
        weight, bias, multiplier = weight[channels], bias[channels], multiplier[channels]
    if inputs and not depthwise:
        weight = weight[..., channels]
    picked: tuple[Channels, ...] = ()
    if depthwise and not inputs:
        chosen = op.channels_of(0)
        picked = (np.arange(begin, end) if chosen is None else chosen[begin:end],)
    source = whole.images[0]
    images = (Image(source.height, source.width, end - begin) if inputs else source,)
    count = end - begin if outputs else whole.target.channels
    part = replace(
        op,
        weight=weight,
        bias=bias,
        multiplier=multiplier,
        channels=picked,
        groups=end - begin if depthwise else 1,
    )
    return shaped(part, images, Image(whole.target.height, whole.target.width, count))


def _weight(op: QOp) -> NDArray[np.float64]:
    """[R · S, C / groups, K]; empty for an operator without weights."""
    if op.weight is None:
        return np.zeros((0, 0, 0))
    taps = op.kernel[0] * op.kernel[1]
    weight = op.weight.reshape(len(op.weight), taps, -1)
    return np.ascontiguousarray(weight.transpose(1, 2, 0), dtype=np.float64)


def _last(op: QOp, images: tuple[Image, ...], target: Image) -> tuple[Integers, ...]:
    last_readers = []
    begin = 0
    for i, source in enumerate(images):
        chosen = op.channels_of(i)
        read = np.arange(source.channels) if chosen is None else chosen
        if op.kind in ("conv", "linear"):
            each, wide = len(read) // op.groups, target.channels // op.groups
            readers = (np.arange(len(read)) // each + 1) * wide - 1
        else:
            readers = begin + np.arange(len(read))
        begin += len(read) if op.kind == "cat" else 0
        last = np.full(source.channels, -1)
        np.maximum.at(last, read, readers)
        last_readers.append(last)
    return tuple(last_readers)
