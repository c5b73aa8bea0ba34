"""Which requests should run in the same worker, because they share intermediate results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.model.machines import ON_MACHINE

GRAPH_KEYS = ("model", "granularity", "bytes_per_element", "input_shape", "graph", "upload")
"""The fields of a problem that say which graph it is of."""


def affinity_of(problem: Mapping[str, Any]) -> str:
    """Equal for problems that share what is known of their groups: all fields except the budget."""
    names = (*GRAPH_KEYS, *ON_MACHINE, "options")
    return json.dumps([problem.get(name) for name in names], sort_keys=True)
