"""Measure this machine: copying, operators of each kind and reading from disk, as a machine file.

Storage is read as the streaming runtime reads it, past the page cache where the system allows.
Medians of repeated runs, the others through NumPy; a model of the machine, not its peak. Energies
are not measured: they come from the default preset, and the sources say so.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from planners.core.backends import (
    CYCLES_PER_S,
    MEASURE_ARRAY,
    MEASURE_STORAGE,
    ArrayRates,
    StorageRate,
)
from planners.core.errors import BadInput
from planners.core.machine import Engine, Machine, MemoryLevel, load_machine
from planners.core.median_time import median_seconds
from planners.core.progress import Clock, ProgressCallback

COPY_BYTES = 256 * 2**20
CACHE_BYTES = 256 * 2**10
FILE_BYTES = 64 * 2**20
MATRIX = 1024


def calibrate(
    folder: str | Path | None = None, progress: ProgressCallback | None = None
) -> Machine:
    """This machine, with its copy, multiply-add and storage rates; takes a few seconds.

    Storage is read from a temporary file in `folder` (default: the system's temporary folder),
    past the page cache with O_DIRECT where the system and the file allow it; the machine's notes
    say whether they did. Reading s bytes takes a latency and s over a rate: both are fitted to
    reads of two sizes. Raises `BadInput` where it cannot write.
    """
    clock = Clock(60.0, progress)
    clock.report("reading from disk")  # First: where it cannot write, it says so at once.
    storage = _read_rate(Path(folder or tempfile.gettempdir()))
    clock.report("copying in memory")
    host = _copy_rate(COPY_BYTES)
    clock.report("copying in cache")
    cache = _copy_rate(CACHE_BYTES)
    clock.report("multiplying matrices")
    macs = _mac_rate()
    clock.report("operators of each kind")
    array = MEASURE_ARRAY.function()()
    return _machine(host, cache, macs, storage, array)


def _copy_rate(size: int) -> float:
    source = np.ones(size, np.uint8)
    target = np.empty_like(source)
    repeats = max(1, COPY_BYTES // size // 4)

    def copy() -> None:
        for _ in range(repeats):
            np.copyto(target, source)

    return size * repeats / median_seconds(copy)


def _mac_rate() -> float:
    a = np.ones((MATRIX, MATRIX), np.float32)
    out = np.empty_like(a)
    return float(MATRIX**3 / median_seconds(lambda: np.matmul(a, a, out=out)))


def _read_rate(folder: Path) -> StorageRate:
    block = os.urandom(2**20)  # A file system that compresses or leaves holes reads no zeros.
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            for _ in range(FILE_BYTES // len(block)):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            return MEASURE_STORAGE.function()(file.name, FILE_BYTES)
    except OSError as error:
        raise BadInput(f"cannot write a test file in {folder}: {error.strerror}") from error


def _machine(
    host: float, cache: float, macs: float, storage: StorageRate, array: ArrayRates
) -> Machine:
    base = load_machine("npu_ideal")
    rates = {"scratchpad": cache, "host": host, "storage": storage.bytes_per_s}
    moving = {"dma_in": host, "dma_out": host}
    how = "measured: median of runs through NumPy, one process"
    measured = {f"{n}.{way}_bytes_per_s": how for n in rates for way in ("read", "write")}
    measured |= {f"{name}.bytes_per_s": how for name in ("compute", *moving)} | {"macs_per_s": how}
    how = storage.note or "measured: direct reads, past the page cache"
    measured |= dict.fromkeys(("storage.read_bytes_per_s", "storage.bytes_per_s"), how)
    measured |= {"storage.latency_s": "measured: small reads, as far as the rate leaves them"}
    measured |= {"bits_per_mac": "float32, as it was measured"}
    timed = "measured: medians in torch on one thread"
    measured |= {
        "clock_hz": "a cycle is a nanosecond",
        "compute_maps": f"{timed}, lanes that fit best",
    }
    measured |= {f"compute_rates.{kind}": timed for kind in array.rates}
    measured |= {"compute.latency_s": f"{timed}, of a convolution of one element"}
    computing = Engine("compute", cache, array.setup_s)
    engine = Engine("storage", storage.bytes_per_s, storage.latency_s)
    return replace(
        base,
        name="this_machine",
        title="This machine, calibrated",
        macs_per_s=macs,
        bits_per_mac=32,
        memories=tuple(_level(m, rates[m.name]) for m in base.memories),
        engines=(computing, *(Engine(name, rate) for name, rate in moving.items()), engine),
        clock_hz=CYCLES_PER_S,
        compute_maps=array.maps,
        compute_rates=array.rates,
        notes="Rates measured by `spillway calibrate`; sizes and energies are npu_ideal's. "
        f"Storage: {how}.",
        sources={**(base.sources or {}), **measured},
    )


def _level(memory: MemoryLevel, rate: float) -> MemoryLevel:
    return replace(memory, read_bytes_per_s=rate, write_bytes_per_s=rate)
