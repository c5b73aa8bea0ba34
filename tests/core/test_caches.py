"""What is remembered of a thing is of that very thing, asked in the same way, while it is there."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.caches import IdentityCache
from planners.core.program import Program
from planners.core.tables.build import table_of
from planners.simulator import check
from planners.simulator.check import known_figures, replay, require_valid
from planners.simulator.records import replayed as replays
from tests.importers.few_blocks import few_blocks


@cache
def blocks() -> sp.Graph:
    return sp.from_torch(few_blocks("mobilenet"), torch.ones(1, 3, 32, 32))


@pytest.fixture
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of any length are remembered as long ones are."""
    monkeypatch.setattr(replays, "MANY_INSTRUCTIONS", 0)


class _Thing:
    """Something that can be told apart by identity only."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_only_the_very_thing_asked_the_same_way_is_known() -> None:
    last, thing = IdentityCache[str](), _Thing()
    last.keep("found", thing, 1)
    assert last.get(thing, 1) == "found"
    assert last.entry(thing) == ((1,), "found")
    assert last.get(thing, 2) is None
    assert last.get(_Thing(), 1) is None
    last.keep("other", other := _Thing(), 1)
    assert (last.get(thing, 1), last.get(other, 1)) == (None, "other")


def test_it_is_forgotten_with_the_thing() -> None:
    last, thing, found = IdentityCache[_Thing](), _Thing(), _Thing()
    last.keep(found, thing)
    held = len(gc.get_referrers(found))
    del thing
    gc.collect()
    assert len(gc.get_referrers(found)) < held


def test_threads_know_their_own() -> None:
    last, thing = IdentityCache[str](), _Thing()
    last.keep("found", thing)
    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(last.get(thing)))
    thread.start()
    thread.join()
    assert seen == [None]


@pytest.mark.usefixtures("however_few")
def test_a_changed_program_is_replayed_again() -> None:
    """A plan by latency was replayed when it was timed; what is changed of it is not known."""
    # The search ends with the limit; what is asserted is of any plan that it finds.
    plan = sp.plan(blocks(), "fusion", "MR", time_limit=0.1, objective="latency")
    report = replay(plan.graph, plan.program, machine=plan.machine)
    assert known_figures(plan.graph, plan.program) == replace(report, residencies=())
    again = replace(plan.program)
    assert known_figures(plan.graph, again) is None
    assert replay(plan.graph, again, machine=plan.machine) == report
    listed = replace(plan.program, instructions=list(plan.program.instructions))
    assert replay(plan.graph, listed, machine=plan.machine) == report
    assert known_figures(plan.graph, listed) is None  # A list may change.
    assert sp.simulate(plan) == sp.simulate(replace(plan, program=again))


def test_several_are_known_the_oldest_is_forgotten_first() -> None:
    last, things = IdentityCache[int](size=2), [_Thing() for _ in range(3)]
    for number, thing in enumerate(things):
        last.keep(number, thing)
    assert [last.get(thing) for thing in things] == [None, 1, 2]
    last.keep(3, things[1])  # Anew: now the other is the oldest.
    last.keep(4, things[0])
    assert [last.get(thing) for thing in things] == [4, 3, None]
    del things[1]
    gc.collect()
    assert last.get(things[0]) == 4


@pytest.mark.usefixtures("however_few")
def test_a_program_that_was_replayed_is_not_again_but_its_claims_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = sp.plan(blocks(), "fusion", "MR", time_limit=600)
    require_valid(plan)
    replay(plan.graph, replace(plan.program), machine=plan.machine)  # Another since.
    anew: list[Program] = []

    def noted(graph: sp.Graph, program: Program, *rest: Any) -> check.CheckReport:
        anew.append(program)
        return replay_anew(graph, program, *rest)

    replay_anew = check._replay
    monkeypatch.setattr(check, "_replay", noted)
    require_valid(plan)
    assert anew == []
    wrong = replace(plan.claims, peak_bytes=plan.claims.peak_bytes + 1)
    with pytest.raises(sp.InvalidPlan, match="peak_bytes"):
        require_valid(replace(plan, claims=wrong))
    require_valid(replace(plan, program=replace(plan.program)))
    assert len(anew) == 1
    assert sp.check(plan).residencies  # A report has all.


def test_a_table_is_made_once_of_a_program_that_cannot_change() -> None:
    plan = sp.plan(blocks(), "fusion", "MR", time_limit=600)
    table = table_of(plan.program)
    assert table is not None
    assert table_of(plan.program) is table
    listed = replace(plan.program, instructions=list(plan.program.instructions))
    first = table_of(listed)
    listed.instructions.pop()  # type: ignore[attr-defined]
    second = table_of(listed)
    assert first is not None
    assert second is not None
    assert len(second) == len(first) - 1
