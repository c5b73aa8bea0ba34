"""Planners that must not cost more than themselves.

`deadly` ends its process, `hog` never comes back and listens to nobody, `shy` makes the best plan
of all but one that cannot leave its process, `broken` has a bug.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planners.core.details import Details
from planners.cosma import plan as cosma


def deadly(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """End the process that it is called in, unless that is the caller's own."""
    assert os.environ["SPILLWAY_PROCESSES"] == "1", "not in a worker"
    os._exit(3)


def hog(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """Work until someone ends it."""
    while True:
        time.sleep(0.01)


def shy(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """COSMA's plan, with something that no other process can have."""
    plan = cosma(graph, machine, budget, options, None)
    return replace(plan, planner="shy", details=Details(extra={"secret": lambda: 1}))


def broken(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """Fail."""
    raise ZeroDivisionError("one over nothing")
