"""Which form is asked next, and for how long: in rounds of doubled time, if it can still win.

Planners know seconds, those from elsewhere too: so a round gives seconds, and not work as that of
one planner's strategies does (`planners.core.portfolio`). The first round has what a form needs for
a first plan. Each round asks the most promising of those that were cut short and whose bound is
better than the best found, as many as half of the time that is left is enough for; each round gives
twice as much. Where that is enough for no more of them than there are processes, these have all of
it. What has ended by itself, or is proven to win nothing, is not asked again: where that is so of
all, the plan is the same whatever the times were.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from planners.auto.forms import Form
from planners.auto.runs import FormOutcome, Key, Task
from planners.core.objective import Objective
from planners.core.portfolio import FINISHED, HOPELESS, PROVEN, TIME_OVER

LEAST_S = 0.5
"""A form with less time than this is not begun."""
FIRST_S, OPERATOR_S = 1.0, 5e-3
"""What most forms need for a first plan: a second, and so much for each operator."""
NO_TIME = "no time was left"


@dataclass
class Runner:
    """A form in the race: what came of it, and why it is asked no more (empty while it may be)."""

    form: Form
    outcomes: list[FormOutcome] = field(default_factory=list)
    ended: str = ""
    bound: float = 0.0

    @property
    def best(self) -> FormOutcome | None:
        """The best of its outcomes that have a value."""
        return min(
            (o for o in self.outcomes if o.value is not None), key=lambda o: o.key, default=None
        )

    @property
    def limit_s(self) -> float:
        """The longest limit that it had."""
        return max((o.task.limit_s for o in self.outcomes), default=0.0)

    @property
    def seconds(self) -> float:
        return sum(outcome.took_s for outcome in self.outcomes)

    @property
    def beyond_s(self) -> float:
        """Seconds that it takes beyond its limit, for its program and the timing of that."""
        return max((max(o.timed_s, o.took_s - o.task.limit_s) for o in self.outcomes), default=0.0)

    @property
    def worth_s(self) -> float:
        """With no more it is not asked again, unless its search goes on from where it was."""
        return LEAST_S if self.form.goes_on else max(LEAST_S, self.limit_s)

    @property
    def wants_time(self) -> bool:
        """Whether it leads, and had no plan so far for want of time."""
        return self.form.leads and any(o.by_time for o in self.outcomes) and self.best is None

    @property
    def promise(self) -> float:
        """Half-way from its value, where it has one, to its bound: less is asked first.

        One that leads and was not asked, or had no plan for want of time, may have any.
        """
        best = self.best
        if best is not None and best.value is not None:
            return (best.value + min(self.bound, best.value)) / 2
        untried = self.form.leads and not self.outcomes
        return self.bound if untried or self.wants_time else float("inf")


class Race:
    """All forms of a problem, and the best of their outcomes."""

    def __init__(
        self, forms: Sequence[Form], aim: Objective, limit_s: float, lanes: int = 1
    ) -> None:
        self.aim, self.lanes = aim, lanes
        self.runners = [Runner(form, bound=aim.floor) for form in forms]
        self.best: FormOutcome | None = None
        self.running: dict[int, Task] = {}
        self._first_s = FIRST_S + OPERATOR_S * len(aim.floors.graph.operators)
        leading = sum(form.leads for form in forms) or len(forms)
        # All that lead are asked in half of the time, however little it is.
        self._first_s = min(self._first_s, limit_s * lanes / 2 / max(1, leading))
        self._queue = deque[tuple[int, float]]()

    def to_beat(self) -> Key | None:
        """The key of the best so far."""
        return None if self.best is None else self.best.key

    @property
    def proven(self) -> bool:
        """Whether no plan of the problem is better than the best found."""
        best = self.best
        return best is not None and not self.aim.better(self.aim.floor, best.value or 0.0)

    @property
    def settled(self) -> bool:
        """Whether the best is proven, and none that goes before it where they are equal runs."""
        return (
            self.proven
            and self.best is not None
            and self.best.task.number <= min(self.running, default=self.best.task.number)
        )

    def next(
        self, left_s: float, *, quick_only: bool = False, late: Collection[int] = ()
    ) -> Task | None:
        """What is to be begun now, with so many seconds left; None where nothing is.

        The next round waits for all that run but those that are `late`.
        """
        while not self.proven:
            if not self._queue:
                if not self.running.keys() <= set(late) or not self._next_round(left_s):
                    return None
            chosen = next((q for q in self._queue if not quick_only or self._quick(q[0])), None)
            if chosen is None:
                return None
            self._queue.remove(chosen)
            number, limit_s = chosen
            runner = self.runners[number]
            if runner.ended or self._lost(runner):
                continue
            limit_s = min(limit_s, left_s) - runner.beyond_s
            if limit_s < LEAST_S and self.best is not None:
                continue
            self.running[number] = Task(number, runner.form, max(LEAST_S, limit_s))
            return self.running[number]
        return None

    def _quick(self, number: int) -> bool:
        return self.runners[number].form.quick

    def again(self, task: Task) -> None:
        """A task that was begun and left: it is the next."""
        self.running.pop(task.number, None)
        self._queue.appendleft((task.number, task.limit_s))

    def done(self, outcome: FormOutcome) -> None:
        """Take in what a task gave."""
        runner = self.runners[outcome.task.number]
        self.running.pop(outcome.task.number, None)
        runner.outcomes.append(outcome)
        runner.bound = max(runner.bound, outcome.bound)
        if not outcome.has_plan:
            runner.ended = "" if runner.wants_time else outcome.reason
        elif outcome.status == "optimal" and not runner.form.staged:
            runner.ended = "its own aim is proven"
        elif outcome.finished:
            runner.ended = FINISHED
        if outcome.value is not None and (self.best is None or outcome.key < self.best.key):
            self.best = outcome

    def given_up(self, task: Task, reason: str, took_s: float) -> None:
        """A task was ended from outside before it gave anything; a later round may ask it again."""
        self.running.pop(task.number, None)
        self.runners[task.number].outcomes.append(
            FormOutcome(task, self.aim.floor, reason=reason, took_s=took_s)
        )

    def others(self, left_s: float) -> bool:
        """Whether some form could use a process that is free, with so many seconds left."""
        return bool(self._queue or self._still(left_s))

    def hopeless(self) -> list[int]:
        """Numbers of forms that run though they can win nothing any more.

        Those that go before the best where they are equal may still be equal.
        """
        first = self.best.task.number if self.best else 0
        return [n for n in self.running if n > first and self._lost(self.runners[n])]

    @property
    def by_clock(self) -> bool:
        """Whether the time decided: some form could have had more."""
        return not self.proven and any(
            not runner.ended and not self._lost(runner) for runner in self.runners
        )

    def why(self, runner: Runner) -> str:
        """Why a form is asked no more."""
        if runner.ended:
            return runner.ended
        if self.proven:
            return PROVEN
        if self._lost(runner):
            return HOPELESS
        return TIME_OVER if runner.outcomes else NO_TIME

    def _lost(self, runner: Runner) -> bool:
        best = self.best
        return best is not None and not self.aim.better(runner.bound, best.value or 0.0)

    def _still(self, left_s: float) -> list[int]:
        """Those that could do more in the time left, the most promising first."""
        still = [
            number
            for number, runner in enumerate(self.runners)
            if number not in self.running
            and not runner.ended
            and not self._lost(runner)
            and runner.worth_s < left_s - runner.beyond_s
        ]
        return sorted(still, key=lambda number: (self.runners[number].promise, number))

    def _next_round(self, left_s: float) -> bool:
        """Queue those that can still win something in the time left, the most promising first."""
        still = self._still(left_s)
        if not still:
            return False
        lanes = max(1, self.lanes - len(self.running))
        first = not any(runner.outcomes for runner in self.runners)
        before_s = max(self.runners[number].limit_s for number in still)
        limit_s = max(LEAST_S, self._first_s if first else 2 * before_s)
        affordable = int(left_s * lanes / 2 / limit_s)
        if len(still) <= lanes or (affordable <= lanes and not first):
            self._queue.extend((number, left_s) for number in still[:lanes])
            return True
        asked = still[: max(lanes, affordable)]
        # Those that are quick take no worker's time, and run while workers start.
        quick = [number for number in still if first and self._quick(number)]
        self._queue.extend((number, limit_s) for number in dict.fromkeys((*asked, *quick)))
        return True
