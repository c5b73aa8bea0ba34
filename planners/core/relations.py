"""How a call reads: from a box of its value back to boxes of its operands.

A relation is a word and its numbers, as an importer writes them. Boxes may be larger than what is
really needed (the hull of what a reshaped box comes from), never smaller. The words:

    same                       element by element, operands broadcast
    channels                   the same, but operands after the first count channels (axis 1)
    permute, *axes             axes of the operand in the value's order
    slice, axis, start, step   a range of an axis
    select, axis, index        one index of an axis, which goes
    reshape                    the same elements in the same order
    pad, *before               elements put in front of each axis (cut off where negative)
    cat, axis                  operands one after the other along an axis
    roll, (axis, shift)…       elements moved along axes, those past an end in at the other
    along, *axes               all of these axes for each element; later operands whole, but for
                               those of the first's shape
    reduce, *axes              the same, and these axes go
    groups, count              all of those groups of channels (axis 1) that the value's are in;
                               later operands count channels
    write, over, (start, stop, step, stays)…
                               the first operand, and what is written into a part of it: a range of
                               each axis, which that part has or (one index) has not; where `over`
                               the first is not read there
    matmul                     rows of the first, columns of the second, batches broadcast
    einsum, *axes              for each axis of each operand the value's axis, or -1: all of it
    linear                     the last axis of the data, the weight's rows, the bias
    attention                  rows of queries, all keys and values, rows of a mask
    window                     the window of the operator, with its weight and bias
    transposed                 what of the data that window, written by each element, is seen in
    sampled                    images by batch and channel, whole; where each element is looked for
    nearest, bilinear, corners resized from the third axis on; `corners` are aligned
    adaptive, axes             the last axes in windows of nearly equal size
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor, prod
from typing import Any, NamedTuple, TypeAlias

from planners.core.boxes import Box

Shape: TypeAlias = tuple[int, ...]
Relation: TypeAlias = tuple[str | int, ...]


class Slide(NamedTuple):
    """A window: one number a spatial axis; a pool has no weight."""

    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int
    pools: bool


def full(shape: Shape) -> Box:
    """All of a tensor."""
    return tuple((0, n) for n in shape)


def boxes(
    relation: Relation, shape: Shape, operands: Sequence[Shape], box: Box, slide: Slide
) -> list[Box | None]:
    """The box of each operand that a box of a value of `shape` needs; None for nothing.

    Raises `ValueError` where the relation does not suit the shapes.
    """
    if not relation:
        return [full(operand) for operand in operands]
    word, *numbers = relation
    rule = _WORDS.get(str(word))
    if rule is None or not all(type(n) is int for n in numbers):
        raise ValueError(f"unknown relation {relation!r:.60}")
    try:
        wanted = rule(_Call(shape, tuple(operands), box, numbers, slide, str(word)))
        return [_clipped(part, operand) for part, operand in zip(wanted, operands, strict=True)]
    except (IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ValueError(f"relation {relation!r:.60} does not suit its operands") from error


class _Call(NamedTuple):
    shape: Shape
    operands: tuple[Shape, ...]
    box: Box
    numbers: list[Any]
    slide: Slide
    word: str


def _clipped(box: Box | None, shape: Shape) -> Box | None:
    if box is None:
        return None
    inside = True
    for (start, stop), n in zip(box, shape, strict=True):
        if start >= stop or start >= n or stop <= 0:
            return None
        inside = inside and start >= 0 and stop <= n
    if inside:  # As nearly always.
        return box
    return tuple([(max(0, start), min(n, stop)) for (start, stop), n in zip(box, shape)])


def broadcast(shape: Shape, out: Shape, box: Box) -> Box:
    """The same box, with axes of one element and missing leading axes as broadcasting has them."""
    if len(shape) > len(box):
        return full(shape)
    tail, sizes = box[len(box) - len(shape) :], out[len(box) - len(shape) :]
    if any(n not in (1, size) for n, size in zip(shape, sizes, strict=True)):
        return full(shape)
    return tuple((0, 1) if n == 1 else axis for n, axis in zip(shape, tail, strict=True))


def window(axis: tuple[int, int], size: int, k: int, s: int, p: int, d: int) -> tuple[int, int]:
    """Input range of an output range: t·S + K − S for K without dilation (Optimus, eq. 4).

    Of whole columns of ranges where `axis` holds such.
    """
    first, last = axis[0] * s - p, (axis[1] - 1) * s - p + d * (k - 1) + 1
    if not isinstance(first, int):
        import numpy as np  # which single boxes do not need

        start = np.clip(first, 0, size)
        return start, np.maximum(start, np.clip(last, 0, size))
    start = min(max(0, first), size)
    return start, max(start, min(max(0, last), size))


def _same(c: _Call) -> list[Box | None]:
    return [broadcast(operand, c.shape, c.box) for operand in c.operands]


def _channels(c: _Call) -> list[Box | None]:
    channels = [c.box[1] if n == c.shape[1] else (0, 1) for (n,) in c.operands[1:]]
    return [broadcast(c.operands[0], c.shape, c.box), *((axis,) for axis in channels)]


def _permute(c: _Call) -> list[Box | None]:
    read = list(c.box)
    for place, axis in enumerate(c.numbers):
        read[axis] = c.box[place]
    return [tuple(read)]


def _slice(c: _Call) -> list[Box | None]:
    axis, start, step = c.numbers
    a, b = c.box[axis]
    return [_with(c.box, axis, (start + a * step, start + (b - 1) * step + 1))]


def _select(c: _Call) -> list[Box | None]:
    axis, index = c.numbers
    return [(*c.box[:axis], (index, index + 1), *c.box[axis:])]


def _pad(c: _Call) -> list[Box | None]:
    return [tuple((a - n, b - n) for (a, b), n in zip(c.box, c.numbers, strict=True))]


def _cat(c: _Call) -> list[Box | None]:
    (axis,) = c.numbers
    parts: list[Box | None] = []
    at = 0
    for size in (operand[axis] for operand in c.operands):
        start, stop = max(c.box[axis][0] - at, 0), min(c.box[axis][1] - at, size)
        parts.append(_with(c.box, axis, (start, stop)) if start < stop else None)
        at += size
    if at != c.shape[axis]:
        raise IndexError
    return parts


def _roll(c: _Call) -> list[Box | None]:
    read = c.box
    for axis, shift in zip(c.numbers[::2], c.numbers[1::2], strict=True):
        n = c.shape[axis]
        start, stop = (at - shift % n for at in read[axis])
        if start < 0 < stop:  # Both ends.
            start, stop = 0, n
        elif stop <= 0:
            start, stop = start + n, stop + n
        read = _with(read, axis, (start, stop))
    return [read]


def _along(c: _Call) -> list[Box | None]:
    read = c.box
    for axis in c.numbers:
        read = _with(read, axis, (0, c.operands[0][axis]))
    return [read, *(read if shape == c.operands[0] else full(shape) for shape in c.operands[1:])]


def _reduce(c: _Call) -> list[Box | None]:
    (data,), kept = c.operands, iter(c.box)
    return [tuple((0, n) if axis in c.numbers else next(kept) for axis, n in enumerate(data))]


def _groups(c: _Call) -> list[Box | None]:
    data, *rest = c.operands
    (count,) = c.numbers
    each = data[1] // count
    channels = (c.box[1][0] // each * each, -(-c.box[1][1] // each) * each)
    by_channel = ((channels,) if shape == data[1:2] else full(shape) for shape in rest)
    return [(c.box[0], channels, *full(data[2:])), *by_channel]


def _write(c: _Call) -> list[Box | None]:
    first, *rest = c.operands
    over, numbers = c.numbers[0], c.numbers[1:]
    axes = list(zip(*(numbers[i::4] for i in range(4)), strict=True))
    written: Box | None = c.box
    if over:
        written = _beside(c.box, [(start, stop, step) for start, stop, step, _ in axes])
    shape: list[int] = []
    part: list[tuple[int, int]] = []
    empty = False
    for (a, b), (start, stop, step, kept) in zip(c.box, axes, strict=True):
        low, high = -((start - a) // step), -((start - min(b, stop)) // step)
        empty |= max(low, 0) >= high
        if kept:
            shape.append(-((start - stop) // step))
            part.append((max(low, 0), high))
    if len(first) != len(axes):
        raise IndexError
    wanted = (None if empty else broadcast(o, tuple(shape), tuple(part)) for o in rest)
    return [written, *wanted]


def _beside(box: Box, part: Sequence[tuple[int, int, int]]) -> Box | None:
    """The box of what of a box is not in a part; None where all of it is."""
    outside = [
        axis
        for axis, ((a, b), (start, stop, step)) in enumerate(zip(box, part, strict=True))
        if a < start or stop < b or step > 1
    ]
    if len(outside) != 1:
        return box if outside else None
    (axis,) = outside
    (a, b), (start, stop, step) = box[axis], part[axis]
    if step > 1 or (a < start and stop < b) or b <= start or stop <= a:
        return box
    return _with(box, axis, (a, start) if a < start else (stop, b))


def _matmul(c: _Call) -> list[Box | None]:
    left, right = c.operands
    rows, columns = (*c.box[:-1], (0, left[-1])), (*c.box[:-2], (0, right[-2]), c.box[-1])
    return [
        broadcast(left, (*c.shape[:-1], left[-1]), rows),
        broadcast(right, (*c.shape[:-2], *right[-2:]), columns),
    ]


def _linear(c: _Call) -> list[Box | None]:
    data, weight, *bias = c.operands
    return [
        (*c.box[:-1], (0, data[-1])),
        (c.box[-1], (0, weight[1])),
        *(broadcast(shape, c.shape, c.box) for shape in bias),
    ]


def _einsum(c: _Call) -> list[Box | None]:
    axes = iter(c.numbers)
    read: list[Box | None] = []
    for operand in c.operands:
        operand_axes = [next(axes) for _ in operand]
        read.append(
            tuple((0, n) if at < 0 or n == 1 else c.box[at] for at, n in zip(operand_axes, operand))
        )
    return read


def _attention(c: _Call) -> list[Box | None]:
    queries, keys, values, *masks = c.operands
    before, count = c.shape[:-2], keys[-2]
    rows, batch, seen = c.box[:-1], c.box[:-2], (0, count)
    return [
        broadcast(queries, (*c.shape[:-1], queries[-1]), (*rows, (0, queries[-1]))),
        broadcast(keys, (*before, *keys[-2:]), (*batch, seen, (0, keys[-1]))),
        broadcast(values, (*before, *values[-2:]), (*batch, seen, c.box[-1])),
        *(broadcast(mask, (*c.shape[:-1], count), (*rows, seen)) for mask in masks),
    ]


def _sampled(c: _Call) -> list[Box | None]:
    images, places = c.operands
    return [(*c.box[:2], *full(images[2:])), (c.box[0], *c.box[2:], (0, places[-1]))]


def _window(c: _Call) -> list[Box | None]:
    data, slide = c.operands[0], c.slide
    spatial = tuple(
        window(axis, *item)
        for axis, *item in zip(
            c.box[2:],
            data[2:],
            slide.kernel,
            slide.stride,
            slide.padding,
            slide.dilation,
            strict=True,
        )
    )
    if slide.pools:
        return [(*c.box[:2], *spatial)]
    per_in, per_out = data[1] // slide.groups, c.shape[1] // slide.groups
    start, stop = c.box[1]
    channels = (start // per_out * per_in, ((stop - 1) // per_out + 1) * per_in)
    rest = [(c.box[1], *full(operand)[1:]) for operand in c.operands[1:]]
    return [(c.box[0], channels, *spatial), *rest]


def _transposed(c: _Call) -> list[Box | None]:
    """Element i of the data is seen from i·S − P on, in every D-th of K elements."""
    data, weight, *bias = c.operands
    spatial = tuple(
        (-((d * (k - 1) - p - start) // s), (stop - 1 + p) // s + 1)
        for (start, stop), k, s, p, d in zip(c.box[2:], *c.slide[:4], strict=True)
    )
    per_in, per_out = data[1] // c.slide.groups, weight[1]
    start, stop = c.box[1]
    first, last = start // per_out, (stop - 1) // per_out
    channels = (first * per_in, (last + 1) * per_in)
    out_channels = (
        (start - first * per_out, stop - first * per_out) if first == last else (0, per_out)
    )
    rest = [(c.box[1], *full(operand)[1:]) for operand in bias]
    return [(c.box[0], channels, *spatial), (channels, out_channels, *full(weight[2:])), *rest]


def _resize(c: _Call) -> list[Box | None]:
    (data,) = c.operands
    axes = zip(c.box[2:], data[2:], c.shape[2:], strict=True)
    return [(*c.box[:2], *(_resized(c.word, axis, m, n) for axis, m, n in axes))]


def _resized(word: str, axis: tuple[int, int], m: int, n: int) -> tuple[int, int]:
    """Of m elements, those that a range of n comes from; kernels round in single precision."""
    if word == "nearest":
        first, last = Fraction(axis[0] * m, n), Fraction((axis[1] - 1) * m, n)
    elif word == "corners":
        first, last = (Fraction(at * (m - 1), max(n - 1, 1)) for at in (axis[0], axis[1] - 1))
    else:
        first, last = (
            max(Fraction((2 * at + 1) * m - n, 2 * n), Fraction(0)) for at in (axis[0], axis[1] - 1)
        )
    exact = word == "nearest" and (m == n or n == 2 * m)
    slack = Fraction(0) if exact else Fraction(1, 1000)
    beyond = 0 if word == "nearest" else 1
    return floor(first - slack), floor(last + slack) + beyond + 1


def _adaptive(c: _Call) -> list[Box | None]:
    """Output i of n takes the inputs from ⌊i·m/n⌋ to ⌈(i+1)·m/n⌉ of m."""
    (data,), (axes,) = c.operands, c.numbers
    spatial = tuple(
        (start * m // n, -(-stop * m // n))
        for (start, stop), m, n in zip(c.box[-axes:], data[-axes:], c.shape[-axes:], strict=True)
    )
    return [(*c.box[:-axes], *spatial)]


def _reshape(c: _Call) -> list[Box | None]:
    """Within each group of axes that hold as many elements, the hull of the range they span."""
    read: list[tuple[int, int]] = []
    for before, after in axis_groups(c.operands[0], c.shape):
        sizes = c.shape[after[0] : after[1]]
        first = _flat(sizes, [start for start, _ in c.box[after[0] : after[1]]])
        last = _flat(sizes, [stop - 1 for _, stop in c.box[after[0] : after[1]]])
        read += _span(c.operands[0][before[0] : before[1]], first, last)
    return [tuple(read), *(None for _ in c.operands[1:])]


@lru_cache(maxsize=1000)
def axis_groups(a: Shape, b: Shape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges of axes of two shapes that hold the same elements. Raises `ValueError`."""
    if prod(a) != prod(b):
        raise ValueError(f"{a} does not reshape to {b}")
    groups, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        p, q = i, j
        left = right = 1
        while (i == p and j == q) or left != right:
            if i < len(a) and (left <= right or j == len(b)):
                left *= a[i]
                i += 1
            else:
                right *= b[j]
                j += 1
        groups.append(((p, i), (q, j)))
    return groups


