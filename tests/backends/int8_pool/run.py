"""Run a layout on int8 values, in one pool of exactly its bytes.

Every value that a kernel reads comes out of the pool, and every byte is written in the order in
which the real kernel writes it, so that a layout that is wrong gives wrong results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.geometry import stored_shape
from planners.backends.int8.net import QNet
from planners.backends.int8.reference import checked
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from tests.backends.int8_pool.kernels import Kernel, kernel
from tests.backends.int8_pool.pool import BytePool
from tests.backends.int8_pool.runner import PoolRunner
from tests.backends.int8_pool.tiles import run_tiles
from tests.backends.int8_pool.windows import raster, run_windows

Bytes = NDArray[np.int8]


def run_layout(
    net: QNet, layout: PoolLayout, inputs: Mapping[str, Bytes]
) -> tuple[dict[str, Bytes], int]:
    """The network's outputs as they lie in memory, and the bytes of the pool that it ran in.

    Raises `BadInput` where the layout is not one of this network, or an input does not do.
    """
    pool = BytePool(layout.pool_bytes)
    runner = PoolRunner(net, layout, pool)
    for name, value in checked(net.graph, inputs).items():
        starts, channels = runner.pixels(name)
        pool.memory[pool.addresses(starts, channels)] = value.reshape(-1, channels)
    for run in layout.runs:
        run_operators(runner, run)
    outputs = {}
    for name in net.graph.outputs:
        shape = stored_shape(net.graph.tensors[name].shape)
        outputs[name] = pool.read(*runner.pixels(name)).astype(np.int8).reshape(shape)
    return outputs, pool.size


def run_operators(runner: PoolRunner, run: KernelRun) -> None:
    """All output pixels of a run, in raster order."""
    net = runner.net
    if unknown := [name for name in run.operators if name not in net.ops]:
        raise BadInput(f"the layout runs {unknown[0]!r}, which the network does not have")
    kernels = [kernel(net.graph, net.ops[name]) for name in run.operators]
    if run.form == "tile":
        run_tiles(runner, run, kernels)
    elif run.form in ("window", "columns"):
        run_windows(runner, run, kernels)
    else:
        run_line(runner, run, kernels)


def run_line(runner: PoolRunner, run: KernelRun, kernels: Sequence[Kernel]) -> None:
    """Forms `alone` and `line`: what lies in rings is computed in raster order, once.

    A pixel is computed, with all before it that are not yet, as soon as a window covers it.
    """
    makers = {k.op.output: k for k in kernels[:-1]}
    done = dict.fromkeys(makers, 0)
    reads = {k.op.output: runner.places(run, k) for k in kernels}
    targets = {k.op.output: runner.target(run, k) for k in kernels}

    def compute(maker: Kernel, row: int, column: int) -> None:
        if not makers.keys().isdisjoint(maker.op.inputs):
            for name, under in zip(maker.op.inputs, maker.covers(row, column)):
                if name in makers and len(under.rows):
                    width = makers[name].target.width
                    ensure(name, int(under.rows[-1]) * width + int(under.columns[-1]))
        output = maker.op.output
        runner.write(maker, row, column, reads[output], targets[output])

    def ensure(name: str, last: int) -> None:
        while done[name] <= last:
            here = divmod(done[name], makers[name].target.width)
            done[name] += 1
            compute(makers[name], *here)

    for row, column in raster(kernels[-1].target):
        compute(kernels[-1], row, column)
