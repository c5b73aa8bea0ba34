"""Forms `window` and `columns`: a bottleneck output pixel by output pixel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from planners.backends.int8.geometry import Image
from planners.core.details.pool import KernelRun
from planners.core.errors import BadInput
from tests.backends.int8_pool.covers import WindowPixels
from tests.backends.int8_pool.kernels import Joined, Kernel
from tests.backends.int8_pool.pool import PixelPlaces, PixelWindow, Whole
from tests.backends.int8_pool.runner import PoolRunner


def raster(target: Image) -> Iterator[tuple[int, int]]:
    """All pixels, row by row."""
    return product(range(target.height), range(target.width))


def run_windows(runner: PoolRunner, run: KernelRun, kernels: Sequence[Kernel]) -> None:
    """Forms `window` and `columns`: expanded pixels under the window, anew or kept by columns."""
    expand, rest = split(run, kernels)
    rest = _in_registers(run, rest)
    under = None if expand is None else window_place(run, expand, rest[0])
    source = runner.places(run, expand or rest[0])
    first: list[PixelPlaces] = source if under is None else [under]
    reads = [first, *(runner.places(run, k) for k in rest[1:])]
    targets = [runner.target(run, k) for k in rest]
    kept: frozenset[int] = frozenset()
    for row, column in raster(rest[-1].target):
        if expand is not None and under is not None:
            old = kept if run.form == "columns" and column else frozenset()
            kept = write_window(runner, expand, rest[0], row, column, source, under, old)
        for k, read, target in zip(rest, reads, targets):
            runner.write(k, row, column, read, target)


def write_window(
    runner: PoolRunner,
    expand: Kernel,
    windowed: Kernel,
    row: int,
    column: int,
    source: list[PixelPlaces],
    under: PixelPlaces,
    kept: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Compute the expanded pixels under a window but those of columns `kept`; its columns."""
    (cover,) = windowed.covers(row, column)
    columns = cover.columns.tolist()
    fresh = cover
    if kept:
        new = np.array([c not in kept for c in columns])
        fresh = WindowPixels(cover.rows[new], cover.columns[new], cover.taps[new], 0)
    starts = under.starts(fresh)
    if expand.op.kernel != (1, 1) or not runner.write_pointwise(expand, fresh, source[0], starts):
        for start, r, c in zip(starts.tolist(), fresh.rows.tolist(), fresh.columns.tolist()):
            runner.write(expand, r, c, source, Whole(start, 0, 0))
    return frozenset(columns)


def _in_registers(run: KernelRun, rest: list[Kernel]) -> list[Kernel]:
    """A projection that has no buffer and an addition as one kernel."""
    *before, first, last = rest
    kept = any(b.tensor == first.op.output for b in run.buffers)
    joins = len(rest) > 2 and not kept and last.op.kind == "add"
    return [*before, Joined.of(first, last)] if joins else rest


def split(run: KernelRun, kernels: Sequence[Kernel]) -> tuple[Kernel | None, list[Kernel]]:
    """The expanding kernel, if there is one, and the others, all with pixels of the same image.

    Raises `BadInput` where the operators are not what forms with windows run.
    """
    count = len(kernels) - (kernels[-1].op.kind == "add")
    rest = list(kernels[1:] if count == 3 else kernels)
    alike = all(k.target[:2] == rest[-1].target[:2] for k in rest)
    chained = all(a.op.output in b.op.inputs for a, b in zip(kernels, kernels[1:]))
    convolutions = all(k.op.kind == "conv" for k in kernels[:count])
    dense = all(k.op.groups == 1 for k in (kernels[0], kernels[count - 1])[count == 2 :])
    projects = rest[1:] and all(k.op.kernel == (1, 1) for k in rest[1:])
    if count not in (2, 3) or not (alike and chained and convolutions and dense and projects):
        raise BadInput(
            f"form {run.form!r} runs an expanding convolution or none, one with a window, a "
            f"projecting 1×1 and perhaps an addition, not {', '.join(run.operators)}"
        )
    return (kernels[0] if count == 3 else None), rest


def window_place(run: KernelRun, expand: Kernel, windowed: Kernel) -> PixelWindow:
    """Where the expanded pixels under the window lie. Raises `BadInput` where nowhere."""
    for buffer in run.buffers:
        if buffer.tensor == expand.op.output and not buffer.sums:
            return PixelWindow(buffer.offset, windowed.op.kernel[1], buffer.pixel_bytes)
    raise BadInput(f"form {run.form!r} has no buffer for {expand.op.output!r}")
