"""Who is asked next and for how long, in a time of its own."""

from __future__ import annotations

import random

import pytest

from planners.auto.scheduler import LEAST_S
from planners.core.progress import GRACE_S, POLL_S
from tests.auto.virtual import AIM, Curve, raced

LIMIT_S = 60.0


def curves(seed: int, count: int = 12) -> list[Curve]:
    """Some that need no time, some that need more than there is, some that listen to nobody."""
    draw = random.Random(seed)
    return [
        Curve(
            first=(first := draw.uniform(2, 9)),
            last=draw.uniform(1.1, first),
            needs_s=10 ** draw.uniform(-2, 2.5),
            deaf=draw.random() < 0.1,
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [1, 2, 4])
def test_never_worse_than_any_with_its_share_and_the_limit_is_kept(seed: int, count: int) -> None:
    every = [curve for curve in curves(seed) if not curve.deaf]
    race, lanes = raced(every, LIMIT_S, count)
    assert race.best is not None
    alone = min(curve.value(LIMIT_S / len(every)) for curve in every)
    assert race.best.key[0] <= alone
    assert lanes.clock.elapsed_s <= LIMIT_S + GRACE_S + 2 * POLL_S


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [1, 2, 4])
def test_those_that_listen_to_nobody_take_no_more_than_there_is(seed: int, count: int) -> None:
    race, lanes = raced(curves(seed), LIMIT_S, count)
    assert race.best is not None
    assert lanes.clock.elapsed_s <= LIMIT_S + GRACE_S + 2 * POLL_S


def test_who_listens_to_nobody_is_given_up_only_where_others_wait() -> None:
    quick = [Curve(3, 3, 0.1) for _ in range(5)]
    deaf = Curve(2, 1.1, 40, deaf=True)
    longer = Curve(9, 1.2, 30)
    race, lanes = raced([*quick, deaf, longer], LIMIT_S, 2)
    assert [runner.best is not None for runner in race.runners] == [True] * 7
    assert race.best is not None
    assert race.best.task == lanes.asked[-1][1], "the next round does not wait"
    assert race.best.task.limit_s > LIMIT_S / 2
    race, _ = raced([quick[0], deaf, deaf, *quick], LIMIT_S, 2)
    assert [runner.best is None for runner in race.runners] == [False, True, *[False] * 6]


def test_the_time_goes_where_something_can_be_won() -> None:
    slow = Curve(8, 1.2, 40)
    quick = [Curve(3, 3, 0.01) for _ in range(6)]
    lost = [Curve(9, 2, 100, bound=8.5) for _ in range(5)]
    race, lanes = raced([*quick, *lost, slow], LIMIT_S, 2)
    last = lanes.asked[-1][1]
    assert last.form.planner == "curve11"
    assert last.limit_s > LIMIT_S / 2
    assert race.best is not None
    assert race.best.task == last
    asked = [task.number for _, task in lanes.asked]
    assert [asked.count(number) for number in range(11)] == [1] * 11
    assert [race.why(runner) for runner in race.runners[:1]] == ["it finished"]
    assert race.why(race.runners[6]) == "it cannot be better than the best found"


def test_rounds_grow_and_the_better_half_goes_on() -> None:
    quick = [Curve(9.5, 9.5, 0.1) for _ in range(12)]
    slow = [Curve(9 - n / 10, 1.5, 1000) for n in range(4)]
    race, lanes = raced([*quick, *slow], 240.0, 2)
    limits: dict[int, list[float]] = {number: [] for number in range(16)}
    for _, task in lanes.asked:
        limits[task.number].append(task.limit_s)
    assert [limits[number] for number in range(13)] == [[15.0]] * 12 + [[15.0, 30.0]]
    assert [len(limits[number]) for number in (13, 14, 15)] == [2, 3, 3]
    assert limits[15] == [15.0, 30.0, pytest.approx(240 - 90, abs=1)]
    assert race.by_clock


def test_a_plan_at_the_floor_ends_the_race() -> None:
    race, lanes = raced([Curve(3, 3, 0.1), Curve(1, 1, 0.1), *[Curve(2, 1, 50)] * 9], LIMIT_S, 1)
    assert race.proven
    assert not race.by_clock
    assert len(lanes.asked) == 2
    assert "no plan of the problem is better" in race.why(race.runners[5])


def test_of_equal_ones_the_first_wins_whoever_is_there_first() -> None:
    """With the floor reached by a later form, one that goes before it is waited for."""
    both = [Curve(1, 1, 2.0), Curve(1, 1, 0.5)]
    winners = set()
    for count in (1, 2):
        race, _ = raced(both, LIMIT_S, count)
        assert race.best is not None
        winners.add(race.best.task.number)
    assert winners == {0}


def test_without_a_plan_the_time_is_not_over() -> None:
    race, lanes = raced([Curve(2, 2, 30, deaf=True)], 5.0, 1)
    assert race.best is not None
    assert lanes.clock.elapsed_s >= 30


def test_little_time_goes_to_the_first_forms() -> None:
    race, lanes = raced([Curve(5, 1.5, 100) for _ in range(10)], 2.0, 1)
    assert [task.number for _, task in lanes.asked][:3] == [0, 1, 2]
    assert all(task.limit_s >= LEAST_S for _, task in lanes.asked)
    assert "no time was left" in {race.why(runner) for runner in race.runners}
    assert AIM.floor > 0
