"""Worker processes that are each a pool of one: where one dies, its job fails, the others go on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import partial
from multiprocessing import get_context
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class WorkerProcesses(Executor):
    """`jobs` processes. A pool of several is broken for good when the system kills one of them."""

    def __init__(self, jobs: int) -> None:
        self._pools: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
        for _ in range(jobs):
            self._pools.put(_pool())
        # Each thread waits for a process: what is queued here can still be cancelled.
        self._waiting = ThreadPoolExecutor(jobs)

    def submit(self, job: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future of a job. It raises `BrokenExecutor` where the job's own process dies."""
        return self._waiting.submit(self._done, partial(job, *args, **kwargs))

    def _done(self, job: Callable[[], T]) -> T:
        pool = self._pools.get()
        try:
            try:
                running = pool.submit(job)
            except BrokenExecutor:  # Its process died while it had nothing to do.
                pool = _pool()
                running = pool.submit(job)
            return running.result()
        except BrokenExecutor:
            pool.shutdown()
            pool = _pool()
            raise
        finally:
            self._pools.put(pool)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; end the processes once all are done."""
        self._waiting.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            while not self._pools.empty():
                self._pools.get().shutdown()


def _pool() -> ProcessPoolExecutor:
    # Spawned: a fork of a process with threads may hang.
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))
