"""What the explorer's tests share: the first plan, a pool of workers, planners that take long."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import planners as sp
from app.first import first_shown
from app.jobs import Pool
from app.results import SIZE_NAME
from app.session import Session
from app.shown import Shown, show
from app.wire import from_wire, to_wire

EXTENSION = Path(__file__).with_name("extension")
Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def shown() -> Shown:
    """The stored first plan, checked."""
    return first_shown()


@pytest.fixture(scope="session")
def fused() -> Shown:
    """SqueezeNet in fused groups of many tiles."""
    plan = sp.plan(sp.load("squeezenet1_0"), "fusion", 128 * 1024)
    return show(json.dumps(plan.to_json()))


@pytest.fixture(scope="session")
def drawn(fused: Shown) -> Shown:
    """The same as it comes out of a worker."""
    return from_wire(json.loads(json.dumps(to_wire(fused))))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Two workers that also have the planners `slow` and `stubborn`."""
    paths = [str(EXTENSION), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv(SIZE_NAME, "0")
    made = Pool(2)
    yield made
    made.close()


@pytest.fixture
def session(pool: Pool) -> Iterator[Session]:
    """A page's session with the first plan on screen."""
    made = Session(pool)
    made.open({}, {})
    yield made
    made.close()


@pytest.fixture
def until() -> Until:
    """Wait until something is true, at most half a minute."""

    def wait(condition: Callable[[], object]) -> None:
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.02)

    return wait
