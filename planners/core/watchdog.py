"""A watchdog: it raises `TimeUp` in a thread whose work takes too long.

Python has one way to interrupt work that does not ask whether it should end: an exception that
another thread sets, and that the interpreter raises between two steps of the work. Three things can
go wrong with it, and each has its answer here:

* *It is lost.* What is raised in a finaliser, or in a callback of the garbage collector, is printed
  and dropped. It is sent again, once a second, until the work has ended; nothing is printed of it.
* *It comes too late*, in code that follows the work. Once the work has ended the watchdog's thread
  is waited for, so that it sends no more, and what it has sent is taken back if it has not come.
* *It comes while the watchdog is being ended.* It is ended once more, and then `TimeUp` goes on.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

AGAIN_S = 1.0
"""`TimeUp` that did not end the work is sent again after so many seconds."""


class TimeUp(BaseException):
    """The time is over. No `Exception`: what catches those must not stop it."""


@dataclass
class GivingUp:
    """Whether this time limit has `sent` its `TimeUp`: else the one that came is another's."""

    sent: bool = False


@contextmanager
def give_up_after(seconds: float | None) -> Iterator[GivingUp]:
    """Raise `TimeUp` in this thread once the work within takes more than so many seconds.

    None is no limit. It comes between two steps of Python: a call into a solver is not cut short,
    but ends in it. Limits may be nested: the outer one's `TimeUp` goes through the inner one.
    """
    if seconds is None:
        yield GivingUp()
        return
    watchdog = _Watchdog(seconds)
    try:
        watchdog.start()
        with _lost_in_silence():
            yield watchdog.state
    finally:
        watchdog.end()


class _Watchdog:
    """Sends `TimeUp` to the thread that made it, from a thread of its own."""

    def __init__(self, seconds: float) -> None:
        self.state = GivingUp()
        self._seconds = seconds
        self._worker = threading.get_ident()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin to count the seconds."""
        self._thread.start()

    def _watch(self) -> None:
        """In the thread of the watchdog."""
        wait_s = self._seconds
        while not self._ended.wait(wait_s):
            self.state.sent = True
            _raise_in(self._worker, TimeUp)
            wait_s = AGAIN_S

    def end(self) -> None:
        """Send no more, and take back what is on its way. Any line of this may raise `TimeUp`."""
        try:
            self._stop()
        except TimeUp:
            self._stop()
            raise
        finally:
            if self.state.sent:
                _raise_in(self._worker, None)

    def _stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Have a thread raise an exception in its next step; None: not the one that waits for it."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )


@dataclass(frozen=True)
class _LosesTimeUp:
    """A hook for exceptions that Python cannot raise: all but `TimeUp` go to the one before."""

    before: Callable[[sys.UnraisableHookArgs], object]

    def __call__(self, unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is not TimeUp:
            self.before(unraisable)


@contextmanager
def _lost_in_silence() -> Iterator[None]:
    """Print nothing of a `TimeUp` that Python has lost."""
    before = sys.unraisablehook
    if isinstance(before, _LosesTimeUp):
        yield
        return
    ours = sys.unraisablehook = _LosesTimeUp(before)
    try:
        yield
    finally:
        if sys.unraisablehook is ours:
            sys.unraisablehook = before
