"""Planning in separate processes: one bounded pool for all sessions; progress, cancel, results.

A job collects its answers until its session takes them. Cancelling first asks the planner to stop,
so that it keeps the best plan it has, and kills the whole process group a few seconds later. Who is
next is decided here alone (`WorkerPool.queue`): sessions take turns, and jobs that somebody waits
for go before those in the background.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, Protocol

from app.jobs.answer_cache import DecodedAnswers
from app.jobs.process import Worker, read_answer
from app.jobs.protocol import Answer, Request, cancel_message
from app.jobs.results import ResultStore, drop, results, versions
from app.model.events import job_ended, worker_ended
from app.model.memory import describe_death, worker_limit
from app.model.settings import JOBS

GRACE_S = 4.0  # two are enough to stop, check and send the plan
WARM_AFTER_S = 4.0
WATCH_S = 0.2
MOST_OWNERS = 1000
PATIENCE, PATIENCE_S = 3.0, 60.0
"""A job in the background may take so many times the limit of its plans, and so many seconds
beside: a planner that does not heed the clock holds a place that all visitors share."""
TOO_MANY = "{most} of your jobs are already waiting: cancel some, or try again later"
KEPT = frozenset({"plan"})  # kinds of requests that are answered from the disk where possible


class PoolJob:
    """One request to the pool: `drain` gives its answers since the last call."""

    def __init__(
        self,
        pool: WorkerPool,
        number: int,
        request: Request,
        owner: Hashable = "",
        background: bool = False,
        limit_s: float = 0.0,
    ) -> None:
        self.pool, self.number, self.request = pool, number, request
        self.owner, self.background, self.limit_s = owner, background, limit_s
        self.state: Literal["queued", "running", "ended"] = "queued"
        self.asked_s = time.monotonic()
        self.cancelled = False
        self.last: Worker | None = None
        self.begun_s = self.asked_s
        self.said: list[Answer] = []  # of one that the disk keeps
        self._answers: SimpleQueue[Answer] = SimpleQueue()

    def put(self, answer: Answer) -> None:
        """Add an answer; the pool calls this from its reader threads."""
        self._answers.put(replace(answer, at_s=self.seconds))

    @property
    def seconds(self) -> float:
        """Seconds since it was submitted."""
        return time.monotonic() - self.asked_s

    @property
    def ahead(self) -> int:
        """How many jobs will be taken before it; 0 for one that runs or has ended."""
        return self.pool.ahead(self)

    def drain(self) -> list[Answer]:
        """All answers since the last call, oldest first."""
        answers = []
        with contextlib.suppress(Empty):
            while True:
                answers.append(self._answers.get_nowait())
        return answers

    def cancel(self) -> None:
        """Stop it: at once where it waits; where it runs, first by request and then by force."""
        self.pool.cancel(self)


class WorkerPool:
    """At most `size` workers, each with at most `memory_bytes`. Safe to use from any thread.

    Of the jobs that wait, one that somebody waits for goes before those in the background, then
    one of the owner who has fewest running, then of the one who has been served longest ago. Where
    there are two workers or more, jobs in the background leave one free for the others.
    """

    def __init__(
        self,
        size: int,
        memory_bytes: int | None = None,
        results: ResultStore | None = None,
    ) -> None:
        self.size, self.results, self.decoded = size, results, DecodedAnswers()
        self.memory_bytes = worker_limit(size) if memory_bytes is None else memory_bytes
        self._lock = threading.RLock()
        self._waiting: list[PoolJob] = []
        self._workers: list[Worker] = []
        self._numbers = itertools.count(1)
        self._served: dict[Hashable, int] = {}  # by owner: a rising number for each job begun
        self._turns = itertools.count(1)
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None

    def submit(
        self,
        request: Request,
        *,
        owner: Hashable = "",
        background: bool = False,
        fresh: bool = False,
        limit_s: float = 0.0,
    ) -> PoolJob:
        """Queue a job; it starts as soon as a worker is free and it is its owner's turn.

        A known plan comes from the disk, unless it is to be `fresh`; the job has ended by the end
        of this call where this server has read it before. A job that runs for more than `limit_s`
        seconds, where that is above zero, is ended; one in the background has a limit in any case.
        """
        limit_s = limit_s or (longest_s(request) if background else 0.0)
        job = PoolJob(self, next(self._numbers), request, owner, background, limit_s)
        entry = None
        if request.kind in KEPT and self.results and not fresh:
            entry = self.results.find(request)
        if entry is None:
            self._wait(job)
        elif decoded := self.decoded.find(entry):
            for answer in decoded:
                job.put(answer)
            self._end(job, Answer("done"))
        else:
            job.state = "running"
            threading.Thread(target=self._recall, args=(job, entry), daemon=True).start()
        return job

    def _wait(self, job: PoolJob) -> None:
        with self._lock:
            if sum(other.owner == job.owner for other in self._waiting) >= JOBS.value:
                job.put(Answer("error", data={"text": TOO_MANY.format(most=JOBS.value)}))
                self._end(job, Answer("done"))
                return
            job.state = "queued"
            self._waiting.append(job)
            self._dispatch()

    def _recall(self, job: PoolJob, entry: Path) -> None:
        """Repeat the stored answers; plan where they can no longer be read or drawn."""
        kept = self.results.read(entry) if self.results else None
        try:
            answers = [read_answer(line)[1] for line in kept.lines] if kept else []
        except ValueError:
            answers = []
        with self._lock:
            if job.state == "ended":
                return
            if kept is None or not answers or any(a.kind == "error" for a in answers):
                drop(entry)
                self._wait(job)
                return
            answers.insert(0, Answer("recalled", data={"took_s": kept.took_s, "at": kept.at}))
            self.decoded.keep(entry, answers)
            for answer in answers:
                job.put(answer)
            self._end(job, Answer("done"))

    def queue(self) -> list[PoolJob]:
        """The jobs that wait, in the order in which they would be taken now."""
        with self._lock:
            running: dict[Hashable, int] = {}
            for worker in self._workers:
                if worker.job is not None:
                    running[worker.job.owner] = running.get(worker.job.owner, 0) + 1
            served, left = dict(self._served), sorted(self._waiting, key=lambda job: job.number)
            order: list[PoolJob] = []
            while left:
                job = min(left, key=lambda j: _turn(j, running, served))
                left.remove(job)
                order.append(job)
                running[job.owner] = running.get(job.owner, 0) + 1
                served[job.owner] = max(served.values(), default=0) + 1
            return order

    def ahead(self, job: PoolJob) -> int:
        """How many jobs will be taken before one that waits."""
        with self._lock:
            if job.state != "queued":
                return 0
            return self.queue().index(job)

    def cancel(self, job: PoolJob) -> None:
        """Stop a job; a second call does nothing."""
        with self._lock:
            if job.cancelled or job.state == "ended":
                return
            job.cancelled = True
            worker = next((w for w in self._workers if w.job is job), None)
            if worker is None:
                if job in self._waiting:
                    self._waiting.remove(job)
                self._end(job, Answer("cancelled"))
                return
            worker.send(cancel_message(job.number))
        self._later(GRACE_S * crowding(), self._kill_if_running, worker, job)

    def close(self) -> None:
        """End every worker and everything it has started."""
        with self._lock:
            self._closed.set()
            workers = list(self._workers)
            for worker in workers:
                worker.kill()
        for worker in workers:
            worker.reader.join(GRACE_S)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are alive."""
        with self._lock:
            return [w.pid for w in self._workers]

    def _dispatch(self) -> None:
        for job in self.queue():
            worker = None if self._closed.is_set() else self._worker_for(job)
            if worker is None:
                continue
            self._waiting.remove(job)
            worker.job, job.state, job.last = job, "running", worker
            job.begun_s = time.monotonic()
            self._served[job.owner] = next(self._turns)
            if job.request.home and job.request.home not in worker.homes:
                worker.homes.append(job.request.home)
            worker.send(job.request.message(job.number))
            if job.limit_s:
                self._later(job.limit_s, self._too_long, worker, job)
        self._forget()

    def _forget(self) -> None:
        """Owners come and go: of those that have no job here, only the last few are remembered."""
        if len(self._served) > MOST_OWNERS:
            here = {job.owner for job in self._waiting} | {
                w.job.owner for w in self._workers if w.job
            }
            old = sorted((o for o in self._served if o not in here), key=self._served.__getitem__)
            for owner in old[: len(self._served) - MOST_OWNERS // 2]:
                del self._served[owner]

    def _worker_for(self, job: PoolJob) -> Worker | None:
        """A free worker: the one that knows the job's home, else the one that knows least, or a new
        one."""
        if job.background and self._in_background() >= max(1, self.size - 1):
            return None
        knowing = [w for w in self._workers if job.request.home in w.homes]
        if knowing:
            return next((w for w in knowing if w.job is None), None)
        free = sorted((w for w in self._workers if w.job is None), key=lambda w: len(w.homes))
        if job.last in free:
            return job.last
        if len(self._workers) < self.size and not (free and not free[0].homes):
            self._workers.append(Worker(self, self.memory_bytes))
            self._start_watch()
            return self._workers[-1]
        return free[0] if free else None

    def _in_background(self) -> int:
        return sum(w.job is not None and w.job.background for w in self._workers)

    def _start_watch(self) -> None:
        if self._watch is None and self.memory_bytes:
            self._watch = threading.Thread(target=self._watch_memory, daemon=True)
            self._watch.start()

    def _watch_memory(self) -> None:
        """End workers that hold more than they may, and idle ones that are close to it."""
        while not self._closed.wait(WATCH_S):
            with self._lock:
                workers = list(self._workers)
            for worker in workers:
                held_bytes = worker.held_bytes
                with self._lock:
                    most = self.memory_bytes if worker.job else self.memory_bytes // 2
                    if held_bytes > most and not self._closed.is_set():
                        worker.too_much = held_bytes
                        worker.kill()

    def _later(self, seconds: float, act: Callable[..., None], *what: Any) -> None:
        timer = threading.Timer(seconds, act, what)
        timer.daemon = True
        timer.start()

    def _too_long(self, worker: Worker, job: PoolJob) -> None:
        with self._lock:
            if worker.job is job:
                worker.too_long = job.limit_s
                worker.kill()

    def _kill_if_running(self, worker: Worker, job: PoolJob) -> None:
        with self._lock:
            if worker.job is job:
                worker.kill()

    def _end(self, job: PoolJob, answer: Answer) -> None:
        job.state = "ended"
        job.put(answer)
        job_ended(job.request.kind, answer.kind, job.seconds)

    def received(self, worker: Worker, number: int, answer: Answer) -> None:
        """A worker's reader thread has an answer."""
        with self._lock:
            job = worker.job
            if job is None or number != job.number:
                return
            if answer.kind not in ("done", "yielded"):
                job.put(answer)
                if answer.kind != "progress" and job.request.kind in KEPT:
                    job.said.append(answer)
                return
            worker.job = None
            if answer.kind == "yielded" and not job.cancelled:
                self._put_back(job, answer.data)
            else:
                self._remember(job)
                self._end(job, Answer("cancelled" if job.cancelled else "done"))
            self._dispatch()

    def _remember(self, job: PoolJob) -> None:
        """Keep the answers to a job that its worker has just written to the disk."""
        if not job.said or not self.results or job.cancelled:
            return
        if entry := self.results.find(job.request):
            facts = {"took_s": time.monotonic() - job.begun_s, "at": time.time()}
            self.decoded.keep(entry, [Answer("recalled", data=facts), *job.said])

    def _put_back(self, job: PoolJob, fields: Mapping[str, Any]) -> None:
        """A long job has done a part and goes back to the queue for the rest of it."""
        job.request = job.request.rest(fields)
        job.state = "queued"
        self._waiting.append(job)

    def lost(self, worker: Worker) -> None:
        """A worker has ended, killed by the pool or not, or cannot be heard any more."""
        worker.end()
        if not self._closed.is_set():
            worker_ended(worker.why, worker.pid)
        with self._lock:
            self._workers.remove(worker)
            job, worker.job = worker.job, None
            if job is not None:
                text = describe_death(
                    worker.returncode, worker.too_much, self.memory_bytes, worker.too_long
                )
                died = Answer("died", data={"text": text})
                self._end(job, Answer("cancelled") if job.cancelled else died)
            self._dispatch()


def crowding() -> float:
    """How much slower this machine is than a quiet one: runnable processes per core."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _turn(job: PoolJob, running: Mapping[Hashable, int], served: Mapping[Hashable, int]) -> Any:
    return job.background, running.get(job.owner, 0), served.get(job.owner, 0), job.number


def longest_s(request: Request) -> float:
    """Seconds that a job in the background may take, by the plans that it makes."""
    more, limit_s = request.more, float(request.problem.get("time_limit", 0))
    several = len(more.get("resolutions", ())) * len(more.get("pipelines", ()))
    return PATIENCE * limit_s * (len(more.get("budgets", ())) or several or 1) + PATIENCE_S


class Asks(Protocol):
    """What takes requests: a pool, or its substitute in a test."""

    def submit(
        self,
        request: Request,
        *,
        owner: Hashable = "",
        background: bool = False,
        fresh: bool = False,
        limit_s: float = 0.0,
    ) -> PoolJob: ...


class Share:
    """The pool as one session sees it: all of its requests have the session as their owner."""

    def __init__(self, pool: Asks, owner: Hashable) -> None:
        self.pool, self.owner = pool, owner

    def submit(self, request: Request, **how: Any) -> PoolJob:
        """As `WorkerPool.submit`."""
        return self.pool.submit(request, **{"owner": self.owner, **how})


@cache
def shared_pool() -> WorkerPool:
    """The pool of this server; it leaves the server a core where there are three or more.

    One worker prepares to import models once the first page is out.
    """
    pool = WorkerPool(max(2, min(8, (os.cpu_count() or 2) - 1)), results=results())
    threading.Thread(target=versions, daemon=True).start()
    atexit.register(pool.close)
    warm = threading.Timer(WARM_AFTER_S, pool.submit, [Request("warm")])
    warm.daemon = True
    warm.start()
    return pool


def running_pool() -> WorkerPool | None:
    """The pool of this server, where it has one by now."""
    return shared_pool() if shared_pool.cache_info().currsize else None
