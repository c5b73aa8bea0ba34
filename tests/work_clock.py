"""Searches in tests are limited by their work: each look at their clock takes half a millisecond.

So they do the same on any machine, however busy it is. This holds in the tests' own process; what
they start has a true clock, and so has a test that asks for `true_clock`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from planners.core import progress
from tests.clock.sitecustomize import RATE

LOOK_S = 0.0005
_seconds = 0.0


def after_looks() -> float:
    """Seconds of the searches' clock, which nothing moves on but looking at it."""
    global _seconds
    _seconds += LOOK_S * RATE
    return _seconds


def pytest_configure() -> None:
    progress.time = SimpleNamespace(perf_counter=after_looks)


@contextmanager
def looking_long() -> Iterator[None]:
    """A look takes ten times as long, for joined plans: each is about whole plans of parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.work_clock.LOOK_S", 0.005)
        yield


@pytest.fixture
def long_looks() -> Iterator[None]:
    """Looks that take long while a test runs."""
    with looking_long():
        yield


@pytest.fixture
def true_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of searches is that of the wall."""
    monkeypatch.setattr(progress, "time", time)
