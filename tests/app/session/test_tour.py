"""The tour: every stop has its plan and true numbers, and the page is as before when it ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from app.kinds.registry import step_story
from app.session import tour_stops
from app.session.session import Session
from app.session.tour import answered, fields_of
from app.session.tour_stops import PLANS, STOPS
from planners.core.units import format_bytes

Until = Callable[[Callable[[], object]], None]


def arrived(session: Session, number: int) -> bool:
    session.poll()
    callout = session.tour.callout
    return bool(callout) and callout["number"] == number and not callout["waiting"]


@pytest.mark.parametrize("count", [4, pytest.param(len(STOPS), marks=pytest.mark.long)])
def test_every_stop_shows_its_plan_and_the_end_brings_back_what_was(
    session: Session, until: Until, count: int
) -> None:
    session.change(budget="MP")
    until(lambda: (session.poll(), not session.work.planning)[1])
    session.look.param.update(step=30, selection="tensor:add_1", unit="hex", colour="bytes")
    points = session.work.points
    before = session.fields(), session.work.shown, session.look.param.values()
    session.tour.start()
    told: dict[int, str] = {}
    for number, stop in enumerate(STOPS[:count], 1):
        until(lambda n=number: arrived(session, n))  # type: ignore[misc]
        callout = session.tour.callout
        told[number] = callout["text"]
        assert session.work.shown_for == answered(fields_of(stop.plan))
        assert not session.stale
        assert callout["title"] == stop.title
        assert callout["targets"]
        assert callout["of"] == len(STOPS)
        _true(session, stop.title, callout["text"])
        session.tour.next()
    if count < len(STOPS):
        session.tour.end()
    assert session.tour.callout == {}
    assert not session.tour.running
    assert before == (session.fields(), session.work.shown, session.look.param.values())
    assert session.work.points == points
    assert session.work.pinned is None
    assert len(set(told.values())) == count


def _true(session: Session, title: str, text: str) -> None:
    """What a stop says, found again in the plan."""
    shown, look = session.work.shown, session.look
    report = shown.report
    assert "  " not in text
    assert ".." not in text
    if title == "A spill and its retrieval":
        tensor = look.selection.removeprefix("tensor:")
        assert any(s.tensor == tensor and s.text in text for s in step_story(shown, look.step))
        assert "came back" in text
    elif title == "Occupancy and its peak":
        assert look.step == report.peak_step
        assert format_bytes(max(report.occupancy)) in text
    elif title == "The timeline and a stall":
        stalls = [i for i in shown.trace.intervals if i.engine == "compute" and i.stall_s > 0]
        worst = max(stalls, key=lambda i: i.stall_s)
        assert f"before {worst.label}:" in text
        assert worst.stall_s > 0.01 * shown.trace.makespan_s, "too little to be seen"
    elif title == "Fused groups":
        assert f"{len(shown.groups)} groups" in text
        assert max(g.tiles for g in shown.groups) > 1
        assert format_bytes(report.peak_bytes) in text
    elif title == "The circular pool":
        assert format_bytes(shown.pool.size_bytes) in text
        run = shown.pool.run_at(look.step)
        assert f"{run.distance_bytes:,} bytes in front" in text
    elif title == "Parameters through a ring":
        assert look.memory
        assert "the ring was full" in text
    elif title == "Two plans compared":
        other = session.work.pinned.report.noncompulsory_bytes
        assert report.noncompulsory_bytes < other
        assert f"{format_bytes(other)} there" in text


def test_back_and_the_end_may_come_at_any_time(session: Session, until: Until) -> None:
    before = session.work.shown
    session.tour.back()
    session.tour.next()
    assert session.tour.callout == {}
    session.tour.start()
    assert session.tour.callout["waiting"]
    session.tour.next()
    session.tour.back()
    session.tour.start()
    assert session.tour.callout["number"] == 1
    until(lambda: arrived(session, 1))
    session.tour.end()
    session.tour.end()
    assert session.work.shown is before
    assert not session.tour.busy
    assert not session.work.touring


def test_a_plan_that_fails_is_said_and_passed_over(
    session: Session, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PLANS, "spills", {"budget": "1 KiB"})  # type: ignore[arg-type]
    session.tour.start()
    until(lambda: (session.poll(), "no such plan" in session.tour.callout["text"])[1])
    assert not session.tour.callout["waiting"]
    session.tour.next()
    assert session.tour.callout["number"] == 2
    session.tour.end()
    assert session.work.shown_for == session.fields()


def test_a_problem_in_the_making_is_taken_up_again(session: Session, until: Until) -> None:
    session.change(model="squeezenet1_1")
    session.tour.start()
    assert not session.work.planning
    session.tour.end()
    assert session.work.planning
    assert session.problem.model == "squeezenet1_1"
    until(lambda: (session.poll(), session.work.shown.graph.name == "squeezenet1_1")[1])


def test_numbers_are_never_written_into_the_stops() -> None:
    """Digits stand in the problem that is planned, and nowhere in what is told."""
    source = Path(tour_stops.__file__).read_text(encoding="utf-8")
    told = source[source.index("class Stop") :]
    words = re.findall(r'"([^"\n]*)"', told)
    plain = [re.sub(r"\{[^}]*\}", "", text) for text in words]
    assert not [text for text in plain if re.search(r"\d", text)]
