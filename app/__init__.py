"""The explorer, a Panel application; in notebooks, `explore` shows it as a cell's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import planners as sp
    from app.notebook.inline import Inline


def explore(what: sp.Graph | sp.Plan | str = "", **asked: Any) -> Inline:
    """The whole explorer as a cell's output: see `app.notebook.explore`."""
    from app.notebook import explore as show

    return show(what, **asked)
