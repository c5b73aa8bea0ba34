"""Python's cyclic garbage collector, paused while very many objects are made or read.

It walks all live objects again and again as their number grows. Instructions form no cycles: a
program of 270,000 is made four times as fast without, and replayed almost twice. A page of the
explorer is some hundred thousand objects, none of them garbage before it is sent: it takes a third
less time.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

PAGE = 50_000
"""About the objects of a page of the explorer."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect nothing meanwhile; afterwards the collector is as it was."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@cache
def settle() -> None:
    """Never scan again what is loaded by now: modules stay loaded. Once a process.

    What is made from now on is scanned when it is about a page of objects; everything is once
    visitors have gone (`app.server.cleaning`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(PAGE, 400, 50)


def give_back() -> None:
    """Have the C library give memory that is free back to the system, where it is one that can.

    It takes some milliseconds, in which other threads of Python go on.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
