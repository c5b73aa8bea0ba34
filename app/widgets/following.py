"""How views follow the view-models."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn
import param

from app.widgets.glyphs import settle


def follow(source: param.Parameterized, names: str | list[str], act: Callable[[], object]) -> None:
    """Call `act` whenever one of the named parameters changes.

    Figures and their sources are Bokeh's, not Panel's, and Panel hands on what a widget says
    without the document's lock; `unlocked` collects all changes and sends them together. Pass a
    function or lambda: views that wait on a bound method would outlive a closed page.
    """

    def run(*_: object) -> None:
        with pn.io.unlocked():
            act()
            settle(pn.state.curdoc)

    source.param.watch(run, names)
