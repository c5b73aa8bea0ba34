"""What backends make of plans, and where they are: nothing imports a backend, all go through here.

A backend runs plans elsewhere: as C code, in int8, from a disk. The types of what comes of it are
plain data; the functions are services (`planners.core.services`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from planners.core.compute_maps import ComputeMap
from planners.core.graph import Graph
from planners.core.plan import Plan
from planners.core.services import Service

Span: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LayerRun:
    """A layer's read, copy and kernel: start and stop in seconds from the run's beginning.

    Without parameters a layer is neither read nor copied. On CUDA a kernel starts when it is
    launched. `planned_s` are the plan's times of read, copy and kernel.
    """

    name: str
    size_bytes: int
    read: Span | None
    copy: Span | None
    kernel: Span
    planned_s: tuple[float, float, float]


@dataclass(frozen=True)
class StreamedRun:
    """The outputs of a streamed network, what it took, and how they compare.

    `equal`: every output equals the preloaded model's in every bit (None where not compared).
    Bytes: `ring_planned` as the plan has them (four bytes an element), `ring_allocated` in whole
    pages, `ring_resident` as the system counts the rings' pages at the end (the rings in the
    CPU's memory; None where it does not say); `held` the most of layers in rings at once;
    `staging` a buffer for reads beside them; `activation_peak` the most live activations, and
    `rss_growth` the most that the process's own memory grew by, kernels' workspace included.
    `delay_s` is from the start to the last kernel's end, in pipeline `pre` from when all is loaded,
    and `preload_s` the time until then. `scheduled_delay_s` is what the plan's schedule gives with
    the times that this run took: the rest is the runtime's own. `layers` are of the repeat with the
    median delay, `runs` and `delays_s` of all. `direct_io`: reads passed the page cache.
    """

    outputs: Any
    reference: Any
    equal: bool | None
    max_abs_error: float | None
    ring_planned_bytes: int
    ring_allocated_bytes: int
    ring_resident_bytes: int | None
    held_bytes: int
    staging_bytes: int
    weight_bytes: int
    activation_planned_bytes: int
    activation_peak_bytes: int
    rss_growth_bytes: int | None
    delay_s: float
    predicted_delay_s: float
    scheduled_delay_s: float
    delays_s: tuple[float, ...]
    preload_s: float
    layers: tuple[LayerRun, ...]
    runs: tuple[tuple[LayerRun, ...], ...]
    direct_io: bool
    notes: tuple[str, ...]


class RunFromDisk(Protocol):
    """Run a streaming plan from disk beside the same model preloaded (`planners.api.stream`)."""

    def __call__(
        self,
        plan: Plan,
        module: Any = None,
        inputs: Any = None,
        weights: str | Path | None = None,
        *,
        seed: int = 0,
        threads: int | None = None,
        **options: Any,
    ) -> StreamedRun: ...


class WriteWeights(Protocol):
    """Write a module's parameters in the order in which a plan streams them; the file's bytes."""

    def __call__(
        self, path: str | Path, plan: Plan, module: Any, inputs: tuple[Any, ...]
    ) -> int: ...


class MeasureLayers(Protocol):
    """Read, copy and run a graph's layers one after the other, nothing overlapped."""

    def __call__(
        self, graph: Graph, *, repeats: int = 5, threads: int | None = None
    ) -> StreamedRun: ...


class WriteTable(Protocol):
    """Save the times of a run's layers as CSV."""

    def __call__(self, path: str | Path, run: StreamedRun) -> None: ...


@dataclass(frozen=True, slots=True)
class StorageRate:
    """Reading from storage: bytes a second beyond a latency, and why it was the page cache's."""

    bytes_per_s: float
    latency_s: float
    note: str


class MeasureStorage(Protocol):
    """Time reads of two sizes from a file, past the page cache where the system allows."""

    def __call__(self, path: str | Path, file_bytes: int) -> StorageRate: ...


class Code(Protocol):
    """What was written: `files` in `folder`, of a network that runs in `pool_bytes` of RAM.

    `checksum` is what the program must print, by the reference, whole tensor by tensor.
    """

    @property
    def folder(self) -> Path: ...
    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def pool_bytes(self) -> int: ...
    @property
    def checksum(self) -> str: ...


CYCLES_PER_S = 1e9
"""Of a machine whose array is measured: a cycle is a nanosecond."""


@dataclass(frozen=True, slots=True)
class ArrayRates:
    """What was measured: seconds to set an operator up, maps, and output elements a cycle."""

    setup_s: float
    maps: tuple[ComputeMap, ...]
    rates: Mapping[str, float]


class MeasureArray(Protocol):
    """Time operators of each kind on this machine, on one thread; takes a few seconds."""

    def __call__(self) -> ArrayRates: ...


class WriteCode(Protocol):
    """Write an overlap plan as C99 (`planners.api.write_code`)."""

    def __call__(
        self,
        plan: Plan,
        folder: str | Path,
        module: Any = None,
        calibration: Iterable[Sequence[Any]] = (),
        *,
        seed: int = 0,
    ) -> Code: ...


RUN_FROM_DISK: Service[RunFromDisk] = Service(
    "run from disk", "planners.backends.disk.session:stream_model"
)
WRITE_WEIGHTS: Service[WriteWeights] = Service(
    "weights on disk", "planners.backends.disk.session:write_weights"
)
MEASURE_LAYERS: Service[MeasureLayers] = Service(
    "times of layers", "planners.backends.disk.measure:measure_layers"
)
WRITE_TABLE: Service[WriteTable] = Service(
    "table of times", "planners.backends.disk.measure:write_table"
)
MEASURE_ARRAY: Service[MeasureArray] = Service(
    "rates of operators", "planners.backends.disk.array_rates:measure_array"
)
MEASURE_STORAGE: Service[MeasureStorage] = Service(
    "rate of storage", "planners.backends.disk.reader:measure_storage"
)
WRITE_CODE: Service[WriteCode] = Service("C code", "planners.backends.c.of_plan:code_of_plan")
