"""What is remembered of a thing is of that very thing, asked in the same way, while it is there."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace

import planners as sp
from planners.core.last import Last
from planners.simulator.check import known_figures, replay


class _Thing:
    """Something that can be told apart by identity only."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_only_the_very_thing_asked_the_same_way_is_known() -> None:
    last, thing = Last[str](), _Thing()
    last.keep("found", thing, 1)
    assert last.get(thing, 1) == "found"
    assert last.of(thing) == ((1,), "found")
    assert last.get(thing, 2) is None
    assert last.get(_Thing(), 1) is None
    last.keep("other", other := _Thing(), 1)
    assert (last.get(thing, 1), last.get(other, 1)) == (None, "other")


def test_it_is_forgotten_with_the_thing() -> None:
    last, thing, found = Last[_Thing](), _Thing(), _Thing()
    last.keep(found, thing)
    held = len(gc.get_referrers(found))
    del thing
    gc.collect()
    assert len(gc.get_referrers(found)) < held


def test_threads_know_their_own() -> None:
    last, thing = Last[str](), _Thing()
    last.keep("found", thing)
    seen: list[str | None] = []
    thread = threading.Thread(target=lambda: seen.append(last.get(thing)))
    thread.start()
    thread.join()
    assert seen == [None]


def test_a_changed_program_is_replayed_again() -> None:
    """A plan by latency was replayed when it was timed; what is changed of it is not known."""
    plan = sp.plan(sp.load("mobilenet_v2"), "fusion", "64KiB", time_limit=2, objective="latency")
    report = replay(plan.graph, plan.program, machine=plan.machine)
    assert known_figures(plan.graph, plan.program) == replace(report, residencies=())
    again = replace(plan.program)
    assert known_figures(plan.graph, again) is None
    assert replay(plan.graph, again, machine=plan.machine) == report
    listed = replace(plan.program, instructions=list(plan.program.instructions))
    assert replay(plan.graph, listed, machine=plan.machine) == report
    assert known_figures(plan.graph, listed) is None  # A list may change.
    assert sp.simulate(plan) == sp.simulate(replace(plan, program=again))
