"""Rectangles moved by hand in a session: judged, shown or refused, taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import fixed_stays, free_places, in_the_way, why_fixed
from app.page import press
from app.session.session import Session
from app.views.memory.moved_by_hand import HandBar, refused_columns, stay_rows
from app.views.panels.comparing import ComparePanel


def settle(session: Session, until: Any) -> None:
    def done() -> bool:
        session.poll()
        return not session.busy

    until(done)


def movable(shown: DisplayedPlan) -> tuple[int, int]:
    """The place of a stay that has a free place elsewhere, and that place."""
    for number, stay in enumerate(shown.report.residencies):
        here = stay.spans[0].start
        for offset in free_places(shown.report, stay, range(shown.plan.budget_bytes)):
            if offset != here:
                return number, offset
    raise AssertionError("nothing can move")


def taken(shown: DisplayedPlan) -> tuple[int, int]:
    """The place of a stay, and an address at which it would overwrite another."""
    for number, stay in enumerate(shown.report.residencies):
        for offset in range(0, shown.plan.budget_bytes - stay.size_bytes, 2**13):
            if in_the_way(shown.report, stay, offset):
                return number, offset
    raise AssertionError("nothing is in the way")


def test_a_move_that_holds_is_shown_and_taken_back(session: Session) -> None:
    before = session.work.shown
    number, offset = movable(before)
    session.look.by_hand = True
    session.moving.drop(number, offset)
    after = session.work.shown
    assert after is not before
    assert after.plan.details.moves[0].stop == offset
    assert after.report.traffic_bytes == before.report.traffic_bytes
    assert not session.stale
    assert '"by_hand"' in after.text
    session.what_if.undo()
    assert session.work.shown is before
    session.moving.drop(number, offset)
    session.moving.back()
    assert session.work.shown is before
    assert not session.moving.can_undo


def test_a_move_onto_another_is_refused_with_the_words_of_check(session: Session) -> None:
    shown, bar = session.work.shown, HandBar(session)
    number, offset = taken(shown)
    session.look.by_hand = True
    session.moving.drop(number, offset)
    attempt = session.work.attempt
    assert session.work.shown is shown
    assert "overwrites" in attempt["text"]
    assert attempt["step"] is not None
    assert attempt["others"]
    held, clash, met = refused_columns(shown, attempt)
    assert clash["bottom"] == [offset]
    assert len(met["left"]) == len(attempt["others"])
    assert held["text"][0].startswith("✕")
    assert "check refuses" in bar.text.object
    assert "overwrites" in bar.text.object
    press(session, "Escape", lambda: None)
    assert session.work.attempt == {}


def test_an_address_is_typed_nudged_or_the_next_free_one(session: Session) -> None:
    shown = session.work.shown
    number, offset = movable(shown)
    stay = shown.report.residencies[number]
    session.moving.to("0x40")
    assert "Select a tensor first" in session.work.notice
    session.look.param.update(selection=f"tensor:{stay.tensor}", step=stay.start_step)
    session.moving.to("nowhere")
    assert "stays where it is" in session.work.notice
    session.moving.to(str(shown.plan.budget_bytes))
    assert session.work.attempt["fault"] == "out of range"
    session.moving.undo()
    session.moving.to_next(1 if offset > stay.spans[0].start else -1)
    moved = session.work.shown
    assert moved.plan.details.moves
    here = session.moving.place_of(session.moving.chosen)
    session.moving.by(64)
    tried = session.work.attempt.get("offset", session.moving.place_of(session.moving.chosen))
    assert tried == here + 64


def test_a_long_program_is_judged_by_a_worker(
    session: Session, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.session.moving.AT_ONCE", 10)
    shown = session.work.shown
    number, offset = movable(shown)
    session.moving.drop(number, offset)
    assert session.work.judging
    settle(session, until)
    assert session.work.shown.plan.details.moves
    session.moving.drop(*taken(session.work.shown))
    settle(session, until)
    assert session.work.notice == ""
    assert "overwrites" in session.work.attempt["text"]
    assert not session.work.judging
    session.moving.undo()
    session.moving.undo()
    assert session.work.shown is shown


def test_another_plan_ends_what_was_moved(session: Session, until: Any) -> None:
    number, offset = movable(session.work.shown)
    session.moving.drop(number, offset)
    session.change(budget="MP")
    settle(session, until)
    assert not session.work.shown.plan.details.moves
    assert not session.moving.can_undo


def test_rows_of_stays_say_what_cannot_move(shown: DisplayedPlan) -> None:
    rows = stay_rows(shown, shown.memories[0])
    assert len(rows) == len(shown.report.residencies)
    assert not any(row["fixed"] for row in rows)
    assert all(row["first"] < row["last"] for row in rows)


def test_a_moved_plan_is_compared_with_the_planners_and_loaded_again(
    session: Session, until: Any
) -> None:
    panel = ComparePanel(session, lambda _key: None, 250)
    session.pins.pin()
    number, offset = movable(session.work.shown)
    session.moving.drop(number, offset)
    text = session.work.shown.text
    assert "moved by hand" in panel.title.object
    assert any("at another address" in row["text"] for row in panel.rows.rows)
    session.moving.back()
    session.uploads.take(text.encode())
    settle(session, until)
    assert session.work.notice == ""
    assert session.work.shown.moved
    assert session.moving.moves == 1
    assert not session.moving.can_undo
    session.moving.back()
    settle(session, until)
    assert not session.work.shown.moved


class Counted:
    """Instructions that are written anew for each reader, as those of loops are."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items, self.readers = items, 0

    def __iter__(self) -> Iterator[Any]:
        self.readers += 1
        return iter(self.items)


def test_a_program_is_read_once_for_all_its_stays(session: Session) -> None:
    """It was read for each: the server stood still for hours on a program of many loops."""
    shown = session.work.shown
    first, *others = shown.plan.program.memories
    circled = tuple(replace(memory, circular=memory.addressed) for memory in (first, *others))
    counted = Counted(tuple(shown.plan.program.instructions))
    program = replace(shown.plan.program, memories=circled, instructions=counted)
    plan, stays = replace(shown.plan, program=program), shown.report.residencies
    assert fixed_stays(plan, stays) == [bool(why_fixed(plan, stay)) for stay in stays]
    assert any(fixed_stays(plan, stays))
    counted.readers = 0
    fixed_stays(plan, stays)
    assert counted.readers == 1
    assert not any(fixed_stays(shown.plan, stays))
