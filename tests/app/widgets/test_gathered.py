"""Bokeh looks for a document's models once in a turn, and only where it would at all."""

from __future__ import annotations

import pytest
from bokeh.document import Document
from bokeh.document.models import DocumentModelManager
from bokeh.models import Column, Div

from app.widgets.gathered import looked_for_once


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of models at each look."""
    found: list[int] = []
    look = DocumentModelManager.recompute

    def counted(self: DocumentModelManager) -> None:
        look(self)
        found.append(len(self))

    monkeypatch.setattr(DocumentModelManager, "recompute", counted)
    return found


def test_models_are_looked_for_once_however_many_come(looks: list[int]) -> None:
    document, top = Document(), Column()
    document.add_root(top)
    looks.clear()
    with looked_for_once(document):
        for _ in range(5):
            top.children = [*top.children, Div()]
        with looked_for_once(document):
            top.children = [*top.children, Div()]
        assert looks == []
    assert looks == [len(document.models)]
    assert all(child.document is document for child in top.children)
    top.children = []
    assert len(looks) == 2


def test_where_no_model_comes_none_is_looked_for(looks: list[int]) -> None:
    document, text = Document(), Div()
    document.add_root(text)
    looks.clear()
    with looked_for_once(document):
        text.text = "told"
    assert looks == []
    with looked_for_once(None):
        text.text = "again"


def test_an_error_within_does_not_lose_the_models(looks: list[int]) -> None:
    document, top = Document(), Column()
    document.add_root(top)

    def fail() -> None:
        with looked_for_once(document):
            top.children = [Div()]
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        fail()
    assert top.children[0].document is document
