"""What moves elements between pixels, channels and batches, or repeats them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.kernels.call import KernelCall, Unsupported
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
    made = parts.transpose(*order).reshape(-1, *whole, *sides[rank:])
    cut = [slice(int(a), n - int(b)) for n, (a, b) in zip(whole, call.array(2), strict=True)]
    return [made[(slice(None), *cut)]]


def mirrored(call: KernelCall) -> Made:
    """MIRROR_PAD, with the edge twice or once."""
    around = [(int(a), int(b)) for a, b in call.array(1)]
    once = call.get("Mode", 0) == tflite.MirrorPadMode.REFLECT
    return [np.pad(call.array(0), around, mode="reflect" if once else "symmetric")]


def stacked(call: KernelCall) -> Made:
    """PACK along a new axis."""
    return [np.stack([v for v in call.inputs if v is not None], axis=int(call.get("Axis", 0)))]
