"""Spillway in notebooks: rich displays, a what-if panel of widgets, the whole explorer inline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.display import HTML

    import planners as sp
    from app.outputs.notebook.inline import Inline
    from app.outputs.notebook.panel import WhatIf

__all__ = ["explore", "show", "what_if"]


def explore(what: sp.Graph | sp.Plan | str = "", *, height: int = 900, **options: Any) -> Inline:
    """The whole explorer as a cell's output, on a plan, a graph, or a model by name.

    `height` in pixels; `options` as in `what_if`. Its `plan` is the plan on screen.
    """
    from app.outputs.notebook.inline import Inline

    return Inline(what, height=height, **options)


def what_if(what: sp.Graph | sp.Plan | str = "mobilenet_v2", **options: Any) -> WhatIf:
    """A panel of widgets that plans a graph, or a model by name, again at every change.

    `options` is what to begin with: `planner`, `budget`, `machine`, `wishes`, or any other field of
    `app.model.state.ProblemFields`. The panel's `plan` is the plan on screen, `tried` a table of
    all that were. Raises `BadInput` for a field that is none, or a value that it cannot have.
    """
    from app.outputs.notebook.panel import WhatIf

    return WhatIf(what, **options)


def show(plan: sp.Plan) -> HTML:
    """A plan's picture, however long its program takes to replay; from then on it has its own.

    Raises `InvalidPlan`.
    """
    from IPython.display import HTML

    from app.outputs.notebook.pages import shown_html
    from app.outputs.notebook.replay_cache import replayed

    return HTML(shown_html(replayed(plan)))
