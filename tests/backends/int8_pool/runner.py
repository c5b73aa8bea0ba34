"""A network, its layout and the pool: where kernels read and write, and how a pixel is made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.geometry import Image, image
from planners.backends.int8.net import QNet
from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.overlap.model.segments import Segments
from tests.backends.int8_pool.covers import WindowPixels
from tests.backends.int8_pool.kernels import Kernel, pixel
from tests.backends.int8_pool.pool import BytePool, KernelRead, PixelPlaces, PixelRing, Whole


class PoolRunner:
    """A network, its layout, and the pool."""

    def __init__(self, net: QNet, layout: PoolLayout, pool: BytePool) -> None:
        self.net, self.layout, self.pool = net, layout, pool

    def offset(self, tensor: str) -> int:
        """The address of a tensor that lies whole in the pool."""
        offset = self.layout.offsets.get(tensor)
        if offset is None:
            raise BadInput(f"the layout has no place for tensor {tensor!r}")
        if Segments(self.net.graph, tensor).span_bytes(self.pitch(tensor)) > self.pool.size:
            raise BadInput(f"tensor {tensor!r} is larger than the pool of {self.pool.size} bytes")
        return offset

    def pitch(self, tensor: str) -> int:
        """Bytes from one pixel of a tensor that lies whole in the pool to the next."""
        size = image(self.net.graph.tensors[tensor].shape).channels
        return max(size, self.layout.pitches.get(tensor, size))

    def pixels(self, tensor: str) -> tuple[NDArray[np.int64], int]:
        """The addresses of all pixels of a tensor in the pool, and the bytes of each."""
        seen = image(self.net.graph.tensors[tensor].shape)
        return self.offset(tensor) + np.arange(seen.pixels) * self.pitch(tensor), seen.channels

    def whole(self, tensor: str, as_read: Image) -> Whole:
        """The place of a tensor that lies whole in the pool, perhaps read as one vector."""
        stored = image(self.net.graph.tensors[tensor].shape)
        if as_read.pixels == stored.pixels:
            return Whole(self.offset(tensor), as_read.width, self.pitch(tensor))
        if self.pitch(tensor) != stored.channels:
            raise BadInput(f"tensor {tensor!r} is read as one vector, so it cannot be padded")
        return Whole(self.offset(tensor), as_read.width, as_read.channels)

    def ring(self, buffer: Buffer) -> PixelRing:
        """The place of a buffer that is a ring of pixels."""
        width = image(self.net.graph.tensors[buffer.tensor].shape).width
        return PixelRing(buffer.offset, width, buffer.pixel_bytes, buffer.pixels)

    def places(self, run: KernelRun, of: Kernel) -> list[PixelPlaces]:
        """Where a kernel of the run reads its inputs: in buffers, or whole in the pool."""
        rings = {b.tensor: b for b in run.buffers if not b.sums}
        return [
            self.ring(rings[name]) if name in rings else self.whole(name, as_read)
            for name, as_read in zip(of.op.inputs, of.images)
        ]

    def target(self, run: KernelRun, of: Kernel) -> PixelPlaces:
        """Where a kernel of the run writes."""
        name = of.op.output
        buffer = next((b for b in run.buffers if b.tensor == name and not b.sums), None)
        return self.whole(name, of.target) if buffer is None else self.ring(buffer)

    def write(
        self, of: Kernel, row: int, column: int, reads: list[PixelPlaces], target: PixelPlaces
    ) -> None:
        """Compute one pixel from the pool and write it there."""
        covers = of.covers(row, column)
        starts = [place.starts(under) for place, under in zip(reads, covers, strict=True)]
        self.pool.write_pixel(
            int(target.starts(pixel(row, column))[0]),
            of.target.channels,
            [KernelRead(*read) for read in zip(starts, of.last)],
            lambda values: of.compute(values, covers),
        )

    def write_pointwise(
        self, of: Kernel, pixels: WindowPixels, source: PixelPlaces, targets: NDArray[np.int64]
    ) -> bool:
        """Compute pixels of a 1×1 convolution at once and write them from `targets` on.

        False, and nothing written, where its bytes or its numbers do not let it: one pixel's
        output falls on what another reads, or pixels lie beyond the image.
        """
        (down, right), written, taken = of.op.stride, of.target.channels, of.images[0].channels
        if of.op.padding != (0, 0) or of.op.groups != 1:
            return False
        read = source.starts(
            WindowPixels(pixels.rows * down, pixels.columns * right, pixels.taps, 1)
        )
        apart = (targets[:, None] - read) % self.pool.size
        if np.any((apart < taken) | (apart > self.pool.size - written)):
            return False
        values = self.pool.read(read, taken)
        self.pool.memory[self.pool.addresses(targets, written)] = of.pointwise(values)
        return True
