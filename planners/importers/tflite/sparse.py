"""Constants of which a file holds the elements that are not zero, and where each of them lies.

Axes, and behind them blocks of axes, are gone through in the file's order (`TraversalOrder`): a
dense one has all its places, of a sparse one each place before has the indices of a segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.core.reading_limits import require_room
from planners.importers.tflite.kernels.fixed_point import Integers

MOST_ELEMENTS = 2**28
SPARSE = "a sparse constant"
FEW = 2**16
VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
"""By the schema's numbers of `SparseIndexVector`."""


@dataclass(frozen=True, slots=True)
class Level:
    """An axis or a block of one: how many places, or where each segment's indices begin."""

    size: int
    segments: Integers | None = None
    indices: Integers | None = None


@dataclass(frozen=True, slots=True)
class Sparsity:
    """`levels` in the order of `order`; from the rank on these are blocks, of the axes `blocks`."""

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[Level, ...]


def sparsity_of(table: Any) -> Sparsity:
    """What a tensor's `SparsityParameters` say. Raises ValueError for what is out of bounds."""
    levels = []
    for number in range(table.DimMetadataLength()):
        level = table.DimMetadata(number)
        if level.Format() == tflite.DimensionType.DENSE:
            levels.append(Level(int(level.DenseSize())))
            continue
        segments = _vector(level.ArraySegmentsType(), level.ArraySegments())
        levels.append(Level(0, segments, _vector(level.ArrayIndicesType(), level.ArrayIndices())))
    order = tuple(int(table.TraversalOrder(k)) for k in range(table.TraversalOrderLength()))
    blocks = tuple(int(table.BlockMap(k)) for k in range(table.BlockMapLength()))
    return Sparsity(order, blocks, tuple(levels))


def _vector(kind: int, table: Any) -> Integers:
    if kind not in VECTORS or table is None:
        raise ValueError(f"indices of type {kind}")
    vector = VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    if not vector.ValuesLength():
        return np.zeros(0, np.int64)
    indices: Integers = vector.ValuesAsNumpy().astype(np.int64)
    return indices


def dense(values: NDArray[Any], shape: tuple[int, ...], how: Sparsity) -> NDArray[Any]:
    """All elements, with zeros. Raises ValueError for places that are not in the shape."""
    rank, most = len(shape), int(np.prod(shape, dtype=object))
    whole = rank + len(how.blocks)
    if sorted(how.order) != list(range(whole)) or len(how.levels) != whole:
        raise ValueError(f"axes {how.order} of {rank}, and {len(how.blocks)} blocks")
    inner = [axis for axis in how.order if axis >= rank]
    ascending = list(how.blocks) == sorted({*how.blocks} & {*range(rank)})
    if not ascending or inner != sorted(inner):  # LiteRT reads others wrong, or crashes
        raise ValueError(f"blocks of axes {how.blocks} of {rank} in the order {inner}")
    if most > MOST_ELEMENTS:
        raise ValueError(f"{most:,} elements, more than {MOST_ELEMENTS:,}")
    require_room(SPARSE, most * values.itemsize)
    most = _most_places(values, how, most)
    places: list[Integers] = [np.zeros(1, np.int64)] * whole
    node = np.zeros(1, np.int64)
    for axis, level in zip(how.order, how.levels, strict=True):
        parent, place = _below(node, level, most)
        places = [each[parent] for each in places]
        places[axis] = place
        node = np.arange(len(place), dtype=np.int64)
    at = places[:rank]
    for number, axis in enumerate(how.blocks):
        size = how.levels[how.order.index(rank + number)].size
        at[axis] = at[axis] * size + places[rank + number]
    if len(node) != len(values):
        raise ValueError(f"{len(values)} elements for {len(node)} places")
    array = np.zeros(shape, values.dtype)
    array[tuple(at)] = values  # numpy refuses places behind the end
    return array


def _most_places(values: NDArray[Any], how: Sparsity, most: int) -> int:
    """Places that any level can have: each is one of its elements, or the file counts those within.

    Of levels without such counts a few bytes give as many as the shape has.
    """
    counted = [len(one.segments) for one in how.levels if one.segments is not None]
    return min(most, max([FEW, len(values), *counted]))


def _below(node: Integers, level: Level, most: int) -> tuple[Integers, Integers]:
    """The place before of each place of the next level, and its index in that."""
    if level.segments is None or level.indices is None:
        if not 0 <= level.size * len(node) <= most:
            raise ValueError(f"{level.size} times {len(node)} places")
        return np.repeat(node, level.size), np.tile(np.arange(level.size), len(node))
    if len(level.segments) != len(node) + 1:
        raise ValueError(f"{len(level.segments)} segments for {len(node)} places")
    counts = np.diff(level.segments)
    inside = len(level.indices) <= most and bool((level.indices >= 0).all())
    if level.segments[0] or (counts < 0).any() or counts.sum() != len(level.indices) or not inside:
        raise ValueError("segments that are out of bounds")
    return np.repeat(node, counts), level.indices
