"""A ring of parameters as memory: one mapping of the planned bytes, rounded to whole pages."""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress

import numpy as np

from planners.errors import BadInput

PAGE = mmap.PAGESIZE
_PRESENT, _SWAPPED = 1 << 63, 1 << 62


class Ring:
    """Bytes that begin at a page and are resident from the start, as pinned memory would be.

    `planned_bytes` as the plan has them, `allocated_bytes` rounded up to pages. Raises `BadInput`
    where the system has not so much memory.
    """

    def __init__(self, planned_bytes: int) -> None:
        self.planned_bytes = planned_bytes
        self.allocated_bytes = max(1, -(-planned_bytes // PAGE)) * PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        try:
            self.mapped = mmap.mmap(-1, self.allocated_bytes, flags=flags)
        except OSError as error:
            raise BadInput(f"cannot allocate a ring of {planned_bytes} bytes: {error}") from error
        self.array = np.frombuffer(self.mapped, np.uint8)
        self.array.fill(0)

    @property
    def address(self) -> int:
        """Where the first byte is."""
        return int(self.array.ctypes.data)

    def view(self, start: int, size: int) -> memoryview:
        """Writable bytes of a layer."""
        return memoryview(self.mapped)[start : start + size]

    def resident_bytes(self) -> int | None:
        """Bytes of pages that the system holds in memory, or in swap; None where it says not."""
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