def _flat(sizes: Shape, index: list[int]) -> int:
    at = 0
    for size, i in zip(sizes, index, strict=True):
        at = at * size + i
    return at


def _span(sizes: Shape, first: int, last: int) -> list[tuple[int, int]]:
    """The box around elements first to last of these axes."""
    ranges: list[tuple[int, int]] = []
    rest = prod(sizes)
    for n in sizes:
        rest //= n
        a, b = first // rest, last // rest
        ranges.append((a, b + 1))
        first, last = (first % rest, last % rest) if a == b else (0, rest - 1)
    return ranges


def _with(box: Box, axis: int, part: tuple[int, int]) -> Box:
    return (*box[:axis], part, *box[axis + 1 :])


_WORDS: dict[str, Callable[[_Call], list[Box | None]]] = {
    "same": _same,
    "channels": _channels,
    "permute": _permute,
    "slice": _slice,
    "select": _select,
    "reshape": _reshape,
    "pad": _pad,
    "cat": _cat,
    "roll": _roll,
    "along": _along,
    "reduce": _reduce,
    "groups": _groups,
    "write": _write,
    "matmul": _matmul,
    "einsum": _einsum,
    "linear": _linear,
    "attention": _attention,
    "window": _window,
    "transposed": _transposed,
    "sampled": _sampled,
    "nearest": _resize,
    "bilinear": _resize,
    "corners": _resize,
    "adaptive": _adaptive,
}
