"""Where tensors lie in the circular pool, and which kernels run over them in which way.

The planner's result before it becomes a program: `emit` makes the program of it, the int8 runner
and the C code run it. Sizes and offsets are bytes of the pool, taken modulo its size.

In the pool a tensor of four axes lies pixel by pixel (NHWC, the channels of a pixel together), any
other row-major. From one pixel to the next it is the bytes of a pixel, or the tensor's pitch where
kernels have segments of their own (see `padding`). A tensor never moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from planners.core.records import SPARSE, Within

Form = Literal["alone", "line", "window", "columns", "tile"]
MOST_BYTES = 2**48
"""Of a pool in a file: what is larger is not an address."""
Count = Annotated[int, Within(0, MOST_BYTES)]
Size = Annotated[int, Within(1, MOST_BYTES)]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Workspace of a run: a ring of `pixels` of a tensor that is never whole.

    Pixel q of the tensor (counted in raster order) lies at `offset + q % pixels * pixel_bytes`,
    but in forms `window`, `columns` and `tile`, where the pixel under the window's row r and
    column s (kernel of R rows, S columns) lies in place `r * S + (column of the tensor) % S`.
    `pixel_bytes` is that of a tile of channels in form `tile`, and 4 bytes a channel where
    partial sums are kept (`sums`).
    """

    tensor: str
    offset: Count
    pixels: Size
    pixel_bytes: Size
    sums: bool = False

    @property
    def size_bytes(self) -> int:
        return self.pixels * self.pixel_bytes


@dataclass(frozen=True, slots=True)
class KernelRun:
    """A kernel: one operator (`alone`), or several that run together pixel by pixel.

    All run in raster order of the last operator's output, which is written straight into the
    pool, channel after channel. What lies between the operators is in `buffers`:

    * `line`: each pixel is computed once, just before it is first needed (recursively), and kept
      while a later output still needs it;
    * `window` (the paper's): an expanding convolution, a depthwise one of R×S, a projecting 1×1
      and perhaps an addition; each output pixel computes the R·S expanded pixels
      under its window anew;
    * `columns`: as `window`, but the columns that the last pixel of the row also had are kept;
    * `tile`: as `window`, for `channels` expanded channels at a time, with partial sums (int32)
      of the projection.

    `segment_bytes` is what the kernel loads or stores with one modulo operation; 0: a pixel,
    which may lie across the pool's end.

    `rows` of the output are made by one instruction of the program (see `rows`), in forms `alone`
    and `line`; 0: each instruction makes a segment. All else is the same: a kernel that goes
    pixel by pixel is right wherever one that goes by rows is.
    """

    form: Form
    operators: tuple[str, ...]
    buffers: tuple[Buffer, ...] = ()
    channels: Count = 0
    segment_bytes: Count = field(default=0, metadata=SPARSE)
    rows: Count = field(default=0, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class PoolLayout:
    """All runs in order, and the offset of each tensor that lies whole in the pool.

    `pitches`: from one pixel of a tensor to the next, where that is more than its bytes.
    """

    pool_bytes: Size
    offsets: Mapping[str, Count]
    runs: tuple[KernelRun, ...]
    pitches: Mapping[str, Size] = field(default_factory=dict, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class RamPoint:
    """A point of the front: RAM, the MACs that are computed again, the operators that bind."""

    ram_bytes: int
    extra_macs: int
    binding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CircularPool:
    """A network in a circular pool: its layout, the front of RAM against repeated work, least work
    first, and how many modulo operations its kernels do."""

    layout: PoolLayout
    front: tuple[RamPoint, ...] = ()
    modulos: int = 0
