"""Planners by name: ours, and third-party ones through the entry points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast, get_type_hints

from planners.core.errors import BadInput, UnknownName
from planners.core.graph import Graph
from planners.core.lookups import with_rows_read
from planners.core.machine import Machine
from planners.core.options import Options
from planners.core.plan import Plan
from planners.core.progress import ProgressCallback
from planners.core.services import PlanFunction, load_target
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT, WEIGHTS, asked_weights, cannot

GROUP = "spillway.planners"


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: its `plan` function as `module:function`, and where its type of options is.

    A third-party planner gives its type as the annotation of its function's `options`; without
    one it takes any. `honours`: what weights may do in its plans (`planners.core.weights`).
    """

    name: str
    title: str
    target: str
    options_target: str = ""
    honours: tuple[str, ...] = (LEFT_OUT, COUNTED)

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
        """Plan with these options, in the type that a third-party planner gives.

        A plan in which weights do something else than is asked says so in its last note.
        """
        weights = asked_weights(options)
        if weights == IN_PLACE and IN_PLACE in self.honours:
            graph = with_rows_read(graph)
        taken: Mapping[str, Any] | Options = options
        if not self.options_target:
            short = {"parameters": True} if weights == COUNTED else {}  # what any planner knows
            rest = {name: value for name, value in options.items() if name != "weights"}
            taken = self.options.from_values(options) if self.options else {**rest, **short}
        plan = self.function()(graph, machine, budget_bytes, taken, progress)
        caveat = self.cannot(weights)
        return replace(plan, notes=(*plan.notes, caveat)) if caveat else plan

    def cannot(self, weights: str) -> str:
        """Why its plans are not compared with others where weights do this; empty if they are."""
        return cannot(self.name, weights, self.honours)

    def _imported(self, target: str) -> Any:
        try:
            return load_target(target)
        except (ImportError, AttributeError) as error:
            raise BadInput(f"planner {self.name!r} ({target}): {error}") from error


COSMA, FUSION, OVERLAP, STREAMING = "cosma", "fusion", "overlap", "streaming"
JOINED, AUTO = "joined", "auto"
OURS = (
    (COSMA, "COSMA: order, replacement and addresses", "CosmaOptions", WEIGHTS),
    (FUSION, "Optimus: fused groups", "FusionOptions", (COUNTED,)),
    (OVERLAP, "vMCU: outputs over dying inputs", "OverlapOptions", (LEFT_OUT, IN_PLACE)),
    (STREAMING, "Demand Layering: parameters layer by layer", "StreamingOptions", (COUNTED,)),
    (JOINED, "all four methods in one plan", "JoinedOptions", (COUNTED, IN_PLACE)),
    (AUTO, "the best of all planners", "AutoOptions", WEIGHTS),
)
DEFAULT = COSMA  # where none is named


@cache
def ours() -> Mapping[str, PlannerInfo]:
    """Our planners by name; no entry point takes the place of one."""
    return {
        name: PlannerInfo(
            name, title, f"planners.{name}:plan", f"planners.{name}.options:{options}", honours
        )
        for name, title, options, honours in OURS
    }


@cache
def planners() -> Mapping[str, PlannerInfo]:
    """All planners by name. An entry point in the group `spillway.planners` adds one."""
    from importlib.metadata import entry_points  # which looks at all that is installed

    infos = dict(ours())
    for entry in entry_points(group=GROUP):
        infos.setdefault(entry.name, PlannerInfo(entry.name, entry.name, entry.value))
    return infos


def planner(name: str) -> PlannerInfo:
    """The planner of that name. Raises `UnknownName` with the nearest and all names."""
    if name in ours():
        return ours()[name]
    if name not in planners():
        import difflib

        nearest = difflib.get_close_matches(name, planners(), 1)
        raise UnknownName("planner", name, nearest, "available: " + ", ".join(planners()))
    return planners()[name]
