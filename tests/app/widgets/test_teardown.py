"""A page whose visitor has left holds nothing, and what it shared with others is whole."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.models import Row
from bokeh.plotting import figure

from app.explorer import Explorer
from app.session.session import Session
from app.views.panels.controls import Controls
from app.widgets import teardown
from app.widgets.glyphs import Layers, settle
from app.widgets.palette import LIGHT
from app.widgets.teardown import parts_of, take_apart, take_models_apart
from planners.core.gc_pause import no_collection
from tests.app.silent_pool import SilentPool


def page() -> list[Any]:
    session = Session(SilentPool())  # type: ignore[arg-type]
    session.open({}, {}, [])
    return [session, Explorer(session, LIGHT), Controls(session)]


def test_most_of_a_page_goes_without_the_collector_once_it_is_taken_apart() -> None:
    page()  # what is made once
    gc.collect()
    with no_collection():
        before = len(gc.get_objects())
        whole = page()
        shown = whole[0].work.shown
        made = len(gc.get_objects()) - before
        assert take_apart(whole) > 500
        whole.clear()
        left = len(gc.get_objects()) - before
        assert left < made / 4
    assert shown.plan.graph.operators  # others may look at the same plan


def test_what_is_shared_is_no_part_of_a_page() -> None:
    pool = SilentPool()
    session = Session(pool)  # type: ignore[arg-type]
    session.open({}, {}, [])
    explorer = Explorer(session, LIGHT)
    parts = list(parts_of([session, explorer]))
    assert explorer.map in parts
    assert session.problem in parts
    for shared in (pool, session.work.shown, LIGHT):
        assert not any(part is shared for part in parts)


def test_models_of_a_page_go_with_it_and_those_it_showed_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A soak's server grew by a third in ten minutes: each model was in a circle of its own."""
    monkeypatch.setattr(teardown, "END_S", 0.0)
    take_models_apart()

    async def visit() -> list[weakref.ref[Any]]:
        document, row = Document(), Row(children=[figure()])
        document.add_root(row)
        shown = [*row.references()]
        row.children = [figure()]
        shown += row.references()
        models = [weakref.ref(model) for model in shown]
        del row
        shown.clear()
        document.models.destroy()
        await asyncio.sleep(0.01)
        return models

    with no_collection():
        models = asyncio.run(visit())
        assert len(models) > 40
        assert not [model() for model in models if model()]


def test_a_page_whose_models_are_empty_already_is_taken_apart() -> None:
    row = Row()
    whole = [*page(), row]
    vars(row).clear()
    assert take_apart(whole) > 500


@pytest.mark.parametrize("of", ["plot", "layers"])
def test_what_is_left_of_a_page_stops_no_other(of: str) -> None:
    """A figure that somebody still held, taken apart, ended what all others did next."""
    layers, document = Layers.on_figure(figure()), Document()
    vars(layers.plot if of == "plot" else layers).clear()
    settle(document)
