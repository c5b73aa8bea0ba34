"""Parameters that stream through rings while operators run, layer by layer.

Sizes and offsets are bytes, times seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planners.core.program import Box
from planners.core.records import SPARSE

Ring = Literal["cpu", "gpu", "shared"]


@dataclass(frozen=True, slots=True)
class StreamedLayer:
    """An operator with its parameters, or a slice of one.

    `offsets` and `waits` are by ring; `waits` is the layer whose bytes it takes, -1 for none. Of a
    slice, `part` is the box of the output that it makes, `boxes` those of its parameters.
    """

    operator: str
    parameters: tuple[str, ...]
    size_bytes: int
    read_s: float
    copy_s: float
    kernel_s: float
    offsets: Mapping[Ring, int]
    waits: Mapping[Ring, int]
    part: Box | None = field(default=None, metadata=SPARSE)
    boxes: tuple[Box, ...] | None = field(default=None, metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class DelayBand:
    """Delays in seconds over draws of all times: the least, three percentiles, the largest."""

    draws: int
    least_s: float
    p5_s: float
    median_s: float
    p95_s: float
    largest_s: float


@dataclass(frozen=True, slots=True)
class StreamedParameters:
    """How a network's parameters stream.

    `rings` are their sizes; they are filled again from their start, or `twice` as large in
    addresses. `joint`: they share one memory with the activations. The delay is never above
    `bound_s` where that is known. `front` has memory and delay of each point, and `preload_s` is
    when the first kernel may begin.
    """

    pipeline: str
    times: str
    slices: int
    rings: Mapping[Ring, int]
    activation_bytes: int
    delay_s: float
    preload_s: float
    kernel_s: float
    front: tuple[tuple[int, float], ...]
    layers: tuple[StreamedLayer, ...]
    bound_s: float | None = None
    band: DelayBand | None = None
    twice: bool = False
    joint: bool = False
