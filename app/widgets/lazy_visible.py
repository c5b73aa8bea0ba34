"""Parts of the page that are made when they come near the window, or are wanted in a picture.

What lies below the first screen is a third of the page: for the server to make, for the browser to
build before the first plan is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel as pn
import param

from app.model.paths import script
from app.widgets.component import Component


class Mark(Component):
    """Holds the room of a part that is not made yet, and says when it is wanted."""

    wanted = param.Boolean(default=False, doc="Whether it is near the window, or to be saved.")
    part = param.String(default="", doc="By which name others of the page ask for it.")

    _esm = script("lazy_visible")


def near(
    kind: type[pn.Row | pn.Column],
    height: int,
    make: Callable[[], list[Any]],
    part: str = "",
    **params: Any,
) -> Any:
    """A row or column that is empty and so high until it comes near the window, or until the
    browser's event `spillway-want` names the `part`."""
    mark = Mark(part=part, height=height, sizing_mode="stretch_width", margin=0)
    box = kind(mark, **params)

    def fill(_event: Any) -> None:
        box.objects = [pn.panel(thing) for thing in make()]

    mark.param.watch(fill, "wanted")
    return box
