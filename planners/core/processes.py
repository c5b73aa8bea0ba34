"""How many processes plan side by side: those that the cores there are can run, or fewer.

Callers that fill the cores themselves (a sweep in an executor, the page's pool of workers) say so,
and what they call stays in its process: `alone` for a part of the work, the environment variable
`SPILLWAY_PROCESSES` for a whole process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

NAME = "SPILLWAY_PROCESSES"
_alone: ContextVar[bool] = ContextVar("alone", default=False)


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        return os.cpu_count() or 1


def processes(wanted: int = 0) -> int:
    """How many processes may work at once: `wanted`, or one a core where that is 0; at least one.

    Never more than the environment allows, and one inside of `alone`.
    """
    if _alone.get():
        return 1
    most = os.environ.get(NAME, "").strip()
    count = wanted or cores()
    return max(1, min(count, int(most)) if most.isdigit() else count)


@contextmanager
def alone() -> Iterator[None]:
    """One process meanwhile: others of the same work run beside this one."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)
