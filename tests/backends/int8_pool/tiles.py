"""Form `tile`: a bottleneck some expanded channels at a time, with int32 sums in the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.net import finished, scaled
from planners.core.details.pool import KernelRun
from planners.core.errors import BadInput
from tests.backends.int8_pool.covers import WindowPixels
from tests.backends.int8_pool.kernels import Joined, Kernel, part_of, pixel
from tests.backends.int8_pool.pool import BytePool, PixelPlaces, PixelRing, Whole
from tests.backends.int8_pool.runner import PoolRunner
from tests.backends.int8_pool.windows import raster, split, window_place, write_window

SUM_BYTES = 4
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Tile:
    """The parts of the kernels that have to do with some expanded channels."""

    expand: Kernel | None
    windowed: Kernel
    project: Kernel


@dataclass(frozen=True, slots=True, eq=False)
class _FromSums(Kernel):
    """A projection whose sums are complete: its input is their bytes."""

    def covers(self, row: int, column: int) -> list[WindowPixels]:
        return [pixel(0, 0)]

    def compute(self, values: Sequence[Integers], covers: Sequence[WindowPixels]) -> Integers:
        sums = values[0][0].astype(np.int8).view("<i4").astype(np.int64)
        return finished(self.op, scaled(sums, self.op.multiplier, self.op.shift))


def run_tiles(runner: PoolRunner, run: KernelRun, kernels: Sequence[Kernel]) -> None:
    """All output pixels of a run in form `tile`."""
    expand, rest = split(run, kernels)
    windowed, project, *add = rest
    tiles = _tiles(run, expand, windowed, project)
    source = runner.places(run, expand or windowed)
    under: PixelPlaces = source[0] if expand is None else window_place(run, expand, windowed)
    between = runner.target(run, windowed)
    totals = next((b.offset for b in run.buffers if b.sums), None)
    if totals is None or not isinstance(between, PixelRing):
        raise BadInput(
            f"form 'tile' of {run.operators[0]!r} needs a buffer of sums, and one before"
        )
    last = _last_step(project, add)
    ends = [Whole(totals, 0, 0), *runner.places(run, last)[1:]]
    target = runner.target(run, last)
    for row, column in raster(last.target):
        assert project.op.bias is not None
        _write_sums(runner.pool, totals, project.op.bias.astype(np.int64))
        for tile in tiles:
            if tile.expand is not None:
                write_window(runner, tile.expand, tile.windowed, row, column, source, under)
            runner.write(tile.windowed, row, column, [under], between)
            _add_products(runner.pool, tile.project, totals, between.offset)
        runner.write(last, row, column, ends, target)


def _tiles(run: KernelRun, expand: Kernel | None, windowed: Kernel, project: Kernel) -> list[_Tile]:
    channels = windowed.target.channels
    if run.channels < 1 or windowed.op.groups != channels:
        raise BadInput(
            f"form 'tile' of {run.operators[0]!r} needs channels of one tile, and a depthwise "
            "convolution"
        )
    tiles = []
    for begin in range(0, channels, run.channels):
        end = min(begin + run.channels, channels)
        whole = expand is not None
        tiles.append(
            _Tile(
                part_of(expand, begin, end, outputs=True, inputs=False) if expand else None,
                part_of(windowed, begin, end, outputs=True, inputs=whole),
                part_of(project, begin, end, outputs=False, inputs=True),
            )
        )
    return tiles


def _last_step(project: Kernel, add: Sequence[Kernel]) -> Kernel:
    """What makes the output of complete sums: the projection's end, and perhaps the addition."""
    channels = project.target.channels
    readers = np.repeat(np.arange(channels), SUM_BYTES)
    image = project.images[0]._replace(channels=channels * SUM_BYTES)
    end = _FromSums(
        replace(project.op, channels=()), (image,), project.target, (readers,), project.weight
    )
    return Joined.of(end, add[0]) if add else end


def _write_sums(pool: BytePool, start: int, sums: Integers) -> None:
    pool.write(start, sums.astype("<i4").view(np.int8))


def _add_products(pool: BytePool, part: Kernel, totals: int, between: int) -> None:
    """Add a tile's products to the sums, one after the other where that could matter."""
    count, channels = part.target.channels, part.images[0].channels
    apart = (between - totals) % pool.size
    near = apart < count * SUM_BYTES or apart > pool.size - channels
    for begin in range(count if near else 1):
        chosen = slice(begin, begin + 1) if near else slice(0, count)
        value = pool.read(np.array([between]), channels)
        products = part.sums(value, pixel(0, 0), bias=False)[chosen]
        start = totals + chosen.start * SUM_BYTES
        stored = pool.read(np.array([start]), len(products) * SUM_BYTES)[0]
        before = stored.astype(np.int8).view("<i4").astype(np.int64)
        _write_sums(pool, start, before + products)
