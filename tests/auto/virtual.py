"""A race without planners, in a time of its own: forms are curves of value over limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from planners.auto.executors import Ended, given_up
from planners.auto.forms import Form
from planners.auto.planner import Referee
from planners.auto.runs import FormOutcome, Task
from planners.auto.scheduler import Race
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import load_machine
from planners.core.objective import Objective
from tests.random_graphs import random_graph

AIM = Objective(
    "traffic", ProblemFloors(random_graph(1, 5, largest=20), load_machine("npu_small"), "left-out")
)


@dataclass(frozen=True)
class Curve:
    """A planner as a race sees it: with `needs_s` seconds it has all that it can have.

    Its value falls from `first` to `last` times the floor; `deaf` ones take `needs_s` whatever the
    limit is. `bound` is what it proves, times the floor.
    """

    first: float
    last: float
    needs_s: float
    deaf: bool = False
    bound: float = 1.0

    def took_s(self, limit_s: float) -> float:
        return self.needs_s if self.deaf else min(limit_s, self.needs_s)

    def value(self, limit_s: float) -> float:
        share = min(1.0, limit_s / self.needs_s)
        return AIM.floor * (self.first + (self.last - self.first) * share)


class VirtualClock:
    """What `Referee` asks of a clock."""

    def __init__(self) -> None:
        self.elapsed_s, self.stopped = 0.0, False

    def report(self, stage: str) -> None:
        assert stage


@dataclass
class VirtualLanes:
    """So many curves at once; `asked` has each task with the seconds at which it was begun."""

    curves: Sequence[Curve]
    clock: VirtualClock
    count: int
    quick_only: bool = False
    asked: list[tuple[float, Task]] = field(default_factory=list)
    _running: list[tuple[float, Ended]] = field(default_factory=list)

    def free(self) -> bool:
        return len(self._running) < self.count

    def start(self, task: Task, cut_s: float | None) -> None:
        curve, now = self.curves[task.number], self.clock.elapsed_s
        self.asked.append((now, task))
        took_s = curve.took_s(task.limit_s)
        if self.count == 1 and cut_s is not None and took_s > cut_s:
            self._running.append((now + cut_s, Ended(task, None, given_up(cut_s), cut_s)))
            return
        outcome = FormOutcome(
            task,
            AIM.floor * curve.bound,
            curve.value(task.limit_s),
            "feasible",
            offchip_bytes=1,
            took_s=took_s,
        )
        self._running.append((now + took_s, Ended(task, outcome)))

    def wait(self, seconds: float) -> list[Ended]:
        now = self.clock.elapsed_s
        first = min((at for at, _ in self._running), default=now + seconds)
        self.clock.elapsed_s = now = min(first, now + seconds)
        ended = [ended for at, ended in self._running if at <= now]
        self._running = [item for item in self._running if item[0] > now]
        return ended

    def ask_to_end(self, number: int) -> None:
        """A curve does not listen."""

    def give_up(self, number: int) -> None:
        now = self.clock.elapsed_s
        for place, (_, ended) in enumerate(self._running):
            if ended.task.number == number:
                self._running[place] = (now, Ended(ended.task, None, given_up(now), now))

    def close(self) -> None:
        """Nothing is left behind."""


def raced(curves: Sequence[Curve], limit_s: float, count: int) -> tuple[Race, VirtualLanes]:
    """The race of these curves, when it is over."""
    clock: Any = VirtualClock()
    lanes = VirtualLanes(curves, clock, count)
    race = Race([Form(f"curve{n}") for n in range(len(curves))], AIM, limit_s, count)
    Referee(race, clock, limit_s).run(lanes)
    return race, lanes
