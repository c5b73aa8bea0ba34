"""Who is let in: a page of one's own, not too many at once, and none made for nobody."""

from __future__ import annotations

from unittest.mock import Mock

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.server.callbacks import NextTickCallback
from panel.io.state import set_curdoc

from app import door


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_inside", set())


def visitor(name: str, query: str = "") -> Document:
    document, context = Document(), Mock()
    context.id, context.request.query, context.request.arguments = name, query, {}
    document._session_context = lambda: context
    return document


def asks(document: Document) -> str:
    with set_curdoc(document):
        return door.refusal()


def test_a_session_is_not_named_by_the_address() -> None:
    assert "names a session" in asks(visitor("abc", "model=x&bokeh-session-id=abc"))
    assert not asks(visitor("abc", "model=x"))


def test_a_full_server_says_so_until_somebody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_SESSIONS", "2")
    first = visitor("a")
    assert [asks(first), asks(visitor("b"))] == ["", ""]
    assert "All 2 places" in asks(visitor("c"))
    for leaves in first.session_destroyed_callbacks:
        leaves(first.session_context)
    assert not asks(visitor("c"))
    assert "All 2 places" in asks(visitor("d"))


@pytest.mark.parametrize("given", ["", "0", "-1", "many"])
def test_a_number_of_places_that_is_none_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("SPILLWAY_SESSIONS", given)
    assert door.most_sessions() == door.MOST_USUAL


@pytest.mark.parametrize("patience_s", [60.0, -1.0])
def test_what_is_on_a_page_waits_for_somebody_where_the_server_is_late(
    monkeypatch: pytest.MonkeyPatch, patience_s: float
) -> None:
    monkeypatch.setattr(door, "PATIENCE_S", patience_s)
    document, made = visitor("a"), []
    document.session_context.session.connection_count = 0
    with set_curdoc(document):
        door.when_wanted(lambda: made.append(1))
        for tick in [c for c in document.session_callbacks if isinstance(c, NextTickCallback)]:
            tick.callback()
        assert bool(made) == (patience_s > 0)
        pn.state._schedule_on_load(document, None)  # what the browser asks for
    assert made == [1]
