"""Small buttons of a row: each calls what it is for, and looks as it is told."""

from __future__ import annotations

from types import SimpleNamespace

from panel.models.esm import DataEvent

from app.session.session import Session
from app.views.panels.teaching import TeachingBar
from app.widgets.button_bar import ButtonBar, alone


def tap(bar: ButtonBar, name: str) -> None:
    """As the browser tells it."""
    bar._process_event(DataEvent(None, {"key": name}))


def test_a_tap_calls_what_the_button_is_for() -> None:
    called: list[str] = []
    bar = ButtonBar()
    bar.add("one", "One", "the first", lambda: called.append("one"))
    bar.add("two", "Two", "the second", None)
    for name in ("one", "two", "three", "one"):
        tap(bar, name)
    assert called == ["one", "one"]
    assert [row["here"] for row in bar.buttons] == [False, True]


def test_a_button_looks_as_it_is_told_and_others_stay() -> None:
    bar = ButtonBar()
    bar.add("one", "One", "the first", None, down=False)
    bar.add("two", "Two", "the second", None)
    before = bar.buttons
    bar.look("one", down=False)
    assert bar.buttons is before, "nothing is sent"
    bar.look("one", down=True, label="1")
    assert bar.buttons[0] | {"down": True, "label": "1"} == bar.buttons[0]
    assert bar.buttons[1] == before[1]
    assert alone("memory").buttons[0]["name"] == "present-memory"


def test_one_button_sets_a_plan_aside_and_compares(session: Session) -> None:
    session.open({}, {})
    bar = TeachingBar(session).bar
    assert session.work.pinned is None
    tap(bar, "open-compare")
    look = session.look
    assert session.work.pinned is session.work.shown
    assert (look.comparing, look.split) == (True, True)
    assert SimpleNamespace(**bar.buttons[2]).down is True
    tap(bar, "open-compare")
    assert not look.comparing
    assert session.work.pinned is session.work.shown, "it stays aside"
