"""The circular pool as bytes, where pixels lie in it, and a pixel written as the kernel does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tests.backends.int8_pool.covers import WindowPixels

Integers = NDArray[np.int64]


class PixelPlaces(Protocol):
    """Where the pixels of a tensor lie: the address of each, not yet wrapped."""

    def starts(self, cover: WindowPixels) -> Integers: ...


@dataclass(frozen=True, slots=True)
class Whole:
    """A tensor that lies whole in the pool, pixel by pixel."""

    offset: int
    width: int
    pixel_bytes: int

    def starts(self, cover: WindowPixels) -> Integers:
        return self.offset + (cover.rows * self.width + cover.columns) * self.pixel_bytes


@dataclass(frozen=True, slots=True)
class PixelRing:
    """A tensor of which the last `pixels` pixels are there."""

    offset: int
    width: int
    pixel_bytes: int
    pixels: int

    def starts(self, cover: WindowPixels) -> Integers:
        count = cover.rows * self.width + cover.columns
        return self.offset + count % self.pixels * self.pixel_bytes


@dataclass(frozen=True, slots=True)
class PixelWindow:
    """What lies under a window of S columns: row r of the window, column of the tensor modulo S."""

    offset: int
    columns: int
    pixel_bytes: int

    def starts(self, cover: WindowPixels) -> Integers:
        rows = cover.taps // self.columns
        count = rows * self.columns + cover.columns % self.columns
        return self.offset + count * self.pixel_bytes


class KernelRead(NamedTuple):
    """Bytes that a pixel's kernel reads: `last[c]` bytes after each of `starts`.

    `last` says for each of them the last output channel that reads it, −1 for none.
    """

    starts: Integers
    last: Integers


class BytePool:
    """Memory of exactly `size` bytes; every address is taken modulo it."""

    def __init__(self, size: int) -> None:
        self.size = size
        # Not zeros: what was never written must not look like an empty image.
        self.memory: NDArray[np.int8] = np.random.default_rng(0).integers(
            -128, 128, size, dtype=np.int8
        )

    def addresses(self, starts: Integers, count: int) -> Integers:
        """[starts, count] addresses in the pool."""
        places: Integers = (starts[:, None] + np.arange(count)) % self.size
        return places

    def read(self, starts: Integers, count: int) -> Integers:
        """[starts, count]: the bytes from each of these addresses on."""
        return self.memory[self.addresses(starts, count)].astype(np.int64)

    def write(self, start: int, values: NDArray[np.integer]) -> None:
        """Write int8 values one after the other."""
        self.memory[np.arange(start, start + len(values)) % self.size] = values

    def write_pixel(
        self,
        start: int,
        channels: int,
        reads: Sequence[KernelRead],
        compute: Callable[[list[Integers]], Integers],
    ) -> None:
        """Write a pixel channel after channel, each once it is computed from what is there *then*.

        `compute` makes all channels of bytes read. It runs again after each channel that falls
        on a byte which a later channel reads; where none does, once is the same.
        """
        begin = 0
        while begin < channels:
            codes = compute([self.read(read.starts, len(read.last)) for read in reads])
            end = min(self._sound(start, channels, begin, read) for read in reads)
            self.write(start + begin, codes[begin:end])
            begin = end

    def _sound(self, start: int, channels: int, begin: int, read: KernelRead) -> int:
        """The channels, from `begin`, that may be written before this must be read again."""
        apart = (read.starts - start) % self.size
        if not np.any((apart < channels) | (apart > self.size - len(read.last))):
            return channels
        on = (self.addresses(read.starts, len(read.last)) - start) % self.size
        spoilt = on[(on >= begin) & (on < read.last)]
        return int(spoilt.min()) + 1 if spoilt.size else channels
