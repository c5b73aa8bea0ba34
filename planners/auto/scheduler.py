"""Which form is asked next, and for how long: in rounds, each for those that can still win.

The first round asks those that lead, and the others with equal shares of a fifth of the time; or
all with equal shares of it, where none leads. More time goes where something can be won: to
forms that were cut short and whose bound is better than the best found. Each round gives them twice
as much and goes on with the better half, until there is one for each process: those have all that
is left. What has ended by itself, or is proven to win nothing, is not asked again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from planners.auto.forms import Form
from planners.auto.runs import FormOutcome, Key, Task
from planners.core.objective import Objective
from planners.core.program_size import OPERATOR_S
from planners.core.progress import MOST_SHARE, TRIAL_SHARE

LEAST_S = 0.5
"""A form with less time than this is not begun."""
EARLY = 0.2
"""What takes no more than this share of its limit has ended by itself."""
GROWTH = 2.0
LAST_GROWTH = 1.25
"""Times what a form had before: in the next round, and at least in the last."""
LEAD_SHARE, OTHERS_SHARE = 0.1, 0.2
"""Of the time: what a form that leads has at first; and what all others have at first, and are left
where one that leads has the rest."""
LEAD_S = 1.0
"""What is little for a network: so much, and what its operators take."""
NEAR = 0.002
"""A form whose plan is so near to its bound, as a share, is not asked for the rest."""
OPEN, MUCH_OPEN = 0.05, 0.2
"""Where the best so far can be better by no more than such a share, in a process alone, its form
goes on before another that leads is begun; the larger share where time is short, as half of a
search each is then worth less."""
SHORT = 2.0
"""Time is short with less than so many times what is little: the last form that leads is then asked
once, for all of it."""
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
        """With less it is not asked again, unless its search goes on from where it was."""
        return LEAST_S if self.form.goes_on else max(LEAST_S, LAST_GROWTH * self.limit_s)

    @property
    def wants_time(self) -> bool:
        """Whether it leads, and had no plan so far for want of time."""
        return self.form.leads and any(o.by_time for o in self.outcomes) and self.best is None

    @property
    def promise(self) -> float:
        """Half-way from its value, where it has one, to its bound: less is asked first.

        One that leads and had no plan for want of time may have any.
        """
        best = self.best
        if best is None or best.value is None:
            return self.bound if self.wants_time else float("inf")
        return (best.value + min(self.bound, best.value)) / 2


class Race:
    """All forms of a problem, and the best of their outcomes."""

    def __init__(
        self, forms: Sequence[Form], aim: Objective, limit_s: float, lanes: int = 1
    ) -> None:
        self.aim, self.lanes = aim, lanes
        self.runners = [Runner(form, bound=aim.floor) for form in forms]
        self.best: FormOutcome | None = None
        self.running: dict[int, Task] = {}
        self._worth_s = LEAD_S + OPERATOR_S * len(aim.floors.graph.operators)
        self._queue = deque(self._first_round(limit_s))
        self._rivals: list[int] | None = None

    def _first_round(self, limit_s: float) -> Iterator[tuple[int, float]]:
        """Forms by number, and their limits: those that lead, and others as time allows."""
        leading = [number for number, runner in enumerate(self.runners) if runner.form.leads]
        others = [number for number, runner in enumerate(self.runners) if not runner.form.leads]
        if not leading:
            share_s = max(LEAST_S, limit_s / max(1, len(others)))
            yield from ((number, share_s) for number in others)
            return
        worth_s = self._worth_s
        lead_s = min(TRIAL_SHARE * limit_s, max(LEAD_SHARE * limit_s, worth_s))
        rest_s = OTHERS_SHARE * limit_s * self.lanes
        some = others[: int(rest_s / worth_s)]
        for number in sorted([*leading, *some]):
            share_s = rest_s / len(some) if number in some else lead_s
            if self.runners[number].form.steady:
                share_s = max(share_s, min(MOST_SHARE * limit_s, worth_s))
            yield number, max(LEAST_S, share_s)

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
            if self._better_goes_on(runner, left_s):
                self._queue.appendleft(chosen)
                assert self.best is not None
                number, limit_s = self.best.task.number, left_s
                runner = self.runners[number]
            limit_s = self._with_more(number, limit_s, left_s) - runner.beyond_s
            if limit_s < LEAST_S and self.best is not None:
                continue
            self.running[number] = Task(number, runner.form, max(LEAST_S, limit_s))
            return self.running[number]
        return None

    def _with_more(self, number: int, limit_s: float, left_s: float) -> float:
        """The limit of a form, which is all that is left, or most of it, where it leads and the
        others that do have ended, or have been asked and time is short."""
        others = [r for k, r in enumerate(self.runners) if k != number and r.form.leads]
        if self.runners[number].form.leads:
            if all(runner.ended for runner in others):
                others_s = OTHERS_SHARE * left_s
                limit_s = max(limit_s, left_s - others_s if others_s > self._worth_s else left_s)
            elif all(r.outcomes for r in others) and self.lanes == 1 and self._is_short(left_s):
                limit_s = left_s
        return min(limit_s, left_s)

    def _is_short(self, left_s: float) -> bool:
        return left_s < SHORT * self._worth_s

    def _better_goes_on(self, other: Runner, left_s: float) -> bool:
        """Whether the form of the best so far has what is left before another that leads."""
        best = self.best
        if best is None or best.value is None or self.lanes > 1 or not other.form.leads:
            return False
        runner = self.runners[best.task.number]
        was_run = bool(other.outcomes) or not runner.form.goes_on or bool(runner.ended)
        if was_run or runner.limit_s >= left_s - runner.beyond_s:
            return False
        share = MUCH_OPEN if self._is_short(left_s) else OPEN
        return best.value * (1 - share) <= self.aim.floor

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
            runner.ended = "its own objective is proven"
        elif outcome.took_s <= EARLY * outcome.task.limit_s or self._as_before(runner):
            runner.ended = "it finished"
        elif outcome.value is not None and outcome.value <= (1 + NEAR) * runner.bound:
            runner.ended = f"it is within {NEAR:.1%} of what it can reach"
        if outcome.value is not None and (self.best is None or outcome.key < self.best.key):
            self.best = outcome

    def _as_before(self, runner: Runner) -> bool:
        """Whether a form with more time than before found the same, in less than half of it."""
        *before, last = runner.outcomes
        return last.took_s <= last.task.limit_s / 2 and any(
            last.task.limit_s > one.task.limit_s and last.value == one.value is not None
            for one in before
        )

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
            return "no plan of the problem is better than the best found"
        if self._lost(runner):
            return "it cannot be better than the best found"
        return "the time ran out" if runner.outcomes else NO_TIME

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
            and runner.worth_s <= left_s - runner.beyond_s
        ]
        return sorted(still, key=lambda number: (self.runners[number].promise, number))

    def _next_round(self, left_s: float) -> bool:
        """Queue those that can still win something in the time left, the most promising first."""
        still = self._still(left_s)
        if not still:
            return False
        rivals = [number for number in still if self._rivals is None or number in self._rivals]
        limit_s = max(LEAST_S, GROWTH * max(self.runners[number].limit_s for number in still))
        lanes = max(1, self.lanes - len(self.running))
        affordable = int(left_s * lanes / 2 / limit_s)
        if min(affordable, len(rivals)) <= lanes:
            self._rivals = []
            self._queue.extend((number, left_s) for number in still[:lanes])
            return True
        chosen = rivals[:affordable]
        self._rivals = chosen[: (len(chosen) + 1) // 2]
        self._queue.extend((number, limit_s) for number in chosen)
        return True
