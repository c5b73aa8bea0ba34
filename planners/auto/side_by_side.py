"""Forms side by side in worker processes; the quick ones here, until the first worker is there.

A worker that dies, or is ended because it took too long, loses only its task, and another takes its
place. Plans come as bytes, and only those that are the best so far; the last is read at the end.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from planners.auto.attempts import FormOutcome, Key, Task
from planners.auto.lanes import Ended, Here, given_up
from planners.auto.messages import (
    Answered,
    Beat,
    DoTask,
    End,
    Ready,
    Told,
    pickled,
    receive,
    send,
    unpack,
)
from planners.core.processes import NAME
from planners.core.progress import Progress

HERE_S = 1.0
"""What runs here while workers start is left to them after so many seconds."""
RESTARTS = 4
"""Times that a worker's place is taken by another."""
GONE_S = 1.0
STARTS_S = 20.0
"""A worker that is not there after so many seconds does not come."""


Inbox: TypeAlias = "queue.SimpleQueue[tuple[WorkerProcess, Any]]"


class WorkerProcess:
    """A process that takes tasks once it has a problem."""

    def __init__(self) -> None:
        """Raises `OSError` where no process can be made."""
        self.task: Task | None = None
        self.ready = False
        self.too_late = False
        self.planners: set[str] = set()
        self._began = time.perf_counter()
        self._reader: threading.Thread | None = None
        paths = [os.getcwd(), *filter(None, sys.path)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planners.auto.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), NAME: "1"},
            start_new_session=True,  # what it starts ends with it
        )

    def give(self, problem: bytes, inbox: Inbox) -> None:
        """Tell it the problem, pickled; its messages go to `inbox`, and None where it has ended."""
        self._reader = threading.Thread(target=self._serve, args=(problem, inbox), daemon=True)
        self._reader.start()

    def begin(self, task: Task, to_beat: Key | None) -> None:
        """Have it do a task."""
        self.task, self._began = task, time.perf_counter()
        self.planners.add(task.form.planner)
        self.say(DoTask(task, to_beat))

    @property
    def spent_s(self) -> float:
        """Seconds since its task began, or since it was started."""
        return time.perf_counter() - self._began

    def say(self, message: Any) -> None:
        """Send a message."""
        self._write(pickled(message))

    def _write(self, data: bytes) -> None:
        """A worker that has just died is noticed by its reader."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            send(self.process.stdin, data)

    def kill(self) -> None:
        """End it with all that it has started."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def gone(self) -> None:
        """Wait until it has ended, after `kill`."""
        if self._reader is None:
            self._close()
        else:
            self._reader.join(GONE_S)

    def _serve(self, problem: bytes, inbox: Inbox) -> None:
        assert self.process.stdout is not None
        self._write(problem)
        with contextlib.suppress(EOFError, OSError, ValueError):
            while True:
                inbox.put((self, receive(self.process.stdout)))
        self.kill()
        self._close()
        inbox.put((self, None))

    def _close(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def started(count: int) -> list[WorkerProcess]:
    """So many processes; none where there would be one only, or where none can be made."""
    workers: list[WorkerProcess] = []
    with contextlib.suppress(OSError):
        for _ in range(count if count > 1 else 0):
            workers.append(WorkerProcess())
    return workers


def end(workers: Sequence[WorkerProcess]) -> None:
    """End processes, whatever they do."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.gone()


class SideBySide:
    """Tasks in worker processes."""

    def __init__(self, here: Here, workers: list[WorkerProcess]) -> None:
        """`here` does what is quick until the first of them is there, and all if all are lost."""
        self._here, self.workers = here, list(workers)
        self._inbox: Inbox = queue.SimpleQueue()
        self._ended: list[Ended] = []
        self._left_here = False  # what was begun here was left to the workers
        self._restarts = RESTARTS * len(workers)
        # Now: what is known of a graph grows while it is planned here.
        self._problem = pickled(here.problem)
        for worker in workers:
            worker.give(self._problem, self._inbox)

    @property
    def quick_only(self) -> bool:
        """Whether no worker is there yet: only what is quick can be begun."""
        return bool(self.workers) and not any(worker.ready for worker in self.workers)

    def free(self) -> bool:
        self._read(0.0)
        if self._ended:
            return False
        if self.quick_only:
            return not self._left_here
        return not self.workers or self._idle() is not None

    def start(self, task: Task, cut_s: float | None) -> None:
        if worker := self._idle(task.form.planner):
            worker.begin(task, self._here.to_beat())
        elif not self.workers:  # none could be started, or all have died
            self._ended.append(self._here.run(task, cut_s))
        else:
            ended = self._here.run(task, HERE_S)
            self._left_here = ended.outcome is None
            self._ended.append(Ended(task) if self._left_here else ended)

    def wait(self, seconds: float) -> list[Ended]:
        if not self._ended:
            self._read(seconds)
        for worker in self.workers:
            if not worker.ready and worker.spent_s > STARTS_S:
                worker.kill()
        ended, self._ended = self._ended, []
        return ended

    def ask_to_end(self, number: int) -> None:
        for worker in self.workers:
            if worker.task is not None and worker.task.number == number:
                worker.say(End(number))

    def give_up(self, number: int) -> None:
        for worker in self.workers:
            if worker.task is not None and worker.task.number == number:
                worker.too_late = True
                worker.kill()

    def close(self) -> None:
        end(self.workers)

    def _idle(self, planner: str = "") -> WorkerProcess | None:
        """A worker that has nothing to do; one that knows the planner, if there is one."""
        idle = [worker for worker in self.workers if worker.ready and worker.task is None]
        return next((w for w in idle if planner in w.planners), next(iter(idle), None))

    def _read(self, seconds: float) -> None:
        """Take in what workers have said, and wait for the first for so long."""
        with contextlib.suppress(queue.Empty):
            self._hear(*self._inbox.get(timeout=seconds) if seconds else self._inbox.get_nowait())
            while True:
                self._hear(*self._inbox.get_nowait())

    def _hear(self, worker: WorkerProcess, message: Any) -> None:
        match message:
            case Ready():
                worker.ready = True
            case Told(task, stage):
                if not self._here.tell(task, Progress(stage, worker.spent_s)):
                    worker.say(End(task.number))
            case Answered(outcome, packed):
                worker.task = None
                self._ended.append(Ended(outcome.task, outcome))
                if packed is not None:
                    self._here.best.offer(outcome.key, lambda: unpack(packed, self._here.problem))
                    for other in self.workers:
                        other.say(Beat(outcome.key)) if other.task else None
            case None:
                self._lost(worker)

    def _lost(self, worker: WorkerProcess) -> None:
        """A worker has ended: its task is lost, and another worker takes its place."""
        self.workers.remove(worker)
        if (task := worker.task) is not None:
            took_s = worker.spent_s
            if worker.too_late:
                self._ended.append(Ended(task, None, given_up(took_s), took_s))
            else:
                reason = f"its worker died ({_how(worker.process.returncode)})"
                died = FormOutcome(task, self._here.problem.aim.floor, reason=reason, took_s=took_s)
                self._ended.append(Ended(task, died))
        if worker.ready and self._restarts:
            self._restarts -= 1
            with contextlib.suppress(OSError):
                self.workers.append(WorkerProcess())
                self.workers[-1].give(self._problem, self._inbox)


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"code {code}"
