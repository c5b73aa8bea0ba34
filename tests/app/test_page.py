"""A page as a visitor's browser makes it: what is written to it, and when."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from unittest.mock import Mock

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.models import ImportedStyleSheet, LayoutDOM, Plot
from bokeh.server.callbacks import NextTickCallback
from panel.io.state import set_curdoc
from panel.models.markup import HTML

from app import page
from app.explorer import Explorer
from app.jobs.pool import WorkerPool
from app.session.session import Session
from app.widgets.palette import LIGHT
from tests.random_graphs import random_graph


class Watch:
    """A periodic callback that nobody calls."""

    def __init__(self) -> None:
        self.running, self.period = False, 0

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_workers_are_heard_when_the_browser_has_built_the_page(
    visited: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that is connected and not yet rendered fails where its model changes."""
    watch = Watch()
    monkeypatch.setattr(pn.state, "add_periodic_callback", lambda *_a, **_k: watch)
    monkeypatch.setattr(page, "from_query", lambda *_given: ({"budget": "MH"}, {}, []))
    with set_curdoc(visited):
        page.template().server_doc(visited)
        go_on(visited)
        assert not watch.running
        pn.state._schedule_on_load(visited, None)  # what the browser asks for
    assert watch.running


def test_the_page_goes_out_before_what_is_on_it_is_made(visited: Document) -> None:
    """Its browser loads the scripts meanwhile."""
    with set_curdoc(visited):
        page.template().server_doc(visited)
        assert not list(visited.select({"type": Plot}))
        assert not list(visited.select({"type": HTML}))  # with one, Panel would load MathJax
        assert len(visited.models) < 60
        assert len(sheets_of(visited)) > 1
        assert not foreign_to(visited)  # a browser that came late is sent the page as it is now
        roots = [root.ref["id"] for root in visited.roots]
        go_on(visited)
    assert len(list(visited.select({"type": Plot}))) == 2  # the others are further down
    assert len(visited.models) < 280  # what is not seen costs nothing
    assert [root.ref["id"] for root in visited.roots] == roots
    assert len(sheets_of(visited)) > 3
    assert not foreign_to(visited)


def sheets_of(document: Document) -> list[str]:
    """Where the style sheets of a page are."""
    return [str(sheet.url) for sheet in document.select({"type": ImportedStyleSheet})]


def foreign_to(document: Document) -> list[str]:
    """Those on another machine: nothing may leave this one."""
    return [url for url in sheets_of(document) if "://" in url]


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> Document:
    """The document of a visitor who has asked for the page."""
    monkeypatch.setattr(page, "shared_pool", lambda: WorkerPool(0))
    document, context = Document(), Mock()
    context.request.arguments, context.session = {}, None
    document._session_context = lambda: context
    return document


def go_on(document: Document) -> None:
    """What the server does once the page is out."""
    while ticks := [c for c in document.session_callbacks if isinstance(c, NextTickCallback)]:
        for tick in ticks:
            if awaited := tick.callback():
                asyncio.run(awaited)


LAID_OUT = {"visible", "width", "height", "margin", "css_classes", "stylesheets", "sizing_mode"}


@pytest.fixture
def opened(session: Session, until: Any) -> Document:
    """The document of a page with a small network's plan on it."""
    document, name = Document(), "small (uploaded)"
    session.uploads.texts[name] = json.dumps(random_graph(0, 16, largest=2000).to_json())
    session.problem.model = name
    with set_curdoc(document):
        document.add_root(Explorer(session, LIGHT).__panel__().get_root(document))
        plan(session, "MP", until)
    return document


def test_a_plan_does_not_have_the_page_laid_out_anew(
    opened: Document, session: Session, until: Any
) -> None:
    """For each such property Bokeh lays out the whole page and paints all its figures at once."""
    document, before = opened, session.work.shown
    with set_curdoc(document):
        changed: list[tuple[str, str]] = []

        def note(event: Any) -> None:
            if isinstance(getattr(event, "model", None), LayoutDOM) and event.attr in LAID_OUT:
                changed.append((type(event.model).__name__, event.attr))

        document.on_change(note)
        plan(session, "MR", until)
        plan(session, "MH", until)
    assert changed == []
    assert session.work.shown.plan.budget_bytes < before.plan.budget_bytes


def plan(session: Session, budget: str, until: Any) -> None:
    session.change(budget=budget)
    until(lambda: session.poll() or not session.work.planning)
