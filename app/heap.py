"""Python's collector of cycles while a page is made: a third of the time that a page takes.

A page is some hundred thousand objects, none of which is garbage before it is sent, yet each few
thousand the collector goes through them and through all modules. What modules hold for good is
taken out of its sight once; while a page is made it pauses.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@cache
def settle() -> None:
    """Never look again at what is loaded by now; once a process."""
    gc.collect()
    gc.freeze()


@contextmanager
def undisturbed() -> Iterator[None]:
    """No collection until the end of the `with`; one that somebody has switched off stays off."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
