"""Strategies for one problem, and the rounds of doubled work in which they are asked.

A strategy is data: a name, the reason for it, a function that searches within a clock, and one that
says when it is no longer worth asking. Each round asks every strategy that is still open, in their
order, for as much work as the last round had and the same again. Work is what a search does
between two looks at its clock (`Clock.work`), not seconds: where the whole clock ended nothing, the
same problem has the same plan on any computer, and a longer search extends a shorter one.

The first strategy is asked in any case: it is one that soon has a solution, in whatever time there
is. A strategy is asked no more once it has finished, once it cannot be better than the best
solution of them all, or once that is proven to be the best of the problem.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from planners.core.progress import Clock, now

Problem = TypeVar("Problem")
Solution = TypeVar("Solution")

Value: TypeAlias = tuple[float, ...]
"""What a solution costs: less is better, the first number before the second. The empty value is
less than all: as a bound it says nothing."""

FIRST_WORK = 64
"""Looks at the clock that a strategy has in the first round: some tenths of a second."""

FINISHED = "it finished"
HOPELESS = "it cannot be better than the best found"
PROVEN = "no plan of the problem is better than the best found"
TIME_OVER = "the time ran out"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Solution]):
    """What a strategy returns after a turn.

    `best` is its best solution, which need not be better than the one that it was given. No
    solution of the problem costs less than `bound`; none that this strategy can find, less than
    `reach`. It has `finished` where more work would change nothing; where that is not said, it has
    if its clock cut nothing short. `resume` goes on from where the turn ended; without
    it a strategy begins again, with twice the work.
    """

    best: Solution | None = None
    bound: Value = ()
    reach: Value = ()
    finished: bool | None = None
    resume: Callable[[Solution | None, Clock], Outcome[Solution]] | None = None


def _always(problem: object, best: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Strategy(Generic[Problem, Solution]):
    """A way to solve a problem: what it is called, why it is there, and how it is run.

    `run(problem, best, clock)` searches until the clock has expired; `best` is the best solution of
    all strategies so far. `can_still_win(problem, best)` is asked before each turn.
    """

    name: str
    reason: str
    run: Callable[[Problem, Solution | None, Clock], Outcome[Solution]]
    can_still_win: Callable[[Problem, Solution], bool] = _always
    least_work: int = 0
    """Looks at the clock, with fewer of which it is not worth asking: what begins slowly."""


class KeepsBest(Protocol):
    """A search that several strategies share: it keeps its best solution, if it has one, and what
    no solution of the problem is better than."""

    @property
    def best(self) -> Any: ...
    @property
    def bound(self) -> float: ...


Search = TypeVar("Search", bound=KeepsBest)


def by_method(
    name: str, reason: str, method: Callable[[Search, Clock], None]
) -> Strategy[Search, Any]:
    """A method of a search as a strategy: the problem that it is asked about is the search."""

    def run(search: Search, best: object, clock: Clock) -> Outcome[Any]:
        method(search, clock)
        return Outcome(search.best, bound=(search.bound,))

    return Strategy(name, reason, run)


@dataclass
class StrategyRecord(Generic[Solution]):
    """What came of a strategy: its turns, their work and seconds, its best, and why it ended."""

    name: str
    rounds: int = 0
    work: int = 0
    seconds: float = 0.0
    best: Solution | None = None
    reach: Value = ()
    ended: str = ""

    @property
    def words(self) -> str:
        """One line: `exact: 3 rounds, 448 looks, 1.25 s: it finished`."""
        if not self.rounds:
            return f"{self.name}: not asked: {self.ended}"
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        return f"{self.name}: {rounds}, {self.work} looks, {self.seconds:.3g} s: {self.ended}"


@dataclass(frozen=True, slots=True)
class PortfolioResult(Generic[Solution]):
    """The best solution of all strategies, what none of the problem is better than, and a record
    of each strategy in their order."""

    best: Solution | None
    bound: Value
    records: tuple[StrategyRecord[Solution], ...]
    winner: str = ""
    """The strategy that found the best; empty where that was given."""

    @property
    def finished(self) -> bool:
        """Whether no strategy was ended by the time: more of it would change nothing."""
        return all(record.ended != TIME_OVER for record in self.records)


@dataclass(frozen=True)
class Portfolio(Generic[Problem, Solution]):
    """Strategies in the order in which they are asked, and what a solution costs.

    Of solutions of the same value the first found is kept. `better` compares values, where rounding
    has to be allowed for. `first_work`: looks at the clock for each in the first round.
    """

    strategies: Sequence[Strategy[Problem, Solution]]
    value: Callable[[Solution], Value]
    better: Callable[[Value, Value], bool] = operator.lt
    first_work: int = FIRST_WORK

    def solve(
        self, problem: Problem, clock: Clock, best: Solution | None = None
    ) -> PortfolioResult[Solution]:
        """The best solution that the strategies find until the clock has expired; `best` is one to
        begin with."""
        rounds = _Rounds(self, problem, clock, best)
        work = self.first_work
        while open_turns := rounds.open:
            ready = [turns for turns in open_turns if turns.strategy.least_work <= work]
            looks = [rounds.ask(turns, work) for turns in ready]
            if ready == open_turns and not any(looks):
                rounds.end()  # All wait for each other.
            work *= 2
        return rounds.result()


@dataclass
class _Turns(Generic[Problem, Solution]):
    """A strategy, its record, and where it goes on."""

    strategy: Strategy[Problem, Solution]
    record: StrategyRecord[Solution]
    resume: Callable[[Solution | None, Clock], Outcome[Solution]] | None = None


@dataclass
class _Rounds(Generic[Problem, Solution]):
    """The state of a portfolio that is being solved."""

    portfolio: Portfolio[Problem, Solution]
    problem: Problem
    clock: Clock
    best: Solution | None
    bound: Value = ()
    winner: str = ""
    turns: list[_Turns[Problem, Solution]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for strategy in self.portfolio.strategies:
            self.turns.append(_Turns(strategy, StrategyRecord(strategy.name)))

    @property
    def open(self) -> list[_Turns[Problem, Solution]]:
        """Those that may be asked again."""
        return [turns for turns in self.turns if not turns.record.ended]

    def ask(self, turns: _Turns[Problem, Solution], work: int) -> int:
        """Give a strategy a turn, or say why it has none any more; the work that it did."""
        record = turns.record
        record.ended = self._why_not(turns)
        if record.ended:
            return 0
        clock, began = self.clock.work(work), now()
        outcome = self._run(turns, clock)
        record.rounds += 1
        record.work += clock.looks
        record.seconds += now() - began
        record.reach = max(record.reach, outcome.reach)
        self.bound = max(self.bound, outcome.bound)
        turns.resume = outcome.resume
        self._take(record, outcome.best)
        if not clock.cut if outcome.finished is None else outcome.finished:
            record.ended = FINISHED
        return clock.looks

    def _run(self, turns: _Turns[Problem, Solution], clock: Clock) -> Outcome[Solution]:
        if turns.resume is not None:
            return turns.resume(self.best, clock)
        return turns.strategy.run(self.problem, self.best, clock)

    def _why_not(self, turns: _Turns[Problem, Solution]) -> str:
        """Why a strategy is not asked; empty where it is."""
        if self.best is not None:
            if not self._beats(self.bound):
                return PROVEN
            can_still_win = turns.strategy.can_still_win
            if not self._beats(turns.record.reach) or not can_still_win(self.problem, self.best):
                return HOPELESS
        if turns is self.turns[0] and not turns.record.rounds:
            return ""
        return TIME_OVER if self.clock.expired() else ""

    def _beats(self, bound: Value) -> bool:
        """Whether a solution of that value would be better than the best."""
        return self.best is None or self.portfolio.better(bound, self.portfolio.value(self.best))

    def _take(self, record: StrategyRecord[Solution], found: Solution | None) -> None:
        if found is None:
            return
        value, better = self.portfolio.value, self.portfolio.better
        if record.best is None or better(value(found), value(record.best)):
            record.best = found
        if self._beats(value(found)):
            self.best, self.winner = found, record.name

    def end(self) -> None:
        """Ask none any more."""
        for turns in self.open:
            turns.record.ended = TIME_OVER if self.clock.is_over else FINISHED

    def result(self) -> PortfolioResult[Solution]:
        records = tuple(turns.record for turns in self.turns)
        return PortfolioResult(self.best, self.bound, records, self.winner)
