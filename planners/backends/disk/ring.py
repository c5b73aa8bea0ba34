"""A ring of parameters as memory: one mapping of the planned bytes, rounded to whole pages.

Or two mappings of the same bytes that follow each other: what goes on at a ring's start is then
contiguous all the same.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from planners.core.errors import BadInput
from planners.core.integers import rounded_up

PAGE = mmap.PAGESIZE
_PRESENT, _SWAPPED = 1 << 63, 1 << 62


class ParameterRing:
    """Bytes that begin at a page and are resident from the start, as pinned memory would be.

    `planned_bytes` as the plan has them, `allocated_bytes` rounded up to pages. Raises `BadInput`
    where the system has not so much memory.
    """

    def __init__(self, planned_bytes: int) -> None:
        self.planned_bytes = planned_bytes
        self.allocated_bytes = max(PAGE, rounded_up(planned_bytes, PAGE))
        try:
            self.mapped: Any = self._map()
        except OSError as error:
            raise BadInput(f"cannot allocate a ring of {planned_bytes} bytes: {error}") from error
        self.array = np.frombuffer(self.mapped, np.uint8)
        self.array[: self.allocated_bytes].fill(0)

    def _map(self) -> Any:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        return mmap.mmap(-1, self.allocated_bytes, flags=flags)

    @property
    def address(self) -> int:
        """Where the first byte is."""
        return int(self.array.ctypes.data)

    def view(self, start: int, size: int) -> memoryview:
        """Writable bytes of a layer."""
        return memoryview(self.mapped).cast("B")[start : start + size]

    def resident_bytes(self) -> int | None:
        """Bytes of pages that the system holds in memory, or in swap; None where unknown."""
        entries = self.allocated_bytes // PAGE
        try:
            with open("/proc/self/pagemap", "rb", buffering=0) as file:
                data = os.pread(file.fileno(), 8 * entries, self.address // PAGE * 8)
        except OSError:
            return None
        if len(data) != 8 * entries:
            return None
        pages = struct.unpack(f"<{entries}Q", data)
        return sum(bool(page & (_PRESENT | _SWAPPED)) for page in pages) * PAGE

    def close(self) -> None:
        """Give the memory back, unless something still looks at it."""
        del self.array
        with suppress(BufferError):
            self.mapped.close()


class RingTwice(ParameterRing):
    """A ring whose bytes are mapped at two addresses that follow each other.

    The system counts its pages once for each mapping. It is unmapped once nothing looks at it.
    """

    def _map(self) -> Any:
        if not hasattr(os, "memfd_create"):
            raise OSError("this system maps no memory twice; plan without twice")
        size = self.allocated_bytes
        descriptor = os.memfd_create("ring")
        try:
            os.truncate(descriptor, size)
            base = _mapped(None, 2 * size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
            buffer = (ctypes.c_ubyte * (2 * size)).from_address(base)
            weakref.finalize(buffer, _LIBC.munmap, ctypes.c_void_p(base), ctypes.c_size_t(2 * size))
            for at in (base, base + size):
                both = mmap.PROT_READ | mmap.PROT_WRITE
                _mapped(at, size, both, mmap.MAP_SHARED | _MAP_FIXED, descriptor)
        finally:
            os.close(descriptor)
        return buffer

    def close(self) -> None:
        del self.array, self.mapped


_MAP_FIXED = 0x10
_LIBC = ctypes.CDLL(None, use_errno=True)
_MMAP: Callable[..., Any] = _LIBC.mmap
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]


def _mapped(address: int | None, size: int, protection: int, flags: int, descriptor: int) -> int:
    """Memory mapped at an address, or anywhere. Raises `OSError`."""
    at = _MMAP(address, size, protection, flags, descriptor, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(at)
