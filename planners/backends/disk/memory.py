"""The system's figures for this process's memory; None where it has none."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def resident_bytes(field: str = "VmRSS") -> int | None:
    """Resident bytes now, or with `VmHWM` the most since `reset_peak`."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def reset_peak() -> bool:
    """Let the peak begin at what is resident now; whether the system does it."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


class Growth:
    """How much a process's own memory grows by at most, from now on.

    Pages of files, such as the code of kernels that run for the first time, are not counted.
    """

    def __init__(self) -> None:
        tidy()
        self.counted = reset_peak()
        self.before, self.files = resident_bytes(), resident_bytes("RssFile")

    def most_bytes(self) -> int | None:
        """The most until now; None where the system does not report it."""
        peak, files = resident_bytes("VmHWM"), resident_bytes("RssFile")
        if not self.counted or None in (self.before, self.files, peak, files):
            return None
        return max(0, (peak or 0) - (self.before or 0) - ((files or 0) - (self.files or 0)))


def tidy() -> None:
    """Give back unused memory, so that what is resident is what is held."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
