"""Where forms are asked: here, one after the other, or in worker processes side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from planners.auto.runs import FormOutcome, FormProblem, Key, Task, ToBeat, attempt
from planners.core.plan import Plan
from planners.core.progress import Progress
from planners.core.watchdog import GivingUp, TimeUp, give_up_after

Tell: TypeAlias = Callable[[Task, Progress], bool]
"""Called with what a task reports; False asks it to end with the best that it has."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that has ended, and its outcome.

    Without one it was given up for a `reason`; without that too, it is to be begun again.
    """

    task: Task
    outcome: FormOutcome | None = None
    reason: str = ""
    took_s: float = 0.0


class BestPlan:
    """The plan of the best outcome; how it is had may be left until it is wanted."""

    def __init__(self) -> None:
        self._key: Key | None = None
        self._get: Callable[[], Plan] | None = None

    def offer(self, key: Key, get: Callable[[], Plan]) -> None:
        """Keep a plan where its outcome is better than that of the one kept."""
        if self._key is None or key < self._key:
            self._key, self._get = key, get

    def get(self) -> Plan | None:
        """The plan, if there is one."""
        return self._get() if self._get else None


class Lanes(Protocol):
    """Where tasks run, some of them side by side."""

    @property
    def quick_only(self) -> bool:
        """Whether only quick forms can be begun now."""

    def free(self) -> bool:
        """Whether another task can be begun."""

    def start(self, task: Task, cut_s: float | None) -> None:
        """Begin a task; where nobody could end it, it ends itself after `cut_s` seconds."""

    def wait(self, seconds: float) -> list[Ended]:
        """Tasks that have ended, after so many seconds at most."""

    def ask_to_end(self, number: int) -> None:
        """Ask a task for the best that it has."""

    def give_up(self, number: int) -> None:
        """End a task, whatever it has."""

    def close(self) -> None:
        """End whatever runs."""


class Here:
    """Tasks in this thread, one after the other."""

    def __init__(self, problem: FormProblem, best: BestPlan, to_beat: ToBeat, tell: Tell) -> None:
        self.problem, self.best, self.to_beat, self.tell = problem, best, to_beat, tell
        self._ended: list[Ended] = []

    @property
    def quick_only(self) -> bool:
        return False

    def free(self) -> bool:
        return not self._ended

    def start(self, task: Task, cut_s: float | None) -> None:
        self._ended.append(self.run(task, cut_s))

    def run(self, task: Task, cut_s: float | None) -> Ended:
        """Do a task now."""
        began, cut = time.perf_counter(), GivingUp()
        try:
            with give_up_after(cut_s) as cut:
                outcome, plan = attempt(
                    task, self.problem, lambda moment: self.tell(task, moment), self.to_beat
                )
        except TimeUp:
            if not cut.sent:
                raise  # it is for who has called us
            took_s = time.perf_counter() - began
            return Ended(task, reason=given_up(took_s), took_s=took_s)
        if plan is not None:
            won = plan
            self.best.offer(outcome.key, lambda: won)
        return Ended(task, outcome)

    def wait(self, seconds: float) -> list[Ended]:
        ended, self._ended = self._ended, []
        return ended

    def ask_to_end(self, number: int) -> None:
        """Nothing runs while this can be called."""

    def give_up(self, number: int) -> None:
        """Nothing runs while this can be called."""

    def close(self) -> None:
        """Nothing runs while this can be called."""


def given_up(took_s: float) -> str:
    """Why a task has no outcome that took longer than it may."""
    return f"given up after {took_s:.3g} s: it took longer than it may"
