"""The page of a network: its plans as a table, and their fronts as the explorer draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.model import Model
from bokeh.model.util import collect_models

from app.display.displayed_plan import DisplayedPlan
from app.model.pareto import indexed
from app.outputs.site.site_plan import PLANNED, SitePlan, page_of
from app.outputs.site.texts import site_page
from app.outputs.standalone.theme_colours import colours_of, differing
from app.outputs.standalone.write import embedded
from app.views.fronts.pareto import Pareto
from app.widgets.glyphs import Layers
from app.widgets.palette import DARK, LIGHT, Theme

METRICS = ("latency", "traffic", "energy")
NOT_HERE = "none of the points is the plan on screen"


def network_page(network: str, made: Sequence[SitePlan], shown: DisplayedPlan | None) -> str:
    """The page; `shown` is one of the plans, whose graph and machine say what is least possible."""
    title = made[0].cell.graph.name
    planned = [item for item in made if item.facts["status"] == PLANNED]
    scripts = ("../assets/site.js", "../assets/overview.js")
    if not planned or shown is None:
        return site_page("network", title, scripts, up="../", of=network)
    sweep_points = [item.facts["point"] for item in planned]
    points = indexed(sweep_points, sweep_points[0]["problem"])
    light, dark = (_views(theme, points, shown) for theme in (LIGHT, DARK))
    figures = {metric: view.figure for metric, view in light.items()}
    script, places = embedded(figures)
    data = {
        "pages": [page_of(item.cell) for item in planned],
        "sources": [view.points.id for view in light.values()],
        "colours": colours_of(_models(light), differing(_models(light), _models(dark))),
    }
    body = "".join(
        f'<section class="box plot front {name}">{places[name]}</section>' for name in figures
    )
    body = f'<div class="fronts" id="fronts">{body}</div>'
    return site_page(
        "network", title, scripts, up="../", of=network, inline=script, data=data, body=body
    )


def _views(
    theme: Theme, points: Sequence[dict[str, Any]], shown: DisplayedPlan
) -> dict[str, Pareto]:
    views = {}
    for metric in METRICS:
        view = views[metric] = Pareto(theme, _nothing, large=True)
        view.show(points, shown, ("memory", metric), NOT_HERE)
        Layers.on_figure(view.figure).settle()
    return views


def _nothing(_index: int) -> None:
    """A tap is the page's own script's."""


def _models(views: dict[str, Pareto]) -> list[Model]:
    """All models of the figures, in the same order in each theme."""
    return list(collect_models(*(view.figure for view in views.values())))
