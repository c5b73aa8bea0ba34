"""Worker processes as an executor: where one dies its job fails, and the others go on."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from planners.core.worker_process import MessageConnection, WorkerProcess, exit_text

P = ParamSpec("P")
T = TypeVar("T")


class WorkerProcesses(Executor):
    """At most `jobs` processes, each started when it is needed first.

    Jobs, results and errors are pickled: a job is a function of a module that can be imported.
    """

    def __init__(self, jobs: int) -> None:
        # Each thread has a process and waits for it: what is queued here can still be cancelled.
        self._threads, self._own = ThreadPoolExecutor(jobs), threading.local()
        self._workers: list[WorkerProcess] = []
        self._over, self._starting = False, threading.Lock()

    def submit(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future of a job. It raises `BrokenExecutor` where the job's own process dies."""
        return self._threads.submit(self._done, partial(job, *args, **kwargs))

    def _done(self, job: Callable[[], T]) -> T:
        data, worker = pickle.dumps(job), self._worker()
        worker.send(data)
        try:
            answer = worker.receive()
        except EOFError:
            worker.end()
            how = exit_text(worker.returncode)
            raise BrokenExecutor(f"its worker process died ({how})") from None
        result, error = pickle.loads(answer)
        if error is not None:
            try:
                raise error
            finally:
                del error  # holds this frame, which would hold it
        done: T = result
        return done

    def _worker(self) -> WorkerProcess:
        """This thread's process; another where that has died."""
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None or not worker.running:
            with self._starting:
                if self._over:
                    raise BrokenExecutor("the work was given up")
                self._own.worker = worker = WorkerProcess(work)
                self._workers.append(worker)
        return worker

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; end the processes once all are done, or this is interrupted."""
        try:
            self._threads.shutdown(wait, cancel_futures=cancel_futures)
        finally:
            if wait:
                self._end()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for all jobs; after an error nobody wants what they give, and they are ended."""
        if kind is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._end()
        self.shutdown()

    def _end(self) -> None:
        with self._starting:
            self._over = True
            for worker in self._workers:
                worker.end()


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
