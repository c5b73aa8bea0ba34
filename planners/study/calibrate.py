"""Measure this machine: copying, arithmetic and reading from disk, as a machine file.

Storage is read as the streaming runtime reads it, past the page cache where the system allows.
Medians of repeated runs, the others through NumPy; a model of the machine, not its peak. Energies
are not measured: they come from the default preset, and the sources say so.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from planners.errors import BadInput
from planners.machine import Engine, Machine, MemoryLevel, load_machine
from planners.progress import Clock, ProgressCallback
from planners.streaming.runtime.reader import Storage
from planners.streaming.runtime.ring import Ring

COPY_BYTES = 256 * 2**20
CACHE_BYTES = 256 * 2**10
FILE_BYTES = 64 * 2**20
REQUEST_BYTES = 64 * 2**10
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
    clock.report("copying in memory")
    host = _copy_rate(COPY_BYTES)
    clock.report("copying in cache")
    cache = _copy_rate(CACHE_BYTES)
    clock.report("multiplying matrices")
    macs = _mac_rate()
    clock.report("reading from disk")
    storage = _read_rate(Path(folder or tempfile.gettempdir()))
    return _machine(host, cache, macs, storage)


def _seconds(call: Callable[[], object], runs: int = 7) -> float:
    call()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)


def _copy_rate(size: int) -> float:
    source = np.ones(size, np.uint8)
    target = np.empty_like(source)
    repeats = max(1, COPY_BYTES // size // 4)

    def copy() -> None:
        for _ in range(repeats):
            np.copyto(target, source)

    return size * repeats / _seconds(copy)


def _mac_rate() -> float:
    a = np.ones((MATRIX, MATRIX), np.float32)
    out = np.empty_like(a)
    return float(MATRIX**3 / _seconds(lambda: np.matmul(a, a, out=out)))


@dataclass(frozen=True, slots=True)
class _Read:
    """Reading from storage: bytes a second beyond a latency, and why it was the page cache's."""

    bytes_per_s: float
    latency_s: float
    note: str


def _read_rate(folder: Path) -> _Read:
    block = os.urandom(2**20)  # A file system that compresses or leaves holes reads no zeros.
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            for _ in range(FILE_BYTES // len(block)):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            return _measured(Storage(file.name))
    except OSError as error:
        raise BadInput(f"cannot write a test file in {folder}: {error.strerror}") from error


def _measured(storage: Storage) -> _Read:
    """Two sizes give a latency and a rate: t = latency + bytes / rate."""
    ring = Ring(FILE_BYTES)

    def read(start: int, size: int) -> None:
        storage.forget()
        storage.read(start, ring.view(0, size), ring.address, lambda done: None)

    starts = iter(range(0, FILE_BYTES, 2 * REQUEST_BYTES))
    try:
        small = _seconds(lambda: read(next(starts), REQUEST_BYTES), runs=101)
        large = _seconds(lambda: read(0, FILE_BYTES), runs=5)
    finally:
        storage.close()
        ring.close()
    rate = (FILE_BYTES - REQUEST_BYTES) / max(large - small, 1e-9)
    return _Read(rate, max(0.0, small - REQUEST_BYTES / rate), storage.note)


def _machine(host: float, cache: float, macs: float, storage: _Read) -> Machine:
    base = load_machine("npu_small")
    rates = {"scratchpad": cache, "host": host, "storage": storage.bytes_per_s}
    engines = {"compute": cache, "dma_in": host, "dma_out": host}
    how = "measured: median of runs through NumPy, one process"
    measured = {f"{n}.{way}_bytes_per_s": how for n in rates for way in ("read", "write")}
    measured |= {f"{name}.bytes_per_s": how for name in engines} | {"macs_per_s": how}
    how = storage.note or "measured: direct reads, past the page cache"
    measured |= dict.fromkeys(("storage.read_bytes_per_s", "storage.bytes_per_s"), how)
    measured |= {"storage.latency_s": "measured: small reads, as far as the rate leaves them"}
    measured |= {"bits_per_mac": "float32, as it was measured"}
    engine = Engine("storage", storage.bytes_per_s, storage.latency_s)
    return replace(
        base,
        name="this_machine",
        title="This machine, calibrated",
        macs_per_s=macs,
        bits_per_mac=32,
        memories=tuple(_level(m, rates[m.name]) for m in base.memories),
        engines=(*(Engine(name, rate) for name, rate in engines.items()), engine),
        notes="Rates measured by `spillway calibrate`; sizes, clock and energies are npu_small's. "
        f"Storage: {how}.",
        sources={**(base.sources or {}), **measured},
    )


def _level(memory: MemoryLevel, rate: float) -> MemoryLevel:
    return replace(memory, read_bytes_per_s=rate, write_bytes_per_s=rate)
