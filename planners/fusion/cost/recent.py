"""The last few models of groups: a graph asked again, by another budget or objective or for longer,
goes on with the costs that are known."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.fusion.cost.group import GroupModel

MOST = 3
COSTED = ("bands", "channel_tile", "free_local_layers", "joint")
"""The options that costs of groups depend on."""

_recent: deque[tuple[object, GroupModel]] = deque(maxlen=MOST)
_one = threading.Lock()


def group_model(graph: Graph, machine: Machine, options: Mapping[str, Any]) -> GroupModel:
    """The model of groups of this very graph, which may know some of their costs."""
    asked = (machine, [options.get(name) for name in COSTED])
    with _one:
        for key, model in _recent:
            if model.graph is graph and key == asked:
                return model
    made = GroupModel(graph, machine, options)
    with _one:
        _recent.append((asked, made))
    return made
