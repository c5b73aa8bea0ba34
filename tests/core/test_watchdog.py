"""What a time limit promises to the work within it, and to the code around it."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

import pytest

from planners.core import watchdog
from planners.core.watchdog import TimeUp, give_up_after


def work(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "AGAIN_S", 0.05)


def test_work_that_takes_too_long_is_given_up() -> None:
    with contextlib.suppress(TimeUp), give_up_after(0.1) as state:
        work(30)
    assert state.sent


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_work_in_time_goes_on_and_no_thread_is_left(seconds: float | None) -> None:
    threads = threading.active_count()
    with give_up_after(seconds) as state:
        done = sum(range(10))
    assert done == 45
    assert not state.sent
    assert threading.active_count() == threads


def test_the_errors_of_the_work_are_its_own() -> None:
    with pytest.raises(KeyError), give_up_after(30):
        raise KeyError


def test_it_comes_late_or_not_at_all() -> None:
    """Work that ends just in time has its result; the end never arrives after it."""
    for seconds in (0.0, 1e-5, 1e-4, 1e-3, 1e-2) * 20:
        with contextlib.suppress(TimeUp), give_up_after(seconds):
            time.sleep(seconds)
    work(0.2)


def test_what_catches_exceptions_does_not_catch_it() -> None:
    def stubborn() -> None:
        with contextlib.suppress(Exception):
            work(30)

    with pytest.raises(TimeUp), give_up_after(0.01):
        stubborn()


def test_where_it_is_lost_it_comes_again() -> None:
    """As where it falls into a callback of the garbage collector, which loses what is raised."""

    def lose_the_first() -> None:
        with contextlib.suppress(TimeUp):
            work(30)
        work(30)

    with pytest.raises(TimeUp), give_up_after(0.01):
        lose_the_first()


def test_of_one_that_a_finaliser_loses_nothing_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: printed.append(lost.exc_type))
    before = sys.unraisablehook

    class Slow:
        def __init__(self, error: type[BaseException]) -> None:
            self.error = error

        def __del__(self) -> None:
            if self.error is TimeUp:
                work(30)
            raise self.error

    def finalise() -> None:
        Slow(KeyError)
        Slow(TimeUp)
        work(30)

    with pytest.raises(TimeUp), give_up_after(0.02):
        finalise()
    assert printed == [KeyError]
    assert sys.unraisablehook is before


def test_an_outer_limit_goes_through_an_inner_one() -> None:
    sent: list[bool] = []

    def limited() -> None:
        with give_up_after(30) as inner:
            try:
                work(30)
            finally:
                sent.append(inner.sent)

    with pytest.raises(TimeUp), give_up_after(0.1):
        limited()
    assert sent == [False]


def test_behind_an_inner_limit_the_outer_one_still_holds() -> None:
    inner_ended: list[bool] = []

    def limited() -> None:
        with contextlib.suppress(TimeUp), give_up_after(0.01):
            work(30)
        inner_ended.append(True)
        work(30)

    with pytest.raises(TimeUp), give_up_after(0.3):
        limited()
    assert inner_ended


def test_only_the_thread_that_has_the_limit_is_given_up() -> None:
    raised: list[type[BaseException]] = []

    def limited() -> None:
        try:
            with give_up_after(0.01):
                work(30)
        except TimeUp as error:
            raised.append(type(error))

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join()
    assert raised == [TimeUp]
