"""How a planner reports progress while it works, and how it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of planning: the best objective so far and the proven bound, in bytes."""

    stage: str
    elapsed_s: float
    incumbent_bytes: int | None = None
    bound_bytes: int | None = None


ProgressCallback: TypeAlias = Callable[[Progress], bool | None]
"""Called from time to time; returning False asks the planner to stop and keep its best plan."""


def now() -> float:
    """Seconds on the clock that limits searches, from some moment on."""
    return time.perf_counter()


def since(began: float, callback: ProgressCallback | None) -> ProgressCallback | None:
    """The callback of a later stage, in seconds since this moment of `now`."""
    if callback is None:
        return None
    return lambda moment: callback(replace(moment, elapsed_s=now() - began))


MOST_SHARE = 0.7
"""Of what is left, for a search of whose result something is still to be made in the rest."""
TRIAL_SHARE = 0.3
"""Of what is left, for one of several searches: it is not known which of them succeeds."""
POLL_S = 0.1
"""Between two looks of one thread or process at what another does, and between two reports."""
GRACE_S = 1.0
"""What a limit may be exceeded by: what is to end cannot do so at once."""
LONGEST_S = 1e6
"""The longest limit that a planner takes."""


class TimeOver(Exception):
    """A clock expired inside of a step of a search, which is as if it had not been begun."""


@dataclass(frozen=True, slots=True)
class WithinClock:
    """A callback that has the clock of a planner be a part of another one.

    What that planner does counts as work there too. Its stages are reported there where it `tells`.
    """

    clock: Clock
    tells: bool = False

    def __call__(self, moment: Progress) -> bool:
        if self.tells:
            self.clock.report(moment.stage)
        return not self.clock.is_over


