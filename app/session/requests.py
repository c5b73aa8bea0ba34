"""How parts of a session ask workers: one question at a time, and the newest wins. No Panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import param

from app.jobs.pool import Asks, PoolJob
from app.jobs.protocol import ENDS, FAILURES, Answer, Request

Together = Callable[[], AbstractContextManager[Any]]
"""What changes within such a context reaches the browser in one message."""


def setter(model: param.Parameterized, name: str) -> Callable[[Any], None]:
    """A function that sets a field of a view-model."""
    return lambda value: setattr(model, name, value)


def nothing(_what: Any) -> None:
    """Do nothing."""


class Ask:
    """A question to the workers.

    `take` gets its answers, `wrong` a line on what failed, `ended` the last answer; `runs` is
    called with whether the workers have it.
    """

    def __init__(
        self,
        jobs: Asks,
        take: Callable[[Answer], object],
        *,
        runs: Callable[[bool], object] = nothing,
        wrong: Callable[[str], object] = nothing,
        ended: Callable[[Answer], object] = nothing,
    ) -> None:
        self.job: PoolJob | None = None
        self._jobs, self._take = jobs, take
        self._runs, self._wrong, self._ended = runs, wrong, ended

    @property
    def busy(self) -> bool:
        """Whether a worker may still send an answer."""
        return self.job is not None

    def ask(self, request: Request, **how: Any) -> PoolJob:
        """Ask, replacing the question under way; `how` as in `Pool.submit`."""
        self.drop()
        self.job = self._jobs.submit(request, **how)
        self._runs(True)
        return self.job

    def cancel(self) -> None:
        """Ask it to stop; answers that still come are taken."""
        if self.job:
            self.job.cancel()

    def drop(self) -> None:
        """Stop it; no more of its answers are taken."""
        if self.job:
            self.job.cancel()
            self.job = None
            self._runs(False)

    def poll(self) -> None:
        """Take the answers since the last call."""
        job = self.job
        for answer in job.drain() if job else ():
            if self.job is not job:  # another question was asked meanwhile
                return
            if answer.kind in FAILURES:
                self._wrong(answer["text"])
            elif answer.kind not in ENDS:
                self._take(answer)
            if answer.kind in ENDS and self.job is job:
                self.job = None
                self._runs(False)
                self._ended(answer)


class SessionPart:
    """A part of a session, with its questions to the workers."""

    asks: Sequence[Ask] = ()

    @property
    def busy(self) -> bool:
        """Whether a worker may still send an answer."""
        return any(ask.busy for ask in self.asks)

    def poll(self) -> None:
        """Take the workers' answers."""
        for ask in tuple(self.asks):
            ask.poll()

    def close(self) -> None:
        """Stop everything that runs."""
        for ask in self.asks:
            ask.drop()
