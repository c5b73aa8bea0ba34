"""How much memory a planning process may hold, and how its death is reported."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from pathlib import Path

import planners as sp
from planners.core.units import format_bytes, parse_size
from planners.core.worker_process import exit_text

LIMIT_NAME = "SPILLWAY_WORKER_MEMORY"
LEAST = 2**30
GROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def worker_limit(workers: int) -> int:
    """Bytes that a worker may hold, with all processes it started; 0 where nothing is known.

    `SPILLWAY_WORKER_MEMORY` sets it, for instance "4 GiB"; else the workers share three quarters of
    the memory of the machine or of its container.
    """
    if named := os.environ.get(LIMIT_NAME):
        try:
            return parse_size(named)
        except sp.SpillwayError as error:
            warnings.warn(f"{LIMIT_NAME}: {error}; the usual limit holds", stacklevel=2)
    there = machine_bytes()
    return max(LEAST, there * 3 // 4 // max(1, workers)) if there else 0


def machine_bytes() -> int:
    """Memory of the machine, or of the container where that is less; 0 where nothing is known."""
    limits = []
    with contextlib.suppress(OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in GROUPS:
        with contextlib.suppress(OSError, ValueError):
            limits.append(int(file.read_text()))
    return min(limits, default=0)


def describe_death(code: int, too_much: int, limit: int, too_long: float = 0.0) -> str:
    """One line on why a worker has ended: `code` as `Popen.returncode`."""
    unchanged = "What is on screen is unchanged"
    if too_long:
        return f"It took more than {too_long:g} seconds and was stopped. {unchanged}."
    if too_much:
        return (
            f"The planning process used {format_bytes(too_much)} of memory, more than its limit of "
            f"{format_bytes(limit)}, and was stopped. {unchanged}; try a smaller model, "
            f"or set {LIMIT_NAME} higher and start the server again."
        )
    if code < 0:
        how = f"was killed by {exit_text(code)} ({_name(-code)})"
        how += "; it may have run out of memory" * (code == -signal.SIGKILL)
    else:
        how = f"ended with {exit_text(code)}"
    return f"The planning process {how}. {unchanged}; try again."


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
