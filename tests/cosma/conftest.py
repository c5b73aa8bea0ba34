"""HiGHS begins no process, but where a test is about that: `solver_process`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ilp_here import ilp_here


@pytest.fixture
def solver_process() -> None:
    """HiGHS runs as a process of its own."""


@pytest.fixture(autouse=True)
def _solver_here(request: pytest.FixtureRequest) -> Iterator[None]:
    if "solver_process" in request.fixturenames:
        yield
    else:
        with ilp_here():
            yield
