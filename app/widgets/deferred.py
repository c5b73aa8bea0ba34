"""Parts of the page that the browser gets when they are first shown.

These are parts that only some plans have, that are folded, or that a key opens: with all of them a
page is half as large again, and appears later by as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import panel as pn

from app.widgets.style import BOX

Box = TypeVar("Box", bound=pn.layout.base.ListPanel)


def seen(kind: type[Box], *things: Any, **params: Any) -> Box:
    """A row or column that contains a thing from when it is first visible.

    `kind` is Panel's class of the box, `things` are in the order in which they stand.
    """
    whole: list[Any] = [pn.panel(thing) for thing in things]
    there = [thing for thing in whole if thing.visible]
    box = kind(*there, **params)

    def show(event: Any) -> None:
        if event.new and event.obj not in there:
            there.append(event.obj)
            box.objects = [thing for thing in whole if thing in there]

    for thing in whole:
        if thing not in there:
            thing.param.watch(show, "visible")
    return box


def show_in_row(widget: pn.widgets.Widget, there: bool) -> None:
    """Show or hide a small thing beside others of which none is a figure.

    The browser gets it when it is first shown. From then on a style hides it: whenever `visible`
    changes, Bokeh lays out the whole page and paints each of its figures before it goes on.
    """
    if there:
        widget.visible = True
    if widget.visible:
        widget.styles = {"display": None if there else "none"}


def hidden_box(name: str) -> pn.Column:
    """An empty box that is not seen."""
    return pn.Column(
        pn.Spacer(height=0),
        css_classes=["box", name],
        stylesheets=[BOX],
        visible=False,
        sizing_mode="stretch_width",
    )


def fill(box: pn.Column, rows: Callable[[], list[Any]]) -> None:
    """Put the rows into a box that is still empty."""
    if isinstance(box[0], pn.Spacer):
        box.objects = rows()
