"""A page as a visitor's browser makes it: what is written to it, and when."""

from __future__ import annotations

from unittest.mock import Mock

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from app import page
from app.jobs.pool import WorkerPool


class Watch:
    """A periodic callback that nobody calls."""

    def __init__(self) -> None:
        self.running, self.period = False, 0

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_workers_are_heard_when_the_browser_has_built_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A view that is connected and not yet rendered fails where its model changes."""
    watch = Watch()
    monkeypatch.setattr(pn.state, "add_periodic_callback", lambda *_a, **_k: watch)
    monkeypatch.setattr(page, "shared_pool", lambda: WorkerPool(0))
    monkeypatch.setattr(page, "from_query", lambda _given: ({"budget": "MH"}, {}, []))
    document, context = Document(), Mock()
    context.request.arguments = {}
    document._session_context = lambda: context
    with set_curdoc(document):
        template = page.template()
        template.server_doc(document)
        assert not watch.running
        pn.state._schedule_on_load(document, None)  # what the browser asks for
    assert watch.running
