"""Planning in processes of its own: one bounded pool for all sessions, progress, cancel, results.

Each worker is `python -m app.worker` in its own process group. Messages are JSON lines; a job
collects those that belong to it until its session asks for them. Cancelling asks nicely first, so
that the planner keeps the best plan it has, and ends the whole process group a few seconds later.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

import planners as sp
from app.fused_jobs import KEPT
from app.wire import from_wire

GRACE_S = 4.0  # a busy machine takes two to stop, check and send what it has
WARM_AFTER_S = 4.0
ROOT = Path(__file__).resolve().parent.parent
ENDS = ("done", "cancelled", "died")  # types of the last message of a job
Message = dict[str, Any]


class Job:
    """One request to the pool: `drain` gives what it has said since it was last asked."""

    def __init__(self, pool: Pool, number: int, request: Mapping[str, Any], home: str) -> None:
        self.pool, self.number, self.request, self.home = pool, number, dict(request), home
        self.state: Literal["queued", "running", "ended"] = "queued"
        self.asked_s = time.monotonic()
        self.cancelled = False
        self._messages: SimpleQueue[Message] = SimpleQueue()

    def put(self, message: Message) -> None:
        """Add a message; the pool calls this from its reader threads."""
        self._messages.put({**message, "at_s": self.seconds})

    @property
    def seconds(self) -> float:
        """How long ago it was asked for."""
        return time.monotonic() - self.asked_s

    def drain(self) -> list[Message]:
        """All messages since the last call, oldest first."""
        found = []
        with contextlib.suppress(Empty):
            while True:
                found.append(self._messages.get_nowait())
        return found

    def cancel(self) -> None:
        """Stop it: at once where it waits, nicely and then by force where it runs."""
        self.pool.cancel(self)


class Pool:
    """At most `size` workers; jobs wait in order of arrival. Safe to use from any thread."""

    def __init__(self, size: int, command: list[str] | None = None) -> None:
        self.size = size
        self._command = command or [sys.executable, "-m", "app.worker"]
        self._lock = threading.RLock()
        self._waiting: deque[Job] = deque()
        self._workers: list[_Worker] = []
        self._numbers = itertools.count(1)
        self._closed = False

    def submit(self, kind: str, *, home: str = "", **fields: Any) -> Job:
        """Queue a job; it starts as soon as a worker is free.

        Jobs of one home run in the same worker, which keeps what it knows from one to the next.
        """
        job = Job(self, next(self._numbers), {"kind": kind, **fields}, home)
        with self._lock:
            self._waiting.append(job)
            self._dispatch()
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job; a second call does nothing."""
        with self._lock:
            if job.cancelled or job.state == "ended":
                return
            job.cancelled = True
            worker = next((w for w in self._workers if w.job is job), None)
            if worker is None:
                self._waiting.remove(job)
                self._end(job, {"type": "cancelled"})
                return
            worker.send({"cancel": job.number})
        timer = threading.Timer(GRACE_S, self._kill_if_running, (worker, job))
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """End every worker and everything it has started."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
            for worker in workers:
                worker.kill()
        for worker in workers:
            worker.reader.join(GRACE_S)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are alive."""
        with self._lock:
            return [w.process.pid for w in self._workers]

    def _dispatch(self) -> None:
        for job in list(self._waiting):
            worker = None if self._closed else self._worker_for(job)
            if worker is None:
                continue
            self._waiting.remove(job)
            worker.job, job.state = job, "running"
            if job.home and job.home not in worker.homes:
                worker.homes.append(job.home)
            worker.send({"job": job.number, **job.request})

    def _worker_for(self, job: Job) -> _Worker | None:
        """A free worker: the one that knows the job's home, else one that knows least, or new."""
        knowing = [w for w in self._workers if job.home in w.homes]
        if knowing:
            return next((w for w in knowing if w.job is None), None)
        free = sorted((w for w in self._workers if w.job is None), key=lambda w: len(w.homes))
        if len(self._workers) < self.size and not (free and not free[0].homes):
            self._workers.append(_Worker(self, self._command))
            return self._workers[-1]
        return free[0] if free else None

    def _kill_if_running(self, worker: _Worker, job: Job) -> None:
        with self._lock:
            if worker.job is job:
                worker.kill()

    def _end(self, job: Job, message: Message) -> None:
        job.state = "ended"
        job.put(message)

    def received(self, worker: _Worker, message: Message) -> None:
        """A worker's reader thread has a message."""
        with self._lock:
            job = worker.job
            if job is None or message.get("job") != job.number:
                return
            if message["type"] != "done":
                job.put(message)
                return
            worker.job = None
            self._end(job, {"type": "cancelled" if job.cancelled else "done"})
            self._dispatch()

    def lost(self, worker: _Worker) -> None:
        """A worker has ended, by our hand or not."""
        with self._lock:
            self._workers.remove(worker)
            job, worker.job = worker.job, None
            if job is not None:
                code = worker.process.wait()
                self._end(job, {"type": "cancelled"} if job.cancelled else _died(code))
            self._dispatch()


class _Worker:
    """A planning process and the thread that reads what it says."""

    def __init__(self, pool: Pool, command: list[str]) -> None:
        self.job: Job | None = None
        self.homes: deque[str] = deque(maxlen=KEPT)
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # setsid: solvers it starts end with it
        )
        self.reader = threading.Thread(target=self._read, args=(pool,), daemon=True)
        self.reader.start()

    def send(self, message: Message) -> None:
        """Write one line; a worker that has just died is noticed by its reader."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(message, separators=(",", ":")) + "\n")
            self.process.stdin.flush()

    def kill(self) -> None:
        """End the whole process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _read(self, pool: Pool) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):  # a line cut short by a kill
                pool.received(self, read_message(line))
        self.kill()  # a solver may outlive the worker that started it
        self.process.wait()
        pool.lost(self)
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def read_message(line: str) -> Message:
    """A worker's line; a plan is put together here, in the reader's thread, not in the server's."""
    message: Message = json.loads(line)
    if message.get("type") == "plan":
        try:
            return {**message, "shown": from_wire(message)}
        except (sp.SpillwayError, KeyError, TypeError, ValueError) as error:
            return {**message, "type": "error", "text": f"The plan is not shown: {error}"}
    return message


def _died(code: int) -> Message:
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    hint = "; it may have run out of memory" if code == -signal.SIGKILL else ""
    text = f"The planning process {how}{hint}. What is on screen is unchanged; try again."
    return {"type": "died", "text": text}


@cache
def shared_pool() -> Pool:
    """The pool of this server; it leaves the server a core where there are three or more.

    One worker makes itself ready to import models once the first page is out.
    """
    pool = Pool(max(2, min(8, (os.cpu_count() or 2) - 1)))
    atexit.register(pool.close)
    warm = threading.Timer(WARM_AFTER_S, pool.submit, ["warm"])
    warm.daemon = True
    warm.start()
    return pool
