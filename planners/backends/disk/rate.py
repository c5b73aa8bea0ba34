"""How fast storage is read: a latency and a rate, fitted to reads of two sizes."""

from __future__ import annotations

from pathlib import Path

from planners.backends.disk.reader import Storage
from planners.backends.disk.ring import ParameterRing
from planners.core.backends import StorageRate
from planners.core.timed import median_seconds

REQUEST_BYTES = 64 * 2**10


def measure_storage(path: str | Path, file_bytes: int) -> StorageRate:
    """Two sizes give a latency and a rate: t = latency + bytes / rate."""
    storage, ring = Storage(path), ParameterRing(file_bytes)

    def read(start: int, size: int) -> None:
        storage.forget()
        storage.read(start, ring.view(0, size), ring.address, lambda done: None)

    starts = iter(range(0, file_bytes, 2 * REQUEST_BYTES))
    try:
        small = median_seconds(lambda: read(next(starts), REQUEST_BYTES), runs=101)
        large = median_seconds(lambda: read(0, file_bytes), runs=5)
    finally:
        storage.close()
        ring.close()
    rate = (file_bytes - REQUEST_BYTES) / max(large - small, 1e-9)
    return StorageRate(rate, max(0.0, small - REQUEST_BYTES / rate), storage.note)
