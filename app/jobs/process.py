"""A planning process and the thread that reads its output; messages are JSON lines.

Each is `python -m app.jobs.worker` in a process group of its own, so that it ends together with all
the processes it has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import planners as sp
from app.jobs.protocol import HOMES, Answer, read_line
from app.model.memory import LIMIT_NAME, group_bytes
from app.model.places import ROOT
from app.model.wire import from_wire
from planners.core.garbage import no_collection


class Owner(Protocol):
    """Who receives a worker's answers, and the news that it has ended."""

    def received(self, worker: Worker, number: int, answer: Answer) -> None: ...
    def lost(self, worker: Worker) -> None: ...


class Worker:
    """One process; `job` is what it works on.

    `too_much` and `too_long` are the bytes or the seconds for which it was ended.
    """

    def __init__(self, pool: Owner, command: list[str] | None, memory_bytes: int) -> None:
        self.job: Any = None
        self.too_much, self.too_long = 0, 0.0
        self.homes: deque[str] = deque(maxlen=HOMES)
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        set_here = {"PYTHONPATH": os.pathsep.join(paths), LIMIT_NAME: str(memory_bytes)}
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "app.jobs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **set_here},
            start_new_session=True,  # setsid: solvers it starts end with it
        )
        self.reader = threading.Thread(target=self._read, args=(pool,), daemon=True)
        self.reader.start()

    def held_bytes(self) -> int:
        """Bytes that it and the processes that it has started hold."""
        return group_bytes(self.process.pid)

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one line; a worker that has just died is noticed by its reader."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(message, separators=(",", ":")) + "\n")
            self.process.stdin.flush()

    def kill(self) -> None:
        """End the whole process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def why(self, code: int) -> str:
        """In a word why it has ended, with this code of `Popen.returncode`."""
        if self.too_long or self.too_much:
            return "time" if self.too_long else "memory"
        return "signal" if code < 0 else "code"

    def _read(self, pool: Owner) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                with contextlib.suppress(ValueError):  # a line cut short by a kill
                    pool.received(self, *read_answer(line))
        finally:  # whatever it was: nobody waits for a worker that is not heard any more
            self.kill()  # a solver may outlive the worker that started it
            self.process.wait()
            pool.lost(self)
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]


@no_collection()
def read_answer(line: str) -> tuple[int, Answer]:
    """A worker's line; plans are decoded here, in the reader's thread, not in the server's."""
    number, answer = read_line(line)
    if answer.name != "plan":
        return number, answer
    try:
        return number, replace(answer, data={**answer.data, "shown": from_wire(answer.data)})
    except (sp.SpillwayError, KeyError, TypeError, ValueError) as error:
        text = f"The plan is not shown: {error}"
        return number, Answer("error", data={"text": text})
