"""Giving up on work that takes too long, in whatever thread it runs."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeUp(BaseException):
    """The time is over. No `Exception`: what catches those must not stop it."""


@contextmanager
def give_up_after(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` in this thread once so many seconds are over; None: never.

    It comes between two steps of Python: a call into a solver is not cut short, but ends in it.
    """
    if seconds is None:
        yield
        return
    thread = ctypes.c_ulong(threading.get_ident())
    lock, state = threading.Lock(), {"over": False, "sent": False}

    def send() -> None:
        with lock:
            if not state["over"]:
                state["sent"] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeUp))

    timer = threading.Timer(seconds, send)
    timer.daemon = True
    timer.start()
    came = False
    try:
        yield
    except TimeUp:
        came = True
        raise
    finally:
        timer.cancel()
        with lock:
            state["over"] = True
        while state["sent"] and not came:  # it is on its way: it must not arrive later, elsewhere
            time.sleep(0.001)
