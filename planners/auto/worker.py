"""A worker process of `auto`: takes tasks, one after the other, and says what they give.

Messages are pickled: both ends are of one version and one user, over pipes of their own.
"""

from __future__ import annotations

import io
import os
import pickle
import queue
import time
from collections.abc import Callable
from dataclasses import replace
from typing import IO, Any, NamedTuple

from planners.auto.runs import FormOutcome, FormProblem, Key, Task, attempt
from planners.core.graph import Graph
from planners.core.processes import NAME
from planners.core.progress import POLL_S, Progress
from planners.core.services import PLAN_WHOLE_TENSORS
from planners.core.worker_process import MessageConnection

GRAPH = "graph"


class DoTask(NamedTuple):
    """A task for a worker, and the best that is known."""

    task: Task
    to_beat: Key | None


class Beat(NamedTuple):
    """The best that is known is now this."""

    key: Key


class End(NamedTuple):
    """A worker is to end what it does with the best that it has."""

    number: int


class Ready(NamedTuple):
    """A worker can be asked."""


class Told(NamedTuple):
    """What a task reports."""

    task: Task
    stage: str


class Answered(NamedTuple):
    """A task's outcome; the plan, pickled, where it is better than the best known."""

    outcome: FormOutcome
    plan: bytes | None


def pickled(message: Any) -> bytes:
    """A message as it is sent."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


class _Packer(pickle.Pickler):
    """Pickles a plan without the graph that both ends have."""

    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._graph = graph

    def persistent_id(self, value: Any) -> str | None:
        return GRAPH if value is self._graph else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file)
        self._graph = graph

    def persistent_load(self, name: Any) -> Graph:
        return self._graph


def pack(value: Any, problem: FormProblem) -> bytes:
    """A value without the problem's graph."""
    file = io.BytesIO()
    _Packer(file, problem.graph).dump(value)
    return file.getvalue()


def unpack(data: bytes, problem: FormProblem) -> Any:
    """The value, with the problem's graph."""
    return _Unpacker(io.BytesIO(data), problem.graph).load()


class WorkerDesk:
    """What a worker knows: whom it works for, its tasks, the best of all workers."""

    def __init__(self, connection: MessageConnection) -> None:
        self._connection = connection
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._best: Key | None = None
        self._to_end: set[int] = set()

    def serve(self) -> None:
        """Work for ever."""
        PLAN_WHOLE_TENSORS.function()  # Most tasks need it, and their time is for planning.
        problem: FormProblem = pickle.loads(self._connection.receive())
        self._connection.listen(self._take)
        self._say(Ready())
        while True:
            task = self._tasks.get()
            outcome, plan = attempt(task, problem, self._teller(task), lambda: self._best)
            packed = None
            if plan is not None:
                try:
                    packed = pack(plan, problem)
                except Exception as error:  # what a planner from elsewhere puts into its plans
                    text = f"its plan cannot leave its process: {type(error).__name__}: {error}"
                    outcome = replace(outcome, value=None, offchip_bytes=None, reason=text)
            self._say(Answered(outcome, packed))

    def _take(self, data: bytes) -> None:
        """Take in what is said, whatever is being done."""
        match pickle.loads(data):
            case DoTask(task, best):
                self._best = best
                self._to_end.discard(task.number)
                self._tasks.put(task)
            case Beat(key):
                self._best = key
            case End(number):
                self._to_end.add(number)

    def _say(self, message: Any) -> None:
        self._connection.send(pickled(message))

    def _teller(self, task: Task) -> Callable[[Progress], bool]:
        at_s, stage = 0.0, ""

        def tell(moment: Progress) -> bool:
            nonlocal at_s, stage
            now = time.monotonic()
            if moment.stage != stage and now - at_s >= POLL_S:
                at_s, stage = now, moment.stage
                self._say(Told(task, stage))
            return task.number not in self._to_end

        return tell


def main(connection: MessageConnection) -> None:
    """Work for the process at the other end, in this process alone."""
    os.environ[NAME] = "1"
    WorkerDesk(connection).serve()
