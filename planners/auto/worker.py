"""A worker process of `auto`: takes tasks, one after the other, and says what they give.

It runs as `python -m planners.auto.worker`, so that nothing of the program that has started it is
imported again, and ends when that goes away.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any

from planners.auto.attempts import FormProblem, Key, Task, attempt
from planners.auto.messages import (
    Answered,
    Beat,
    DoTask,
    End,
    Ready,
    Told,
    pack,
    pickled,
    receive,
    send,
)
from planners.core.progress import Progress
from planners.core.services import PLAN_WHOLE_TENSORS

EVERY_S = 0.1
PDEATHSIG = 1


class WorkerDesk:
    """What a worker knows: its pipes, its task, the best of all workers."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._in, self._out = incoming, outgoing
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._best: Key | None = None
        self._to_end: set[int] = set()
        self._saying = threading.Lock()

    def serve(self) -> None:
        """Work for ever."""
        PLAN_WHOLE_TENSORS.function()  # Most tasks need it, and their time is for planning.
        problem: FormProblem = receive(self._in)
        threading.Thread(target=self._listen, daemon=True).start()
        self._say(Ready())
        while True:
            task = self._tasks.get()
            outcome, plan = attempt(task, problem, self._teller(task), lambda: self._best)
            packed = None
            if plan is not None:
                try:
                    packed = pack(plan, problem)
                except Exception as error:  # what a planner from elsewhere puts into its plans
                    told = f"its plan cannot leave its process: {type(error).__name__}: {error}"
                    outcome = replace(outcome, value=None, offchip_bytes=None, reason=told)
            self._say(Answered(outcome, packed))

    def _listen(self) -> None:
        """Take in what is said, whatever is being done; end where nobody is there any more."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                match receive(self._in):
                    case DoTask(task, best):
                        self._best = best
                        self._to_end.discard(task.number)
                        self._tasks.put(task)
                    case Beat(key):
                        self._best = key
                    case End(number):
                        self._to_end.add(number)
        os._exit(0)

    def _say(self, message: Any) -> None:
        with self._saying:  # a solver may report from a thread of its own
            send(self._out, pickled(message))

    def _teller(self, task: Task) -> Callable[[Progress], bool]:
        at_s, stage = 0.0, ""

        def tell(moment: Progress) -> bool:
            nonlocal at_s, stage
            now = time.monotonic()
            if moment.stage != stage and now - at_s >= EVERY_S:
                at_s, stage = now, moment.stage
                self._say(Told(task, stage))
            return task.number not in self._to_end

        return tell


def main() -> None:
    """Keep the real standard output for messages: solvers print to descriptor 1 as they please."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who has started it is asked to stop
    _end_with_parent()
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, OSError):
        WorkerDesk(incoming, outgoing).serve()


def _end_with_parent() -> None:
    """Where the system can: end at once when the parent is gone, however busy a solver is."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
