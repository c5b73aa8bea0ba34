"""A ceiling for the tests: none of the usual run may take more than `FAIL_S` of processor.

Measured is the call of each test, with the processes that it starts; fixtures and modules that are
imported for the first time are apart. Seconds are those of a machine that does a fixed piece of
work in `WORK_S`: a slower one, or a busy one, fails no test; a quicker one has the same seconds,
because what its processes start with is not quicker by as much. Journeys share their browser and
their server: they have one ceiling together. Tests marked `long` have none.
"""

from __future__ import annotations

import importlib._bootstrap as importing  # type: ignore[import-not-found]
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scheduling import is_journey

WARN_S, FAIL_S, JOURNEYS_S = 1.0, 2.0, 2400.0
WORK_S = 0.025
"""What `fixed_work` takes on the machine whose seconds these are."""
SHOWN = 10
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROCESSES = Path("/proc")


def fixed_work() -> float:
    """Processor seconds for a piece of work of Python's own kind: calls, tuples, a dictionary."""
    began = time.process_time()
    table: dict[tuple[int, int], int] = {}
    for i in range(WORK_STEPS):
        key = (i % 97, i % 89)
        table[key] = max(table.get(key, 0), i ^ len(table))
    return time.process_time() - began


WORK_STEPS = 120_000


class Unit:
    """How much slower than the machine of `WORK_S` this one is, at its slowest seen so far."""

    def __init__(self) -> None:
        self.slower = 1.0

    def measure(self) -> None:
        self.slower = max(self.slower, min(fixed_work() for _ in range(3)) / WORK_S)


class FirstImports:
    """Processor seconds in which modules were imported for the first time."""

    def __init__(self) -> None:
        self.spent_s, self._depth = 0.0, 0
        self._load = importing._find_and_load
        importing._find_and_load = self._timed

    def _timed(self, *arguments: Any) -> Any:
        self._depth += 1
        began = time.process_time()
        try:
            return self._load(*arguments)
        finally:
            self._depth -= 1
            if self._depth == 0:
                self.spent_s += time.process_time() - began

    def undo(self) -> None:
        importing._find_and_load = self._load


def children_of(pid: int) -> Iterator[int]:
    """Living processes below one, where the system lists them (Linux)."""
    try:
        every = list((PROCESSES / str(pid) / "task").glob("*/children"))
    except OSError:  # it has ended while it was looked at
        return
    for tasks in every:
        try:
            found = [int(child) for child in tasks.read_text().split()]
        except OSError:
            continue
        for child in found:
            yield child
            yield from children_of(child)


def living_s(pid: int) -> float:
    """Processor seconds of the living processes below one, and of those that they waited for."""
    ticks = 0
    for child in children_of(pid):
        try:
            fields = (PROCESSES / str(child) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS_PER_S


def processor_s() -> float:
    """Processor seconds of this process and all below it."""
    own = os.times()
    ended = own.children_user + own.children_system
    return own.user + own.system + ended + living_s(os.getpid())


class Ceiling:
    """Measures tests where they run; `processor_s` of a report is in seconds of `WORK_S`."""

    def __init__(self, fail_s: float) -> None:
        self.fail_s = fail_s
        self.unit, self.imports = Unit(), FirstImports()
        self.taken: dict[str, float] = {}
        self.journeys_s = self.began_s = 0.0

    def pytest_collection_finish(self) -> None:
        self.unit.measure()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if is_journey(item):
            self.began_s = processor_s()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        began, imported = processor_s(), self.imports.spent_s
        try:
            return (yield)
        finally:
            first_s = self.imports.spent_s - imported
            ended = processor_s()
            self.taken[item.nodeid] = ended - began - first_s
            if is_journey(item):
                # With its fixtures, one of which opens the page; what a browser took that has
                # ended meanwhile is not told.
                self.journeys_s += max(0.0, ended - self.began_s) / self.unit.slower

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report: Any = yield
        if report.when == "call" and not is_journey(item):
            self._judge(item, report)
        return report

    def _judge(self, item: pytest.Item, report: Any) -> None:
        taken_s = self.taken.pop(item.nodeid, 0.0)
        if taken_s > WARN_S * self.unit.slower:
            self.unit.measure()  # The machine may be busier than it was.
        report.processor_s = taken_s / self.unit.slower
        report.is_long = item.get_closest_marker("long") is not None
        if report.passed and not report.is_long and report.processor_s > self.fail_s > 0:
            report.outcome = "failed"
            report.longrepr = (
                f"{report.processor_s:.1f} s of processor where {self.fail_s:g} s are allowed "
                f"({taken_s:.1f} s here, {self.unit.slower:.2f} times slower): make it smaller, "
                "or mark a variant at full size `long`"
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["journeys_s"] = self.journeys_s
            session.config.workeroutput["slower"] = self.unit.slower


class Summary:
    """What tests took, told at the end where all reports come together."""

    def __init__(self, here: Ceiling | None) -> None:
        self.here = here
        self.taken: list[tuple[float, str, bool]] = []
        self.journeys_s, self.slower = 0.0, 1.0

    def pytest_runtest_logreport(self, report: Any) -> None:
        if hasattr(report, "processor_s"):
            self.taken.append((report.processor_s, report.nodeid, report.is_long))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {})
        self.journeys_s += told.get("journeys_s", 0.0)
        self.slower = max(self.slower, told.get("slower", 1.0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.here is not None:
            self.journeys_s, self.slower = self.here.journeys_s, self.here.unit.slower
        if self.journeys_s > JOURNEYS_S and session.config.getoption("--ceiling") > 0:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        say = terminalreporter.line
        if not self.taken and not self.journeys_s:
            return
        terminalreporter.section("processor seconds of tests")
        if self.slower > 1:
            say(f"in seconds of a machine that does the fixed work {self.slower:.2f} times as fast")
        for name, is_long in (("usual", False), ("long", True)):
            rows = [row for row in self.taken if row[2] == is_long]
            if rows:
                say(f"{len(rows)} {name}: {sum(row[0] for row in rows):.0f} s")
        if self.journeys_s:
            over = "; FAILED, that is too many" if self.journeys_s > JOURNEYS_S else ""
            say(f"journeys: {self.journeys_s:.0f} s of {JOURNEYS_S:.0f} s{over}")
        usual = sorted((row for row in self.taken if not row[2]), reverse=True)
        for i, (taken_s, test, _) in enumerate(usual):
            if i < SHOWN or taken_s > WARN_S:
                say(f"{taken_s:6.2f} {test}" + (" (over a second)" if taken_s > WARN_S else ""))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ceiling",
        type=float,
        default=FAIL_S,
        metavar="S",
        help=f"processor seconds that a test may take (default {FAIL_S:g}; 0: any)",
    )


def pytest_configure(config: pytest.Config) -> None:
    worker, here = hasattr(config, "workerinput"), None
    if worker or not config.getoption("numprocesses", None):
        here = Ceiling(config.getoption("--ceiling"))
        config.pluginmanager.register(here, "ceiling")
    if not worker:
        config.pluginmanager.register(Summary(here), "ceiling-summary")
