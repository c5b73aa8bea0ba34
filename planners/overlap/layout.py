"""Where tensors lie in the circular pool, and which kernels run over them in which way.

The planner's result before it becomes a program: `emit` makes the program of it, the int8 runner
and the C code run it. Sizes and offsets are bytes of the pool, taken modulo its size.

In the pool a tensor of four axes lies pixel by pixel (NHWC, the channels of a pixel together), any
other row-major. From one pixel to the next it is the bytes of a pixel, or the tensor's pitch where
kernels have segments of their own (see `pitch`). A tensor never moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from planners.errors import BadInput

Form = Literal["alone", "line", "window", "columns", "tile"]
MOST_BYTES = 2**48
"""Of a pool in a file: what is larger is no address."""


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

    `segment_bytes` is what the kernel loads or stores with one modulo operation; 0: a pixel,
    which may lie across the pool's end.

    `rows` of the output are made by one instruction of the program (see `rows`), in forms `alone`
    and `line`; 0: each instruction makes a segment. All else is the same: a kernel that goes
    pixel by pixel is right wherever one that goes by rows is.
    """

    form: Form
    operators: tuple[str, ...]
    buffers: tuple[Buffer, ...] = ()
    channels: int = 0
    segment_bytes: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """All runs in order, and the offset of each tensor that lies whole in the pool.

    `pitches`: from one pixel of a tensor to the next, where that is more than its bytes.
    """

    pool_bytes: int
    offsets: Mapping[str, int]
    runs: tuple[Run, ...]
    pitches: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "pool_bytes": self.pool_bytes,
            "offsets": dict(self.offsets),
            "runs": [_run_to_json(run) for run in self.runs],
        }
        return found | ({"pitches": dict(self.pitches)} if self.pitches else {})

    @staticmethod
    def from_json(data: Any) -> Layout:
        """The layout that `to_json` wrote. Raises `BadInput` for anything else."""
        try:
            return Layout(
                _number(data["pool_bytes"], "pool_bytes", 1),
                _numbers(data["offsets"], "offset", 0),
                tuple(_run_from_json(item) for item in data["runs"]),
                _numbers(data.get("pitches", {}), "pitch", 1),
            )
        except KeyError as error:
            raise BadInput(f"malformed layout of a pool: {error} is missing") from error
        except ValueError as error:
            raise BadInput(f"malformed layout of a pool: {error}") from error
        except (TypeError, AttributeError) as error:
            text = f"a list or an object is something else ({error!s:.60})"
            raise BadInput(f"malformed layout of a pool: {text}") from error


def _run_to_json(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {
        "form": run.form,
        "operators": list(run.operators),
        "buffers": [asdict(buffer) for buffer in run.buffers],
        "channels": run.channels,
    }
    more = {"segment_bytes": run.segment_bytes, "rows": run.rows}
    return found | {name: number for name, number in more.items() if number}


def _run_from_json(item: Any) -> Run:
    form = item["form"]
    if form not in get_args(Form):
        raise ValueError(f"form {form!r:.40} is none of {', '.join(get_args(Form))}")
    return Run(
        form,
        tuple(map(str, item["operators"])),
        tuple(_buffer_from_json(buffer) for buffer in item["buffers"]),
        _number(item["channels"], "channels", 0),
        _number(item.get("segment_bytes", 0), "segment_bytes", 0),
        _number(item.get("rows", 0), "rows", 0),
    )


def _buffer_from_json(item: Any) -> Buffer:
    tensor = str(item["tensor"])
    offset, pixels, size = (
        _number(item[name], f"{name} of {tensor!r:.60}'s buffer", least)
        for name, least in (("offset", 0), ("pixels", 1), ("pixel_bytes", 1))
    )
    return Buffer(tensor, offset, pixels, size, bool(item["sums"]))


def _numbers(data: Any, what: str, least: int) -> dict[str, int]:
    return {str(name): _number(n, f"{what} of {name!r:.60}", least) for name, n in data.items()}


def _number(value: Any, what: str, least: int) -> int:
    """An address or a size of the pool."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_BYTES:
        raise ValueError(f"{what} is {value!r:.40}, not a whole number of {least} to {MOST_BYTES}")
    return value
