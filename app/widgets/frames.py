"""States of figures' models, frame by frame; states that repeat are stored once.

The browser plays them as the cursor moves, and asks no server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.model import Model
from bokeh.models import BoxAnnotation, ColumnDataSource, Label, Plot, Range1d, Span

PROPERTIES: dict[type[Model], tuple[str, ...]] = {
    ColumnDataSource: ("data",),
    Label: ("x", "y", "text", "visible"),
    BoxAnnotation: ("visible",),
    Span: ("location", "visible"),
    Range1d: ("start", "end", "reset_start", "reset_end"),
    Plot: ("height", "visible"),
}

State = dict[str, Any]
"""Properties of a model that change, as plain data."""


class Film:
    """States of some models, frame by frame."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = models
        self._states: list[dict[str, int]] = [{} for _ in models]
        self._frames: list[list[int]] = []

    def shoot(self) -> None:
        """Record the current state of the models."""
        self.add([state(model) for model in self.models])

    def add(self, states: Sequence[State]) -> None:
        """Add a frame: what changes of each model then."""
        frame = []
        for of_model, kept_state in zip(states, self._states, strict=True):
            text = json.dumps(of_model, separators=(",", ":"))
            frame.append(kept_state.setdefault(text, len(kept_state)))
        self._frames.append(frame)

    def to_json(self) -> dict[str, Any]:
        """Models by their identifiers, the states of each, and which of them each frame has."""
        return {
            "models": [model.id for model in self.models],
            "states": [[json.loads(text) for text in states] for states in self._states],
            "frames": self._frames,
        }


def filled_there(*columns: str) -> ColumnDataSource:
    """An empty source that the browser fills by itself, and does not tell the server of."""
    return ColumnDataSource({name: [] for name in columns}, syncable=False)


def state(model: Model) -> State:
    """The properties of a model that change, as plain data."""
    names = next(names for kind, names in PROPERTIES.items() if isinstance(model, kind))
    properties = {name: getattr(model, name) for name in names}
    if "data" in properties:
        columns = properties["data"].items()
        properties["data"] = {name: np.asarray(values).tolist() for name, values in columns}
    return properties
