"""Forms side by side in worker processes; the quick ones here, until the first worker is there.

A worker that dies, or is ended because it took too long, loses only its task, and another takes its
place. Plans come as bytes, and only those that are the best so far; the last is read at the end.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from planners.auto.executors import Ended, Here, given_up
from planners.auto.runs import FormOutcome, Key, Task
from planners.auto.worker import (
    Answered,
    Beat,
    DoTask,
    End,
    Ready,
    Told,
    main,
    pickled,
    unpack,
)
from planners.core.progress import Progress
from planners.core.worker_process import WorkerProcess, exit_text

HERE_S = 1.0
"""What runs here while workers start is left to them after so many seconds."""
RESTARTS = 4
"""Times that a worker's place is taken by another."""
STARTS_S = 20.0
"""A worker that is not there after so many seconds does not come."""


Inbox: TypeAlias = "queue.SimpleQueue[tuple[FormWorker, Any]]"


class FormWorker(WorkerProcess):
    """A process that takes tasks once it has a problem."""

    def __init__(self) -> None:
        """Raises `OSError` where no process can be made."""
        super().__init__(main)
        self.task: Task | None = None
        self.ready = False
        self.too_late = False
        self.planners: set[str] = set()
        self._began = time.perf_counter()

    def give(self, problem: bytes, inbox: Inbox) -> None:
        """Tell it the problem, pickled; its messages go to `inbox`, and None where it has ended."""
        # It reads only once it has started, and nobody waits for that.
        threading.Thread(target=self.send, args=(problem,), daemon=True).start()
        self.listen(
            lambda message: inbox.put((self, pickle.loads(message))),
            lambda: inbox.put((self, None)),
        )

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
        self.send(pickled(message))


def started(count: int) -> list[FormWorker]:
    """So many processes; none where there would be one only, or where none can be made."""
    workers: list[FormWorker] = []
    with contextlib.suppress(OSError):
        for _ in range(count if count > 1 else 0):
            workers.append(FormWorker())
    return workers


def end(workers: Sequence[FormWorker]) -> None:
    """End processes, whatever they do."""
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.end()


class SideBySide:
    """Tasks in worker processes."""

    def __init__(self, here: Here, workers: list[FormWorker]) -> None:
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

    def _idle(self, planner: str = "") -> FormWorker | None:
        """A worker that has nothing to do; one that knows the planner, if there is one."""
        idle = [worker for worker in self.workers if worker.ready and worker.task is None]
        return next((w for w in idle if planner in w.planners), next(iter(idle), None))

    def _read(self, seconds: float) -> None:
        """Take in what workers have said, and wait for the first for so long."""
        with contextlib.suppress(queue.Empty):
            self._hear(*self._inbox.get(timeout=seconds) if seconds else self._inbox.get_nowait())
            while True:
                self._hear(*self._inbox.get_nowait())

    def _hear(self, worker: FormWorker, message: Any) -> None:
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

    def _lost(self, worker: FormWorker) -> None:
        """A worker has ended: its task is lost, and another worker takes its place."""
        self.workers.remove(worker)
        worker.end()
        if (task := worker.task) is not None:
            took_s = worker.spent_s
            if worker.too_late:
                self._ended.append(Ended(task, None, given_up(took_s), took_s))
            else:
                reason = f"its worker died ({exit_text(worker.returncode)})"
                died = FormOutcome(task, self._here.problem.aim.floor, reason=reason, took_s=took_s)
                self._ended.append(Ended(task, died))
        if worker.ready and self._restarts:
            self._restarts -= 1
            with contextlib.suppress(OSError):
                self.workers.append(FormWorker())
                self.workers[-1].give(self._problem, self._inbox)
