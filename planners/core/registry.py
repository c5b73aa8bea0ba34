"""Planners by name: ours, and third-party ones through the entry points."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from typing import Any, cast, get_type_hints

from planners.core.errors import BadInput, UnknownName
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.options import Options
from planners.core.plan import Plan
from planners.core.progress import ProgressCallback
from planners.core.services import PlanFunction, load_target

GROUP = "spillway.planners"


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: its `plan` function as `module:function`, and where its type of options is.

    A third-party planner gives its type as the annotation of its function's `options`; without
    one it takes any. `always_counts`: its plans count parameters in any case.
    """

    name: str
    title: str
    target: str
    options_target: str = ""
    always_counts: bool = False

    def function(self) -> PlanFunction:
        """Import the planner. Raises `BadInput` where it cannot be imported."""
        function: PlanFunction = self._imported(self.target)
        return function

    @cached_property
    def options(self) -> type[Options] | None:
        """The type of its options; None where it gives none. Raises `BadInput` as `function`."""
        if self.options_target:
            return cast(type[Options], self._imported(self.options_target))
        try:
            annotated = get_type_hints(self.function()).get("options")
        except (NameError, TypeError):
            return None
        is_type = isinstance(annotated, type) and issubclass(annotated, Options)
        return annotated if is_type else None

    def plan(
        self,
        graph: Graph,
        machine: Machine,
        budget_bytes: int,
        options: Mapping[str, Any],
        progress: ProgressCallback | None = None,
    ) -> Plan:
        """Plan with these options, in the type that a third-party planner gives."""
        theirs = None if self.options_target else self.options
        taken = theirs.of(options) if theirs else options
        return self.function()(graph, machine, budget_bytes, taken, progress)

    def _imported(self, target: str) -> Any:
        try:
            return load_target(target)
        except (ImportError, AttributeError) as error:
            raise BadInput(f"planner {self.name!r} ({target}): {error}") from error


COSMA, FUSION, OVERLAP, STREAMING, AUTO = "cosma", "fusion", "overlap", "streaming", "auto"
OURS = (
    (COSMA, "COSMA: order, replacement and addresses", "CosmaOptions", False),
    (FUSION, "Optimus: fused groups", "FusionOptions", True),
    (OVERLAP, "vMCU: outputs over dying inputs", "OverlapOptions", False),
    (STREAMING, "Demand Layering: parameters layer by layer", "StreamingOptions", True),
    (AUTO, "the best of all planners", "AutoOptions", True),
)
DEFAULT = COSMA  # where none is named


@cache
def planners() -> Mapping[str, PlannerInfo]:
    """All planners by name. An entry point in the group `spillway.planners` adds one."""
    infos = {
        name: PlannerInfo(
            name, title, f"planners.{name}:plan", f"planners.{name}.options:{options}", counts
        )
        for name, title, options, counts in OURS
    }
    for entry in entry_points(group=GROUP):
        infos.setdefault(entry.name, PlannerInfo(entry.name, entry.name, entry.value))
    return infos


def planner(name: str) -> PlannerInfo:
    """The planner of that name. Raises `UnknownName` with the nearest and all names."""
    if name not in planners():
        nearest = difflib.get_close_matches(name, planners(), 1)
        raise UnknownName("planner", name, nearest, "available: " + ", ".join(planners()))
    return planners()[name]
