"""What moves elements between pixels, channels and batches, picks them out, or repeats them.

Where an operand says how large a value is, that is as the file has it: the runtime of
microcontrollers makes no other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.kernels.call import KernelCall, OutsideData, Unsupported
from planners.importers.tflite.kernels.elements import Made


def spread(call: KernelCall) -> Made:
    """DEPTH_TO_SPACE: channels that become squares of pixels."""
    x, side = call.array(0), int(call.get("BlockSize", 1))
    n, high, wide, depth = x.shape
    parts = x.reshape(n, high, wide, side, side, depth // side**2)
    return [parts.transpose(0, 1, 3, 2, 4, 5).reshape(call.out.shape)]


def gathered(call: KernelCall) -> Made:
    """SPACE_TO_DEPTH: squares of pixels that become channels."""
    x, side = call.array(0), int(call.get("BlockSize", 1))
    n, high, wide, depth = x.shape
    parts = x.reshape(n, high // side, side, wide // side, side, depth)
    return [parts.transpose(0, 1, 3, 2, 4, 5).reshape(call.out.shape)]


def batches(call: KernelCall) -> Made:
    """SPACE_TO_BATCH_ND: padded, and each place of a block of pixels an entry of the batch."""
    block = [int(n) for n in call.array(1).reshape(-1)]
    around = [(0, 0), *((int(a), int(b)) for a, b in call.array(2))]
    data: NDArray[Any] = call.array(0)
    around += [(0, 0)] * (data.ndim - len(around))
    if call.out.whole and call.out.zero and np.any(around):
        # LiteRT fills in the zero point, TensorFlow Lite Micro what its memory holds.
        raise Unsupported("padding where zero is another element than 0")
    padded = np.pad(data, around)
    shape = [len(padded)]
    for n, side in zip(padded.shape[1:], block, strict=False):
        shape += [n // side, side]
    rank = len(block)
    parts = padded.reshape(*shape, *padded.shape[1 + rank :])
    inner, outer = [2 + 2 * k for k in range(rank)], [1 + 2 * k for k in range(rank)]
    rest = range(1 + 2 * rank, parts.ndim)
    return [parts.transpose(*inner, 0, *outer, *rest).reshape(call.out.shape)]


def unbatched(call: KernelCall) -> Made:
    """BATCH_TO_SPACE_ND: the way back, and cropped."""
    block = [int(n) for n in call.array(1).reshape(-1)]
    data: NDArray[Any] = call.array(0)
    rank, sides = len(block), data.shape[1:]
    parts = data.reshape(*block, -1, *sides)
    order = [rank]
    for k in range(rank):
        order += [rank + 1 + k, k]
    order += range(2 * rank + 1, parts.ndim)
    whole = [n * side for n, side in zip(sides, block, strict=False)]
    whole_map = parts.transpose(*order).reshape(-1, *whole, *sides[rank:])
    cut = [slice(int(a), n - int(b)) for n, (a, b) in zip(whole, call.array(2), strict=True)]
    return [whole_map[(slice(None), *cut)]]


def mirrored(call: KernelCall) -> Made:
    """MIRROR_PAD, with the edge twice or once."""
    around = padding(call)
    once = call.get("Mode", 0) == tflite.MirrorPadMode.REFLECT
    return [np.pad(call.array(0), around, mode="reflect" if once else "symmetric")]


def stacked(call: KernelCall) -> Made:
    """PACK along a new axis."""
    return [np.stack([v for v in call.inputs if v is not None], axis=int(call.get("Axis", 0)))]


def padding(call: KernelCall) -> list[tuple[int, int]]:
    """How much is around each axis. Raises `OutsideData` for what gives another shape."""
    around = [(int(a), int(b)) for a, b in call.array(1)]
    sizes = zip(around, call.array(0).shape, call.out.shape, strict=True)
    if any(min(a, b) < 0 or a + n + b != m for (a, b), n, m in sizes):
        raise OutsideData("its amounts of padding give another shape than the file's")
    return around


def turned(call: KernelCall) -> Made:
    """TRANSPOSE by an order that data say."""
    return [call.array(0).transpose(_wholes(call, 1))]


def cut(call: KernelCall) -> Made:
    """SLICE from where data say."""
    data, begins, shape = call.array(0), _wholes(call, 1), call.out.shape
    for at, n, m in zip(begins, data.shape, shape, strict=True):
        if not 0 <= at <= n - m:
            raise OutsideData(f"its part begins at {at}, outside of {n}")
    return [data[tuple(slice(a, a + m) for a, m in zip(begins, shape, strict=True))]]


def strided(call: KernelCall) -> Made:
    """STRIDED_SLICE with steps backwards, new axes, or places that data say."""
    data: NDArray[Any] = call.array(0)
    begins, ends, steps = (_wholes(call, place) for place in (1, 2, 3))

    def has(mask: str, axis: int) -> bool:
        return bool(int(call.get(f"{mask}Mask", 0)) >> axis & 1)

    if call.get("Offset", False):
        raise Unsupported("ends that count from where it begins")
    parts: list[Any] = []
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        span = slice(None if has("Begin", axis) else begin, None if has("End", axis) else end, step)
        if has("Ellipsis", axis):
            parts.append(...)
        elif has("NewAxis", axis):
            parts.append(None)
        else:
            parts.append(begin if has("ShrinkAxis", axis) else span)
    return [np.asarray(data[tuple(parts)])]


def split(call: KernelCall) -> Made:
    """SPLIT and SPLIT_V along an axis that data say."""
    data, at = (1, 0) if call.kind == "SPLIT" else (0, 2)
    (axis,) = _wholes(call, at)
    ends = np.cumsum([as_.shape[axis] for as_ in call.made])[:-1]
    return list(np.split(call.array(data), ends, axis=axis))


def unstacked(call: KernelCall) -> Made:
    """UNPACK along an axis."""
    return list(np.moveaxis(call.array(0), int(call.get("Axis", 0)), 0))


def tiled(call: KernelCall) -> Made:
    """TILE as often as it takes."""
    data = call.array(0)
    return [np.tile(data, [m // n for n, m in zip(data.shape, call.out.shape, strict=True)])]


def broadcast(call: KernelCall) -> Made:
    """BROADCAST_TO."""
    return [np.broadcast_to(call.array(0), call.out.shape)]


def filled(call: KernelCall) -> Made:
    """FILL with one number."""
    return [np.full(call.out.shape, call.array(1).reshape(()))]


def reversed_along(call: KernelCall) -> Made:
    """REVERSE_V2."""
    return [np.flip(call.array(0), tuple(_wholes(call, 1)))]


def picked(call: KernelCall) -> Made:
    """GATHER along an axis, batch by batch."""
    data, places = call.array(0), call.array(1)
    batches, axis = int(call.get("BatchDims", 0)), int(call.get("Axis", 0)) % data.ndim
    if batches:
        batches %= places.ndim + 1
    _require_within(places, data.shape[axis])
    if not batches:
        return [np.take(data, places, axis=axis)]
    whole = data.shape[:batches]
    each = [np.take(data[b], places[b], axis=axis - batches) for b in np.ndindex(whole)]
    return [np.stack(each).reshape(call.out.shape)]


def picked_by_place(call: KernelCall) -> Made:
    """GATHER_ND: the last axis of the places are indices."""
    data, places = call.array(0), call.array(1)
    for axis in range(places.shape[-1]):
        _require_within(places[..., axis], data.shape[axis])
    return [data[tuple(np.moveaxis(places, -1, 0))]]


def looked_up(call: KernelCall) -> Made:
    """EMBEDDING_LOOKUP: rows of a table."""
    if call.type_of(1).dtype != call.out.dtype:
        raise Unsupported(f"{call.type_of(1).dtype} to {call.out.dtype}")
    _require_within(call.array(0), len(call.array(1)))
    return [call.array(1)[call.array(0)]]


def scattered(call: KernelCall) -> Made:
    """SCATTER_ND into zeros; what comes to one place is added up."""
    places, values = call.array(0), call.array(1)
    result = np.zeros(call.out.shape, values.dtype)
    for axis in range(places.shape[-1]):
        _require_within(places[..., axis], result.shape[axis])
    np.add.at(result, tuple(np.moveaxis(places, -1, 0)), values)
    return [result]


def updated(call: KernelCall) -> Made:
    """DYNAMIC_UPDATE_SLICE: a part in place of another, moved inside where it sticks out."""
    data, part = call.array(0).copy(), call.array(1)
    room = zip(_wholes(call, 2), data.shape, part.shape, strict=True)
    firsts = [min(max(at, 0), n - m) for at, n, m in room]
    data[tuple(slice(a, a + m) for a, m in zip(firsts, part.shape, strict=True))] = part
    return [data]


def selected(call: KernelCall) -> Made:
    """SELECT and SELECT_V2: elements of one or of the other; SELECT may have a condition a row."""
    which, one, other = (call.array(place) for place in range(3))
    if call.kind == "SELECT" and which.ndim == 1:
        which = which.reshape(-1, *[1] * (one.ndim - 1))
    return [np.where(which, one, other)]


def hot(call: KernelCall) -> Made:
    """ONE_HOT: one value at a place along an axis, another elsewhere."""
    axis = int(call.get("Axis", -1)) % len(call.out.shape)
    shape = [1] * len(call.out.shape)
    shape[axis] = -1
    here = np.expand_dims(call.array(0), axis) == np.arange(call.out.shape[axis]).reshape(shape)
    on, off = (call.array(place).reshape(()) for place in (2, 3))
    return [np.where(here, on, off)]


def shape_of(call: KernelCall) -> Made:
    """SHAPE and RANK."""
    shape = call.array(0).shape
    return [np.array(shape if call.kind == "SHAPE" else len(shape), call.out.dtype)]


def _wholes(call: KernelCall, place: int) -> list[int]:
    return [int(n) for n in call.array(place).reshape(-1)]


def _require_within(places: NDArray[Any], count: int) -> None:
    """Raise `OutsideData` for an index that is not there."""
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < count:
        raise OutsideData(f"it has an index outside of {count}")