class Clock:
    """Time since work began, its limit, and the caller's wish to stop.

    A stop is requested by the answer of the progress callback, or by `should_stop`. A search looks
    at it (`expired`) every so many states: what it does between two looks is one piece of work.
    """

    def __init__(
        self,
        time_limit_s: float,
        callback: ProgressCallback | None = None,
        *,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self._began = now()
        self._limit_s = time_limit_s
        self._callback, self._should_stop = callback, should_stop
        self._stopped = self._ended = self._cut = False
        self._whole: Clock | None = None
        if isinstance(callback, WithinClock):
            self._callback, self._whole = None, callback.clock
        self._most_looks: float | None = None
        self._looks = 0
        self._tells_stages = isinstance(callback, WithinClock) and callback.tells
        self._tells_plans = self._tells_bounds = False

    def share(self, share: float, *, bounds: bool = True) -> Clock:
        """A clock for that share of the time left, which reports all: its plans are the whole's.

        Of a clock of limited work it is a share of the work: seconds end that clock alone. Where
        `bounds` is False its bounds are not: a bound for one order is none for all.
        """
        if self.looks_left < inf:
            return self.work(ceil(share * self.looks_left), bounds=bounds)
        return self._part(share * self.left_s, bounds=bounds)

    def at_least(self, seconds: float) -> Clock:
        """This clock, or one of so many seconds where it has less and was not stopped."""
        return self if self.left_s > seconds or self.stopped else Clock(seconds)

    def of_time(self, share: float) -> Clock:
        """A clock for that share of the time left, whatever work there is: else as `silent`."""
        return self._part(share * self.left_s)._silenced()

    def silent(self, share: float = 1.0) -> Clock:
        """As `share`, for a part of the problem: only its stages are reported, as its plans and
        bounds are none of the whole."""
        return self.share(share)._silenced()

    def _silenced(self) -> Clock:
        self._tells_plans = self._tells_bounds = False
        return self

    def keeping(self, seconds: float) -> Clock:
        """A clock that ends so many seconds before this one, and reports all."""
        return self._part(self.left_s - seconds)

    def _part(self, time_limit_s: float, *, bounds: bool = True) -> Clock:
        """A clock for a part of the work, that ends with this one or before."""
        clock = Clock(time_limit_s)
        clock._whole, clock._tells_stages = self, True
        clock._tells_plans, clock._tells_bounds = True, bounds
        return clock

    def among(self, count: int) -> Clock:
        """A clock for one of so many pieces of work that are left: an equal share of what is."""
        return self.share(1 / count)

    def work(self, looks: float, *, bounds: bool = True) -> Clock:
        """A clock that ends after so many looks at it or at its parts, and reports all as `share`.

        What ends so is the same on any computer: it does not count as ended by time.
        """
        clock = self._part(inf, bounds=bounds)
        clock._most_looks = looks
        return clock

    @property
    def within(self) -> WithinClock:
        """The callback for another planner that works for a while of this clock's."""
        return WithinClock(self)

    @property
    def option_s(self) -> float:
        """The option `time_limit` of a planner called `within` this clock, which ends it."""
        return min(max(POLL_S, self.left_s), LONGEST_S)

    @property
    def looks(self) -> int:
        """How often it, or a part of it, was looked at while there was work left."""
        return self._looks

    @property
    def looks_left(self) -> float:
        """How often it can still be looked at before its work is over."""
        left = inf if self._most_looks is None else max(0, self._most_looks - self._looks)
        return left if self._whole is None else min(left, self._whole.looks_left)

    @property
    def work_over(self) -> bool:
        """Whether it had all of its work, or the clock that it is a part of had."""
        return self.looks_left <= 0

    @property
    def elapsed_s(self) -> float:
        return now() - self._began

    @property
    def left_s(self) -> float:
        """Seconds left, at least zero; none once a stop was requested or its work is over."""
        if self._most_looks is not None and self._looks >= self._most_looks:
            return 0.0
        if self._wants_stop():
            return 0.0
        left = inf if self._limit_s == inf else max(0.0, self._limit_s - self.elapsed_s)
        return left if self._whole is None else min(left, self._whole.left_s)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of it: as `expired`, where there is no work to end."""
        return self.left_s <= 0

    @property
    def left_with_grace_s(self) -> float:
        """Seconds left for the program of what was found: it may exceed the limit a little."""
        return self.left_s + GRACE_S

    @property
    def whole_limit_s(self) -> float:
        """The limit of the whole work, in seconds."""
        return self._limit_s if self._whole is None else self._whole.whole_limit_s

    def _wants_stop(self) -> bool:
        return self._stopped or (self._should_stop is not None and self._should_stop())

    @property
    def may_stop(self) -> bool:
        """Whether it can be stopped before its time is over."""
        return (
            self._callback is not None
            or self._should_stop is not None
            or self._most_looks is not None
            or (self._whole is not None and self._whole.may_stop)
        )

    @property
    def stopped(self) -> bool:
        """Whether a stop was requested, whatever the time."""
        return self._wants_stop() or (self._whole is not None and self._whole.stopped)

    def expired(self) -> bool:
        """Whether time or work is over or a stop was requested: asked where there is work left."""
        if not self.is_over:
            self.spend(1)
            return False
        if self._limit_s > 0 or (self._whole is not None and self._whole.is_over):
            self.end()  # Of a part that was given no time, no seconds decided.
        return True

    @property
    def solver_s(self) -> float:
        """Seconds for a solver that looks at no clock: its best is still to be made use of."""
        return max(0.01, MOST_SHARE * self.left_s)

    def spend(self, looks: int) -> None:
        """Count work that looks at no clock: as much as a search does between so many looks."""
        self._looks += looks
        if self._whole is not None:
            self._whole.spend(looks)

    def allows(self, seconds: float) -> bool:
        """Whether so many seconds are left; where they are not, that ends some of the work."""
        if seconds <= self.left_s:
            return True
        self.end()
        return False

    def end(self) -> None:
        """Say that the clock, here or in the part that this one is of the work, ended some of it.

        Seconds have then decided, and another run may find another plan: not where the work was
        over.
        """
        self._end(by_time=not self.work_over)

    def postpone(self) -> None:
        """Say that work was left for a turn that has more of it."""
        self._end(by_time=False)

    def _end(self, by_time: bool) -> None:
        self._cut = True
        self._ended |= by_time
        if self._whole is not None:
            self._whole._end(by_time)

    @property
    def ended(self) -> bool:
        """Whether it ever ended work."""
        return self._ended

    @property
    def cut(self) -> bool:
        """Whether work was left undone, here or in a part, for want of work or of time."""
        return self._cut

    def notes(self, *, proven: bool) -> tuple[str, ...]:
        """What a plan says of the clock that it was made by: nothing where this decided nothing."""
        if not self._ended:
            return ()
        if proven:
            return ("the clock ended a part of the search: another run may find an equal plan",)
        if self.stopped:
            return ("the search was stopped: a longer one may find better",)
        return (
            f"the time limit of {self._limit_s:g} s ended the search: a longer one may find better",
        )

    def report(
        self, stage: str, incumbent_bytes: int | None = None, bound_bytes: int | None = None
    ) -> None:
        """Report progress to the caller, and learn whether to stop."""
        if self._whole is not None and self._tells_stages:
            self._whole.report(
                stage,
                incumbent_bytes if self._tells_plans else None,
                bound_bytes if self._tells_bounds else None,
            )
        if self._callback is not None:
            moment = Progress(stage, self.elapsed_s, incumbent_bytes, bound_bytes)
            self._stopped = self._callback(moment) is False or self._stopped
