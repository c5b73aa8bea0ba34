"""Which colours of figures differ between light and dark, so that a page can change its theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from bokeh.core.properties import DataSpec
from bokeh.core.property.vectorization import Value
from bokeh.model import Model
from bokeh.model.util import collect_models

from app.outputs.standalone.figures import Figures
from app.widgets.palette import DARK, LIGHT

Difference = tuple[int, str, bool, str, str]
"""The number of a model among all, its property, whether that is a glyph's, light, dark."""
Colours = dict[str, dict[str, list[Any]]]


@cache
def differences() -> tuple[Difference, ...]:
    """Figures are made once in each theme: a property whose values differ is a colour."""
    light, dark = (_models(Figures(theme)) for theme in (LIGHT, DARK))
    return tuple(differing(light, dark))


def differing(light: Sequence[Model], dark: Sequence[Model]) -> Iterator[Difference]:
    """The colours of models that are the same but for their theme."""
    for place, (one, other) in enumerate(zip(light, dark, strict=True)):
        for name in _set_in(one) | _set_in(other):
            of_glyph = isinstance(one.lookup(name).property, DataSpec)
            here, there = _colour(getattr(one, name)), _colour(getattr(other, name))
            if here != there:
                yield place, name, of_glyph, here, there


def _set_in(model: Model) -> set[str]:
    """The properties of a model that somebody has set: the light value may be Bokeh's default."""
    return {name for name in model.properties_with_values(include_defaults=False) if name != "data"}


def recolouring(figures: Figures) -> Colours:
    """By model and property: the value in light and the value in dark, as BokehJS takes them."""
    return colours_of(_models(figures), differences())


def colours_of(models: Sequence[Model], found: Iterable[Difference]) -> Colours:
    """The same of any models."""
    by_model: Colours = {}
    for place, name, of_glyph, *colours in found:
        values = [{"value": colour} if of_glyph else colour for colour in colours]
        by_model.setdefault(models[place].id, {})[name] = values
    return by_model


def _models(figures: Figures) -> list[Model]:
    """All models of all figures, in the same order in each theme."""
    return list(collect_models(*_plots(figures)))


def _plots(figures: Figures) -> Iterable[Model]:
    views = ["dag", "overview", "map", "occupancy", "timeline", "ring"]
    views += ["bars", "ram", "delay", "pareto"]
    return [getattr(figures, name).figure for name in views]


def _colour(value: Any) -> str:
    text = value.value if isinstance(value, Value) else value
    return text if isinstance(text, str) and text.startswith("#") else ""
