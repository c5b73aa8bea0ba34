"""Run a layout on int8 values, in one pool of exactly its bytes.

Every value that a kernel reads comes out of the pool, and every byte is written in the order in
which the real kernel writes it, so that a layout that is wrong gives wrong results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planners.errors import BadInput
from planners.overlap.int8.geometry import Cover, Image, image, stored_shape
from planners.overlap.int8.kernels import Kernel, kernel, pixel
from planners.overlap.int8.net import QNet
from planners.overlap.int8.pool import Place, Pool, Read, Ring, Whole
from planners.overlap.int8.reference import checked
from planners.overlap.int8.tiles import run_tiles
from planners.overlap.int8.windows import raster, run_windows
from planners.overlap.layout import Buffer, Layout, Run
from planners.overlap.segments import Segments

Bytes = NDArray[np.int8]


def run_layout(
    net: QNet, layout: Layout, inputs: Mapping[str, Bytes]
) -> tuple[dict[str, Bytes], int]:
    """The network's outputs as they lie in memory, and the bytes of the pool that it ran in.

    Raises `BadInput` where the layout is not one of this network, or an input does not do.
    """
    pool = Pool(layout.pool_bytes)
    runner = Runner(net, layout, pool)
    for name, value in checked(net.graph, inputs).items():
        starts, channels = runner.pixels(name)
        pool.memory[pool.addresses(starts, channels)] = value.reshape(-1, channels)
    for run in layout.runs:
        runner.run(run)
    outputs = {}
    for name in net.graph.outputs:
        shape = stored_shape(net.graph.tensors[name].shape)
        outputs[name] = pool.read(*runner.pixels(name)).astype(np.int8).reshape(shape)
    return outputs, pool.size


class Runner:
    """A network, its layout, and the pool."""

    def __init__(self, net: QNet, layout: Layout, pool: Pool) -> None:
        self.net, self.layout, self.pool = net, layout, pool

    def offset(self, tensor: str) -> int:
        """The address of a tensor that lies whole in the pool."""
        found = self.layout.offsets.get(tensor)
        if found is None:
            raise BadInput(f"the layout has no place for tensor {tensor!r}")
        if Segments(self.net.graph, tensor).span_bytes(self.pitch(tensor)) > self.pool.size:
            raise BadInput(f"tensor {tensor!r} is larger than the pool of {self.pool.size} bytes")
        return found

    def pitch(self, tensor: str) -> int:
        """Bytes from one pixel of a tensor that lies whole in the pool to the next."""
        size = image(self.net.graph.tensors[tensor].shape).channels
        return max(size, self.layout.pitches.get(tensor, size))

    def pixels(self, tensor: str) -> tuple[NDArray[np.int64], int]:
        """The addresses of all pixels of a tensor in the pool, and the bytes of each."""
        seen = image(self.net.graph.tensors[tensor].shape)
        return self.offset(tensor) + np.arange(seen.pixels) * self.pitch(tensor), seen.channels

    def run(self, run: Run) -> None:
        """All output pixels of a run, in raster order."""
        if unknown := [name for name in run.operators if name not in self.net.ops]:
            raise BadInput(f"the layout runs {unknown[0]!r}, which the network does not have")
        kernels = [kernel(self.net.graph, self.net.ops[name]) for name in run.operators]
        if run.form == "tile":
            run_tiles(self, run, kernels)
        elif run.form in ("window", "columns"):
            run_windows(self, run, kernels)
        else:
            run_line(self, run, kernels)

    def whole(self, tensor: str, as_read: Image) -> Whole:
        """The place of a tensor that lies whole in the pool, perhaps read as one vector."""
        stored = image(self.net.graph.tensors[tensor].shape)
        if as_read.pixels == stored.pixels:
            return Whole(self.offset(tensor), as_read.width, self.pitch(tensor))
        if self.pitch(tensor) != stored.channels:
            raise BadInput(f"tensor {tensor!r} is read as one vector, so it cannot be padded")
        return Whole(self.offset(tensor), as_read.width, as_read.channels)

    def ring(self, buffer: Buffer) -> Ring:
        """The place of a buffer that is a ring of pixels."""
        width = image(self.net.graph.tensors[buffer.tensor].shape).width
        return Ring(buffer.offset, width, buffer.pixel_bytes, buffer.pixels)

    def places(self, run: Run, of: Kernel) -> list[Place]:
        """Where a kernel of the run reads its inputs: in buffers, or whole in the pool."""
        rings = {b.tensor: b for b in run.buffers if not b.sums}
        return [
            self.ring(rings[name]) if name in rings else self.whole(name, as_read)
            for name, as_read in zip(of.op.inputs, of.images)
        ]

    def target(self, run: Run, of: Kernel) -> Place:
        """Where a kernel of the run writes."""
        name = of.op.output
        found = next((b for b in run.buffers if b.tensor == name and not b.sums), None)
        return self.whole(name, of.target) if found is None else self.ring(found)

    def write(self, of: Kernel, row: int, column: int, reads: list[Place], target: Place) -> None:
        """Compute one pixel from the pool and write it there."""
        covers = of.covers(row, column)
        starts = [place.starts(under) for place, under in zip(reads, covers, strict=True)]
        self.pool.write_pixel(
            int(target.starts(pixel(row, column))[0]),
            of.target.channels,
            [Read(*read) for read in zip(starts, of.last)],
            lambda values: of.compute(values, covers),
        )

    def write_pointwise(
        self, of: Kernel, pixels: Cover, source: Place, targets: NDArray[np.int64]
    ) -> bool:
        """Compute pixels of a 1×1 convolution at once and write them from `targets` on.

        False, and nothing written, where its bytes or its numbers do not let it: one pixel's
        output falls on what another reads, or pixels lie beyond the image.
        """
        (down, right), written, taken = of.op.stride, of.target.channels, of.images[0].channels
        if of.op.padding != (0, 0) or of.op.groups != 1:
            return False
        read = source.starts(Cover(pixels.rows * down, pixels.columns * right, pixels.taps, 1))
        apart = (targets[:, None] - read) % self.pool.size
        if np.any((apart < taken) | (apart > self.pool.size - written)):
            return False
        values = self.pool.read(read, taken)
        self.pool.memory[self.pool.addresses(targets, written)] = of.pointwise(values)
        return True


def run_line(runner: Runner, run: Run, kernels: Sequence[Kernel]) -> None:
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
