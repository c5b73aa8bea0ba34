"""Giving up on work that takes too long, in whatever thread it runs."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class TimeUp(BaseException):
    """The time is over. No `Exception`: what catches those must not stop it."""


@dataclass
class GivingUp:
    """What may be given up: whether it is `over`, and whether `TimeUp` was `sent` for it."""

    over: bool = False
    sent: bool = False


AGAIN_S = 1.0
"""What is lost on its way is sent again after so many seconds."""


@dataclass(frozen=True)
class Untold:
    """In place of what Python does with exceptions in callbacks and finalisers: of `TimeUp`, which
    comes again, nothing is printed."""

    before: Callable[[sys.UnraisableHookArgs], object]

    def __call__(self, unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is not TimeUp:
            self.before(unraisable)


@contextmanager
def untold() -> Iterator[None]:
    """Print nothing of `TimeUp` that Python has lost."""
    before = sys.unraisablehook
    if isinstance(before, Untold):
        yield
        return
    ours = sys.unraisablehook = Untold(before)
    try:
        yield
    finally:
        if sys.unraisablehook is ours:
            sys.unraisablehook = before


@contextmanager
def give_up_after(seconds: float | None) -> Iterator[GivingUp]:
    """Raise `TimeUp` in this thread once so many seconds are over; None: never.

    It comes between two steps of Python: a call into a solver is not cut short, but ends in it.
    Where Python loses it, in a callback of its garbage collector or a finaliser, it comes again.
    """
    state = GivingUp()
    if seconds is None:
        yield state
        return
    thread = ctypes.c_ulong(threading.get_ident())
    lock, over = threading.Lock(), threading.Event()

    def send() -> None:
        wait_s: float = seconds
        while not over.wait(wait_s):
            with lock:
                if state.over:
                    return
                state.sent = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeUp))
            wait_s = AGAIN_S

    def end() -> None:
        with lock:
            state.over = True
        over.set()

    came = False
    try:
        threading.Thread(target=send, daemon=True).start()
        with untold():
            yield state
    except TimeUp:
        came = True
        raise
    finally:
        try:
            end()
        except TimeUp:
            end()
            raise
        if state.sent and not came:  # on its way, or lost: it must not arrive later, elsewhere
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
