"""What changes in one turn reaches the browser in one message, and Bokeh looks at it once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import panel as pn
from bokeh.document import Document


@contextmanager
def gathered() -> Iterator[None]:
    """Collect what changes on the page of this turn's visitor, and send it at the end."""
    with pn.io.unlocked(), looked_for_once(pn.state.curdoc):
        yield


@contextmanager
def looked_for_once(document: Document | None) -> Iterator[None]:
    """Have Bokeh look for the models of a document once, at the end, where it would at all.

    It walks all of them, some 40 ms, each time that a model is put in the place of another: a plan
    that comes does so two dozen times. To freeze a document would be to look in any case.
    """
    if document is None or "recompute" in vars(document.models):
        yield
        return
    models, wanted = document.models, False

    def later() -> None:
        nonlocal wanted
        wanted = True

    models.recompute = later
    try:
        yield
    finally:
        del models.recompute
        if wanted:
            models.recompute()
