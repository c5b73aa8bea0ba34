"""Journeys through the browser in a process of their own, beside all other tests.

They start first and mostly wait: for the browser, for the server, for what plans. Playwright
leaves an event loop running in their process, so that nothing else runs there afterwards. A
process that has no other tests left takes journeys too.
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
    """Journeys before the other tests, or behind these where one process runs both, in the order in
    which they are written, in whatever order others are: those of a file share a page."""

    def place(item: pytest.Item) -> tuple[bool, str, int]:
        journey = is_journey(item)
        where = (str(item.path), item.location[1] or 0) if journey else ("", 0)
        return (journey is is_alone(config), *where)

    return sorted(items, key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of `--dist loadfile`: the first process has journeys, and nothing else."""
    if config.getoption("dist") != "loadfile" or config.getoption("numprocesses") == 1:
        return None
    from xdist.scheduler import LoadFileScheduling

    class JourneysApart(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            journeys = [scope for scope in self.workqueue if scope.startswith(f"{JOURNEYS}/")]
            others = [scope for scope in self.workqueue if scope not in journeys]
            if any(scope.startswith(f"{JOURNEYS}/") for scope in self.assigned_work[node]):
                wanted = journeys
            elif node is self.nodes[0]:
                wanted = journeys or others
            else:
                wanted = others or journeys
            if wanted:
                self.workqueue.move_to_end(wanted[0], last=False)
                super()._assign_work_unit(node)
            else:
                node.shutdown()  # When it has run what it has.

    return JourneysApart(config, log)
