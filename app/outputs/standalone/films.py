"""States of figures' models, frame by frame; states that repeat are stored once.

The explorer's server fills a figure anew for each step; a page without a server plays a film.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bokeh.model import Model
from bokeh.models import ColumnDataSource, Label, Plot, Range1d, Span

PROPERTIES: dict[type[Model], tuple[str, ...]] = {
    ColumnDataSource: ("data",),
    Label: ("x", "y", "text", "visible"),
    Span: ("location", "visible"),
    Range1d: ("start", "end", "reset_start", "reset_end"),
    Plot: ("height",),
}


class Film:
    """States of some models: `shoot` adds their current state as the next frame."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        self._states: list[dict[str, int]] = [{} for _ in models]
        self._frames: list[list[int]] = []

    def shoot(self) -> None:
        """Record the current state of the models."""
        frame = []
        for model, states in zip(self.models, self._states, strict=True):
            text = json.dumps(state(model), separators=(",", ":"))
            frame.append(states.setdefault(text, len(states)))
        self._frames.append(frame)

    def to_json(self) -> dict[str, Any]:
        """Models by their identifiers, the states of each, and which of them each frame has."""
        return {
            "models": [model.id for model in self.models],
            "states": [[json.loads(text) for text in states] for states in self._states],
            "frames": self._frames,
        }


def state(model: Model) -> dict[str, Any]:
    """The properties of a model that change, as plain data."""
    names = next(names for kind, names in PROPERTIES.items() if isinstance(model, kind))
    properties = {name: getattr(model, name) for name in names}
    if "data" in properties:
        properties["data"] = {name: list(values) for name, values in properties["data"].items()}
    return properties
