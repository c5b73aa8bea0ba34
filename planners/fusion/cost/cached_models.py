"""The last few models of groups: a graph asked again, by another budget or objective or for longer,
goes on with the costs that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planners.core.caches import RecentObjects
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.fusion.cost.group import GroupModel

COSTED = ("bands", "channel_tile", "free_local_layers", "joint")
"""The options that costs of groups depend on."""


@dataclass(frozen=True)
class AskedModel:
    """A model, and what it was made for."""

    asked: tuple[object, ...]
    model: GroupModel


_recent = RecentObjects[AskedModel](3)


def group_model(graph: Graph, machine: Machine, options: Mapping[str, Any]) -> GroupModel:
    """The model of groups of this very graph, which may know some of their costs."""
    key = (machine, *(options.get(name) for name in COSTED))
    return _recent.get(
        lambda known: known.model.graph is graph and known.asked == key,
        lambda: AskedModel(key, GroupModel(graph, machine, options)),
    ).model
