"""Another theme for figures that are on screen: what has a colour of the one takes the other's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from bokeh.core.property.vectorization import Value
from bokeh.document import Document
from bokeh.model import Model
from bokeh.models import Plot

from app.widgets.glyphs import recolour_layers
from app.widgets.palette import Theme

INK = {"text_color": "#ffffff", "background_fill_color": "#ffffff"}
"""White that stands for itself: words on coloured boxes, and what lies behind words."""
BEHIND = ("background_fill_color", "border_fill_color")


def recolour(
    document: Document | None, before: Theme, after: Theme, later: Iterable[Plot] = ()
) -> None:
    """Give all models of a document, and the layers that are not drawn yet, another theme's
    colours; so too figures that come into the document `later`."""
    if document is None or before.dark == after.dark:
        return
    colours = exchange(before, after)
    waiting = [plot for plot in later if plot.document is None]
    for model in {*document.models}.union(*(plot.references() for plot in waiting)):
        if news := changes(model, colours):
            model.update(**news)
    for place in (document, *waiting):
        recolour_layers(place, lambda look: recoloured(look, colours))


def exchange(before: Theme, after: Theme) -> dict[str, str]:
    """What becomes of each colour of a theme."""
    names = [field.name for field in fields(Theme) if field.name != "dark"]
    return {getattr(before, name): getattr(after, name) for name in names}


def changes(model: Model, colours: Mapping[str, str]) -> dict[str, Any]:
    """The properties of a model that take another colour."""
    values = dict(model.properties_with_values(include_defaults=False))
    values.pop("data", None)
    recoloured_values = recoloured(values, colours)
    if isinstance(model, Plot):  # its background is the panel's, whose white is Bokeh's default
        behind = {name: getattr(model, name) for name in BEHIND}
        recoloured_values |= {
            name: colours[value] for name, value in behind.items() if value in colours
        }
    return recoloured_values


def recoloured(values: Mapping[str, Any], colours: Mapping[str, str]) -> dict[str, Any]:
    """Of properties by name, those that take another colour."""
    values_by_name: dict[str, Any] = {}
    for name, value in values.items():
        text = hashed(value.value if isinstance(value, Value) else value)
        if text in colours and INK.get(name) != text:
            values_by_name[name] = (
                Value(colours[text]) if isinstance(value, Value) else colours[text]
            )
    return values_by_name


def hashed(value: Any) -> str:
    """A colour as text, and nothing for anything else."""
    return value if isinstance(value, str) and value.startswith("#") else ""
