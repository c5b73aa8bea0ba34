"""Where tensors lie in the circular pool, and which kernels run over them in which way.

The planner's result before it becomes a program: `emit` makes the program of it, the int8 runner
and the C code run it. Sizes and offsets are bytes of the pool, taken modulo its size.

In the pool a tensor of four axes lies pixel by pixel (NHWC, the channels of a pixel together), any
other row-major. A tensor never moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from planners.errors import BadInput

Form = Literal["alone", "line", "window", "columns", "tile"]


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
    offset: int
    pixels: int
    pixel_bytes: int
    sums: bool = False

    @property
    def size_bytes(self) -> int:
        return self.pixels * self.pixel_bytes


@dataclass(frozen=True, slots=True)
class Run:
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
    """

    form: Form
    operators: tuple[str, ...]
    buffers: tuple[Buffer, ...] = ()
    channels: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """All runs in order, and the offset of each tensor that lies whole in the pool."""

    pool_bytes: int
    offsets: Mapping[str, int]
    runs: tuple[Run, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "pool_bytes": self.pool_bytes,
            "offsets": dict(self.offsets),
            "runs": [
                {
                    "form": run.form,
                    "operators": list(run.operators),
                    "buffers": [asdict(buffer) for buffer in run.buffers],
                    "channels": run.channels,
                }
                for run in self.runs
            ],
        }

    @staticmethod
    def from_json(data: Any) -> Layout:
        """The layout that `to_json` wrote. Raises `BadInput` for anything else."""
        try:
            runs = tuple(
                Run(
                    item["form"],
                    tuple(map(str, item["operators"])),
                    tuple(Buffer(**buffer) for buffer in item["buffers"]),
                    int(item["channels"]),
                )
                for item in data["runs"]
            )
            if unknown := {run.form for run in runs} - set(get_args(Form)):
                raise ValueError(f"unknown form {sorted(unknown)[0]!r:.40}")
            offsets = {str(name): int(offset) for name, offset in data["offsets"].items()}
            return Layout(int(data["pool_bytes"]), offsets, runs)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"malformed layout of a pool: {error}") from error
