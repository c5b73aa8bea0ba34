"""Worker processes as an executor: where one dies its job fails, and the others go on."""

from __future__ import annotations

import contextlib
import pickle
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from planners.core.worker_process import MessageConnection, WorkerProcess, exit_text

P = ParamSpec("P")
T = TypeVar("T")


class WorkerProcesses(Executor):
    """At most `jobs` processes, each started when it is needed first.

    Jobs, results and errors are pickled: a job is a function of a module that can be imported.
    """

    def __init__(self, jobs: int) -> None:
        self._workers: list[WorkerProcess] = []
        self._given_up, self._starting = False, threading.Lock()
        self._idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        # Each thread waits for a process: what is queued here can still be cancelled.
        self._waiting = ThreadPoolExecutor(jobs)

    def submit(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future of a job. It raises `BrokenExecutor` where the job's own process dies."""
        return self._waiting.submit(self._done, partial(job, *args, **kwargs))

    def _done(self, job: Callable[[], T]) -> T:
        data, worker = pickle.dumps(job), self._worker()
        try:
            worker.send(data)
            answer = worker.receive()
        except EOFError:
            self._lost(worker)
            how = exit_text(worker.returncode)
            raise BrokenExecutor(f"its worker process died ({how})") from None
        self._idle.put(worker)
        result, error = pickle.loads(answer)
        if error is not None:
            raise error
        done: T = result
        return done

    def _worker(self) -> WorkerProcess:
        """A process that has nothing to do, and has not died meanwhile; else a new one."""
        with contextlib.suppress(Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker.running:
                    return worker
                self._lost(worker)
        with self._starting:
            if self._given_up:
                raise BrokenExecutor("the work was given up")
            self._workers.append(WorkerProcess(work))
            return self._workers[-1]

    def _lost(self, worker: WorkerProcess) -> None:
        self._workers.remove(worker)
        worker.end()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; end the processes once all are done, or this is interrupted."""
        try:
            self._waiting.shutdown(wait, cancel_futures=cancel_futures)
        finally:
            if wait:
                for worker in [*self._workers]:
                    worker.end()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all jobs; after an error nobody wants what they give, and they are ended."""
        if kind is not None:
            self._waiting.shutdown(wait=False, cancel_futures=True)
            with self._starting:
                self._given_up = True
            for worker in [*self._workers]:
                worker.kill()
        self.shutdown()


def work(connection: MessageConnection) -> None:
    """In a worker: do one job after the other."""
    while True:
        connection.send(_answer(connection.receive()))


def _answer(job: bytes) -> bytes:
    """The result of a job and its error, one of them None."""
    try:
        return _pickled(pickle.loads(job)(), None)
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        try:
            return _pickled(None, error)
        except Exception:  # It holds what no other process can have.
            return _pickled(None, RuntimeError(f"{type(error).__name__}: {error}"))


def _pickled(result: Any, error: Exception | None) -> bytes:
    return pickle.dumps((result, error), pickle.HIGHEST_PROTOCOL)
