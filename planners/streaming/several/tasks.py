"""Periodic tasks: networks whose jobs come again and again, and all jobs until that repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from planners.core.errors import BadInput
from planners.streaming.model.layers import Layer

Policy: TypeAlias = Literal["edf", "fixed"]
POLICIES: tuple[Policy, ...] = ("edf", "fixed")
MOST_JOBS = 1000
"""Jobs in a hyperperiod that are simulated without being asked to."""


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A network that is run every `period_s`, each time within `deadline_s` of its release.

    Times of the layers are upper bounds. Periods and deadlines are exact fractions of a second
    (`task` makes them from decimals). The least `priority` is the most urgent. Raises
    `BadInput` for a deadline after the period, and for times that are not positive numbers.
    """

    name: str
    layers: tuple[Layer, ...]
    period_s: Fraction
    deadline_s: Fraction
    priority: int = 0

    def __post_init__(self) -> None:
        if not self.layers:
            raise BadInput(f"task {self.name!r} has no layers: leave it out")
        if self.period_s <= 0:
            raise BadInput(f"task {self.name!r}: its period must be above zero")
        if not 0 < self.deadline_s <= self.period_s:
            raise BadInput(
                f"task {self.name!r}: its deadline of {ms(self.deadline_s)} must be above zero and "
                f"at most its period, {ms(self.period_s)}"
            )

    @property
    def size_bytes(self) -> int:
        """Bytes of all its layers: what it streams in each job."""
        return sum(layer.size_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class TaskJob:
    """One run of a task, by position among the tasks; numbers are from 0 in each hyperperiod."""

    task: int
    number: int
    release_s: float
    due_s: float


def task(
    name: str,
    layers: Sequence[Layer],
    period_s: float | str | Fraction,
    deadline_s: float | str | Fraction | None = None,
    priority: int = 0,
) -> PeriodicTask:
    """A task; a number is taken as it is written in decimals. No deadline: that of the period."""
    period = exact(period_s)
    deadline = period if deadline_s is None else exact(deadline_s)
    return PeriodicTask(name, tuple(layers), period, deadline, priority)


def exact(value: float | str | Fraction) -> Fraction:
    """A number as a fraction: 0.1 is a tenth. Raises `BadInput` for anything that is not a number.

    >>> exact(0.1), exact("33.3")
    (Fraction(1, 10), Fraction(333, 10))
    """
    try:
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, ZeroDivisionError, TypeError):
        raise BadInput(f"{value!r:.40} is not a number") from None


def ms(value: float | Fraction) -> str:
    """A time in milliseconds, for people."""
    return f"{float(value) * 1e3:.6g} ms"


def hyperperiod(tasks: Sequence[PeriodicTask]) -> Fraction:
    """The least time that all periods divide: from then on everything repeats.

    >>> hyperperiod([task("a", [Layer("l", 0, 0, 0, 1)], p) for p in ("0.04", "0.1")])
    Fraction(1, 5)
    """
    if not tasks:
        raise BadInput("no tasks: name at least one network")
    periods = [task.period_s for task in tasks]
    over = math.lcm(*(period.numerator for period in periods))
    return Fraction(over, math.gcd(*(period.denominator for period in periods)))


def jobs_of(tasks: Sequence[PeriodicTask], most: int = MOST_JOBS) -> tuple[TaskJob, ...]:
    """All jobs of a hyperperiod, all tasks released together at 0; by release, then by task.

    Raises `BadInput` where there are more than `most`.
    """
    whole = hyperperiod(tasks)
    counts = [int(whole / task.period_s) for task in tasks]
    if sum(counts) > most:
        each = ", ".join(f"{task.name} {ms(task.period_s)}" for task in tasks)
        raise BadInput(
            f"periods {each} repeat together after {float(whole):g} s only: {sum(counts)} jobs, "
            f"above {most}; choose periods that divide each other, or allow more jobs"
        )
    jobs = []
    for i, (task, count) in enumerate(zip(tasks, counts, strict=True)):
        for number in range(count):
            release = number * task.period_s
            jobs.append(TaskJob(i, number, float(release), float(release + task.deadline_s)))
    return tuple(sorted(jobs, key=lambda job: (job.release_s, job.task)))
