"""Bytes from storage into a ring: past the page cache where the system and file allow it.

A direct read takes whole blocks of the file to aligned addresses. A layer that begins at one in
its ring is read there, its last partial block by way of a buffer; others by way of the buffer.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from planners.backends.disk.ring import ParameterRing
from planners.backends.disk.weights import BLOCK
from planners.core.backends import StorageRate
from planners.core.errors import BadInput
from planners.core.integers import rounded_up
from planners.core.median_time import median_seconds

CHUNK = 4 * 2**20
"""Bytes of a read: as fast as larger ones where it was tried, and soon over when a run stops."""
STAGING = 2**20
preadv = os.preadv
_IN_MEMORY = {"tmpfs", "ramfs"}


class Storage:
    """An open file of parameters.

    `direct`: reads pass the page cache; else `note` says why not, and figures are the cache's.
    Raises `BadInput` where the file cannot be opened.
    """

    def __init__(self, path: str | Path, direct: bool = True) -> None:
        self.path = str(path)
        self.staging = mmap.mmap(-1, STAGING + BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.block = self.alignment = 1
        self.direct, self.note = False, "direct reads were not asked for"
        self.descriptor = -1
        try:
            if direct:
                self._open_direct()
            if not self.direct:
                self.descriptor = os.open(self.path, os.O_RDONLY)
            self.opened = self._state()
        except OSError as error:
            raise BadInput(f"cannot read {path}: {error.strerror or error}") from error
        if not self.direct:
            self.note = f"page cache in use, times are not the storage's: {self.note}"

    def _open_direct(self) -> None:
        flag = getattr(os, "O_DIRECT", 0)
        if not flag:
            self.note = "this system has no O_DIRECT"
            return
        kind = _file_system(self.path)
        if kind in _IN_MEMORY:
            self.note = f"the file lies in memory ({kind})"
            return
        try:
            self.descriptor = os.open(self.path, os.O_RDONLY | flag)
        except FileNotFoundError:
            raise
        except OSError as error:
            self.note = f"the file system refuses O_DIRECT: {error.strerror}"
            return
        for self.block, self.alignment in ((512, 512), (512, BLOCK), (BLOCK, 512), (BLOCK, BLOCK)):
            if self._probe():
                self.direct, self.note = True, ""
                return
        self.close()
        self.note = "the file system refuses direct reads"

    def _probe(self) -> bool:
        """Whether reads of two blocks, from the second on, to the least aligned address do."""
        target = memoryview(self.staging)[self.alignment : self.alignment + 2 * self.block]
        try:
            os.preadv(self.descriptor, [target], self.block)
        except OSError:
            return False
        return True

    def forget(self) -> None:
        """Ask the system to drop the file from its page cache."""
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def read(
        self,
        start: int,
        target: memoryview,
        address: int,
        tell: Callable[[int], None],
    ) -> None:
        """Fill `target`, which is at `address`, from byte `start` on (a whole block).

        `tell` is called with the bytes read before each request, and stops the reading by raising.
        Raises `BadInput` where the file ends early or the storage fails.
        """
        done, size = 0, len(target)
        straight = not self.direct or address % self.alignment == 0
        while done < size:
            tell(done)
            done += (self._straight if straight else self._staged)(start, target, done)
        tell(done)

    def _straight(self, start: int, target: memoryview, done: int) -> int:
        """Read to where the bytes belong; what fills no block through the buffer."""
        size = len(target)
        body = size // self.block * self.block
        stop = min(done + CHUNK, body)
        parts = [target[done:stop]] if stop > done else []
        rest = size - body if stop == body else 0
        if rest:
            parts.append(memoryview(self.staging)[: self.block])
        got = self._request(parts, start + done, size + start)
        if got < stop - done + rest:
            return got // self.block * self.block
        target[body : body + rest] = memoryview(self.staging)[:rest]
        return stop - done + rest

    def _staged(self, start: int, target: memoryview, done: int) -> int:
        """Read to the buffer and copy from there."""
        want = min(STAGING, len(target) - done)
        whole = rounded_up(want, self.block)
        buffer = memoryview(self.staging)[:whole]
        got = min(self._request([buffer], start + done, start + len(target)), want)
        if got < want:
            got = got // self.block * self.block
        # NumPy lets other threads run while it copies.
        copied = np.frombuffer(self.staging, np.uint8, got)
        np.copyto(np.frombuffer(target, np.uint8)[done : done + got], copied)
        return got

    def _request(self, parts: list[memoryview], at: int, until: int) -> int:
        """One request; at least a block of what was requested."""
        try:
            got = preadv(self.descriptor, parts, at)
        except OSError as error:
            raise BadInput(f"{self.path}: reading at byte {at} failed: {error.strerror}") from error
        wanted = sum(len(part) for part in parts)
        if got < min(self.block, wanted, until - at):
            raise BadInput(
                f"{self.path} ended at byte {at + got} while it was read: "
                f"{until - at - got} bytes are missing"
            )
        return got

    def check(self) -> None:
        """Raise `BadInput` where the file is not as it was when it was opened."""
        try:
            now = self._state()
        except OSError as error:
            raise BadInput(f"{self.path} vanished while it was read: {error.strerror}") from error
        if now != self.opened:
            raise BadInput(f"{self.path} changed while it was read: run again")

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self.descriptor)
        return status.st_size, status.st_mtime_ns

    def close(self) -> None:
        """Close the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


def _file_system(path: str) -> str:
    """The type of the file system that a file lies in, where the system reports it."""
    try:
        status = os.stat(path)
        device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            for line in file:
                mount, _, rest = line.partition(" - ")
                if mount.split()[2] == device:
                    return rest.split()[0]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, IndexError):
        pass
    return ""


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
