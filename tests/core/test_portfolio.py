"""Strategies are asked in rounds of doubled work, until none can still win."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from planners.core.portfolio import (
    FINISHED,
    HOPELESS,
    PROVEN,
    TIME_OVER,
    Outcome,
    Portfolio,
    PortfolioResult,
    Strategy,
)
from planners.core.progress import Clock


@dataclass
class Countdown:
    """A search whose solution is one better after each look at the clock, down to `least`."""

    start: int
    least: int
    resumes: bool = False
    turns: list[int] = field(default_factory=list)

    def run(self, problem: None, best: int | None, clock: Clock) -> Outcome[int]:
        return self._from(self.start, clock)

    def _from(self, at: int, clock: Clock) -> Outcome[int]:
        self.turns.append(at)
        while at > self.least and not clock.expired():
            at -= 1
        resume = (lambda best, clock: self._from(at, clock)) if self.resumes else None
        return Outcome(at, finished=at == self.least, resume=resume)


def value(solution: int) -> tuple[float, ...]:
    return (solution,)


def solved(
    *strategies: Strategy[None, int], clock: Clock | None = None, best: int | None = None
) -> PortfolioResult[int]:
    portfolio = Portfolio(strategies, value, first_work=2)
    return portfolio.solve(None, Clock(inf) if clock is None else clock, best)


def endings(result: PortfolioResult[int]) -> list[str]:
    return [record.ended for record in result.records]


def test_a_search_that_cannot_go_on_begins_again_with_twice_the_work() -> None:
    search = Countdown(20, 10)
    result = solved(Strategy("down", "the only one", search.run))
    assert search.turns == [20, 20, 20, 20]
    assert (result.best, result.winner, endings(result)) == (10, "down", [FINISHED])
    assert (result.records[0].rounds, result.records[0].work) == (4, 2 + 4 + 8 + 10)


def test_a_search_that_can_goes_on_from_where_it_was() -> None:
    search = Countdown(20, 10, resumes=True)
    result = solved(Strategy("down", "the only one", search.run))
    assert search.turns == [20, 18, 14]
    assert (result.best, result.records[0].work) == (10, 10)
    assert result.records[0].words.startswith("down: 3 rounds, 10 looks, ")


def test_all_are_asked_in_each_round() -> None:
    one, other = Countdown(20, 10, True), Countdown(20, 5, True)
    result = solved(Strategy("a", "", one.run), Strategy("b", "", other.run))
    assert (result.best, result.winner) == (5, "b")
    assert [record.rounds for record in result.records] == [3, 4]


def test_what_cannot_be_better_than_the_best_is_not_asked() -> None:
    search = Countdown(20, 10)
    result = solved(
        Strategy("a", "", search.run),
        Strategy("b", "", Countdown(20, 15).run, lambda problem, best: best > 18),
    )
    assert endings(result) == [FINISHED, HOPELESS]
    assert result.records[1].words == f"b: not asked: {HOPELESS}"


def reaching(reach: int) -> Callable[[None, int | None, Clock], Outcome[int]]:
    def run(problem: None, best: int | None, clock: Clock) -> Outcome[int]:
        while not clock.expired():
            pass
        return Outcome(reach + 10, reach=(reach,))

    return run


def test_a_strategy_ends_where_the_best_is_as_good_as_what_it_can_reach() -> None:
    result = solved(Strategy("a", "", Countdown(20, 10, True).run), Strategy("b", "", reaching(14)))
    assert (result.best, endings(result)) == (10, [FINISHED, HOPELESS])


def test_a_bound_of_the_problem_ends_all() -> None:
    def proof(problem: None, best: int | None, clock: Clock) -> Outcome[int]:
        return Outcome(bound=(18,))

    result = solved(Strategy("a", "", proof), Strategy("b", "", Countdown(20, 0, True).run))
    assert (result.best, result.bound, result.records[0].ended) == (18, (18.0,), FINISHED)
    assert result.records[1].ended == PROVEN


def test_the_first_of_two_equal_solutions_is_kept_and_a_given_one_before_both() -> None:
    searches = [Strategy(name, "", Countdown(12, 10).run) for name in "ab"]
    assert solved(*searches).winner == "a"
    assert solved(*searches, best=10).winner == ""


def test_strategies_that_wait_for_a_solution_end_where_none_comes() -> None:
    def waits(problem: None, best: int | None, clock: Clock) -> Outcome[int]:
        return Outcome(finished=False)

    result = solved(Strategy("a", "", waits), Strategy("b", "", waits))
    assert (result.best, endings(result)) == (None, [FINISHED, FINISHED])


def test_where_the_time_is_over_the_first_is_asked_and_no_other() -> None:
    searches = [Strategy(name, "", Countdown(20, 10).run) for name in "ab"]
    result = solved(*searches, clock=Clock(0.0))
    assert (result.best, result.winner) == (20, "a")
    assert (endings(result), result.finished) == ([TIME_OVER, TIME_OVER], False)


def test_work_counts_in_parts_of_a_clock_and_is_no_time() -> None:
    whole = Clock(100.0)
    some = whole.work(3)
    planner = Clock(50.0, some.silent().within)  # as another planner makes its own
    assert [planner.expired() for _ in range(5)] == [False, False, False, True, True]
    assert (planner.left_s, some.left_s) == (0.0, 0.0)
    planner.end()
    assert (some.looks, whole.looks, some.work_over, whole.work_over) == (3, 3, True, False)
    assert not any((planner.ended, some.ended, whole.ended, planner.stopped))
    assert whole.left_s > 0
    assert not whole.notes(proven=False)


def test_a_share_of_limited_work_is_one_of_work() -> None:
    some = Clock(100.0).work(10)
    half = some.share(0.5)
    assert [half.expired() for _ in range(6)] == [*[False] * 5, True]
    assert (some.looks_left, half.share(0.5).left_s) == (5, 0.0)
    assert some.share(0.5).looks_left == 3
    assert Clock(100.0).share(0.5).looks_left == inf
    assert 89 < Clock(100.0).keeping(10.0).left_s <= 90


def test_seconds_of_the_whole_clock_end_a_part_of_its_work() -> None:
    whole = Clock(0.0)
    some = whole.work(3)
    assert some.expired()
    assert not some.work_over
    assert whole.ended


def test_a_strategy_that_begins_slowly_waits_for_a_round_of_the_work_that_it_needs() -> None:
    quick, slow = Countdown(100, 40, resumes=True), Countdown(100, 10)
    solved(
        Strategy("quick", "ends above the other", quick.run),
        Strategy("slow", "is not begun for less", slow.run, least_work=64),
    )
    assert len(quick.turns) > len(slow.turns)
    assert slow.turns == [100, 100]  # with 64 looks, and with 128


def test_what_is_left_is_shared_among_pieces_of_work() -> None:
    some = Clock(100.0).work(12)
    assert [some.among(count).looks_left for count in (3, 2, 1)] == [4, 6, 12]
    assert 24 < Clock(100.0).among(4).left_s <= 25
    assert 0 < Clock(100.0).solver_s < 100
