"""A planning process as the pool sees it: what it works on, and its answers as they come."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Protocol

import planners as sp
from app.display.wire import from_wire
from app.jobs.protocol import HOMES, Answer, read_line
from app.jobs.worker import main
from planners.core.gc_pause import give_back, no_collection
from planners.core.worker_process import WorkerProcess


class Owner(Protocol):
    """Who receives a worker's answers, and the news that it has ended."""

    def received(self, worker: Worker, number: int, answer: Answer) -> None: ...
    def lost(self, worker: Worker) -> None: ...


class Worker(WorkerProcess):
    """One process; `job` is what it works on.

    `too_much` and `too_long` are the bytes or the seconds for which it was ended.
    """

    def __init__(self, pool: Owner, memory_bytes: int) -> None:
        super().__init__(main, memory_bytes)
        self.job: Any = None
        self.too_much, self.too_long = 0, 0.0
        self.homes: deque[str] = deque(maxlen=HOMES)
        self.pool = pool
        self.reader = self.listen(self._receive, lambda: pool.lost(self))

    def _receive(self, message: bytes) -> None:
        """Hand an answer to the pool; what it took to read a plan, several times its size, is free
        then, and would stay with this process."""
        number, answer = read_answer(message)
        self.pool.received(self, number, answer)
        if answer.name == "plan":
            give_back()

    @property
    def why(self) -> str:
        """In a word why it has ended."""
        if self.too_long or self.too_much:
            return "time" if self.too_long else "memory"
        return "signal" if self.returncode < 0 else "code"


@no_collection()
def read_answer(line: str | bytes) -> tuple[int, Answer]:
    """A worker's line; plans are decoded here, in the reader's thread, not in the server's."""
    number, answer = read_line(line)
    if answer.name != "plan":
        return number, answer
    try:
        return number, replace(answer, data={**answer.data, "shown": from_wire(answer.data)})
    except (sp.SpillwayError, KeyError, TypeError, ValueError) as error:
        text = f"The plan is not shown: {error}"
        return number, Answer("error", data={"text": text})
