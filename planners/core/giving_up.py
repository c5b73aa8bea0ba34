"""Giving up on work that takes too long, in whatever thread it runs."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class TimeUp(BaseException):
    """The time is over. No `Exception`: what catches those must not stop it."""


@dataclass
class GivingUp:
    """What may be given up: whether it is `over`, and whether `TimeUp` was `sent` for it."""

    over: bool = False
    sent: bool = False


@contextmanager
def give_up_after(seconds: float | None) -> Iterator[GivingUp]:
    """Raise `TimeUp` in this thread once so many seconds are over; None: never.

    It comes between two steps of Python: a call into a solver is not cut short, but ends in it.
    """
    state = GivingUp()
    if seconds is None:
        yield state
        return
    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()

    def send() -> None:
        with lock:
            if not state.over:
                state.sent = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeUp))

    timer = threading.Timer(seconds, send)
    timer.daemon = True
    timer.start()
    came = False
    try:
        yield state
    except TimeUp:
        came = True
        raise
    finally:
        timer.cancel()
        with lock:
            state.over = True
        while state.sent and not came:  # it is on its way: it must not arrive later, elsewhere
            time.sleep(0.001)
