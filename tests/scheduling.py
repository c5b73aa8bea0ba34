"""Journeys through the browser in a process of their own, beside all other tests.

They start first and mostly wait: for the browser, for the server, for what plans. Playwright
leaves an event loop running in their process, so that nothing else runs there afterwards.
"""

from __future__ import annotations

from typing import Any

import pytest

JOURNEYS = "tests/ui"


def is_alone(config: pytest.Config) -> bool:
    """Whether one process runs all tests."""
    return getattr(config, "workerinput", {"workercount": 1})["workercount"] == 1


def is_journey(item: pytest.Item) -> bool:
    return item.nodeid.startswith(f"{JOURNEYS}/")


def with_journeys_first(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Journeys before the other tests, or behind these where one process runs both."""
    return sorted(items, key=lambda item: is_journey(item) is is_alone(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of `--dist loadfile`: the first process has all journeys, and nothing else."""
    if config.getoption("dist") != "loadfile" or config.getoption("numprocesses") == 1:
        return None
    from xdist.scheduler import LoadFileScheduling

    class JourneysApart(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return JOURNEYS if file.startswith(f"{JOURNEYS}/") else file

        def _reschedule(self, node: Any) -> None:
            if JOURNEYS not in self.assigned_work[node]:
                super()._reschedule(node)
            elif not node.shutting_down:
                node.shutdown()  # When it has run what it has.

    return JourneysApart(config, log)
