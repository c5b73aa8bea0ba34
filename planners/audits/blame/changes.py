"""Plans that differ from a given one in one thing, and need less: each is planned and replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.audits.blame.parts import PeakPart, parts_of_plan
from planners.core.element_types import NATIVE
from planners.core.errors import SpillwayError
from planners.core.graph import Graph
from planners.core.plan import Plan
from planners.core.program import Compute
from planners.core.progress import TRIAL_SHARE, Clock
from planners.core.registry import COSMA, OVERLAP, planner
from planners.core.weights import COUNTED, LEFT_OUT, weights_of
from planners.simulator.check import CheckReport
from planners.simulator.claims import check
from planners.simulator.engine_assignment import with_engines

ADDRESSES, ORDER, TOGETHER = "other addresses", "another order", "outputs over dying inputs"
AWAY, TYPE = "off chip between its uses", "one byte an element"
KINDS = (ADDRESSES, ORDER, TOGETHER, AWAY, TYPE)
"""The changes, those that cost nothing first; a narrower type changes the numbers themselves."""
MOST_AWAY = 8
"""Tensors that are tried off chip, the largest of the peak."""


@dataclass(frozen=True)
class PeakChange:
    """A change of `kind`, of one `tensor` or of the whole plan, and what is planned with it.

    `peak_bytes` is the highest address of `plan`, as its replay finds it; `more_bytes` and
    `more_macs` what it moves and computes more than the given plan, below zero where less. `parts`
    are what its peak is made of. Of another tool's plan there may be no `plan`, nor these.
    """

    kind: str
    tensor: str
    peak_bytes: int
    saved_bytes: int
    more_bytes: int
    more_macs: int
    proven: bool
    parts: tuple[PeakPart, ...]
    plan: Plan | None

    @property
    def wish(self) -> str:
        """As `--wish` and the option `wishes` take it; empty where it is none."""
        return f"spill {self.tensor}" if self.kind == AWAY else ""

    @property
    def words(self) -> str:
        return f"{self.tensor} {self.kind}" if self.tensor else self.kind

    @property
    def cost(self) -> tuple[bool, int, int, int, int]:
        """What is cheapest is least: the same numbers, bytes moved, work, the kind, the peak."""
        rank = KINDS.index(self.kind) if self.kind in KINDS else len(KINDS)
        more = max(0, self.more_bytes), max(0, self.more_macs)
        return self.kind == TYPE, *more, rank, self.peak_bytes


def changes_of(
    plan: Plan, report: CheckReport, parts: Sequence[PeakPart], clock: Clock
) -> Iterator[PeakChange]:
    """Changes after which a plan needs less memory, each by itself, as far as the time goes."""
    graph = in_order_of(plan)
    counted = weights_of(plan.graph, plan.program) == COUNTED
    room = max(plan.budget_bytes, sum(graph.size_bytes(name) for name in graph.tensors))
    least = {"objective": "peak", "parameters": counted}

    def made(name: str, of: Graph, budget: int, options: Mapping[str, Any]) -> Plan | None:
        part = clock.silent(TRIAL_SHARE)
        try:
            plan_changed = planner(name).plan(
                of,
                plan.machine,
                budget,
                {**options, "time_limit": part.option_s},
                part.within,
            )
        except SpillwayError:
            return None  # There is no such plan: nothing to offer.
        return with_engines(plan_changed)

    def change(
        kind: str, plan: Plan | None, tensor: str = "", below: int = report.extent_bytes
    ) -> Iterator[PeakChange]:
        if plan is None or plan.claims.extent_bytes >= below:
            return  # to check what gains nothing by its own claim may take minutes
        after = check(plan)
        if after.extent_bytes >= below:
            return
        yield PeakChange(
            kind,
            tensor,
            after.extent_bytes,
            report.extent_bytes - after.extent_bytes,
            after.traffic_bytes - report.traffic_bytes,
            after.macs - report.macs,
            kind != AWAY and plan.claims.status == "optimal",
            parts_of_plan(plan, after),
            plan,
        )

    below = report.extent_bytes  # What another order and a wish have to be beyond.
    for kind, schedule in ((ADDRESSES, "default"), (ORDER, "joint")):
        if not clock.expired():
            plan_changed = made(COSMA, graph, room, {**least, "schedule": schedule})
            for each in change(kind, plan_changed, below=below):
                yield each
                below = each.peak_bytes if kind == ADDRESSES else below
    if not counted and not clock.expired():
        ram = {"objective": "ram", "weights": LEFT_OUT}
        yield from change(TOGETHER, made(OVERLAP, plan.graph, room, ram))
    for part in [p for p in parts if p.tensor][:MOST_AWAY]:
        if clock.expired():
            return
        away = {"wishes": (f"spill {part.tensor}",), "parameters": counted}
        roomy = made(COSMA, graph, room, away)
        need = check(roomy).peak_bytes if roomy else room
        if need < below:
            yield from change(AWAY, made(COSMA, graph, need, away), part.tensor, below)
    narrow = graph.bytes_per_element not in (NATIVE, 1) or any(
        part.size_bytes > graph.tensors[part.tensor].elements for part in parts if part.tensor
    )
    if narrow and not clock.expired():
        yield from change(TYPE, made(COSMA, graph.with_bytes_per_element(1), room, least))


def in_order_of(plan: Plan) -> Graph:
    """The graph with its operators in the order in which the plan first runs each."""
    graph = plan.graph
    ran = dict.fromkeys(
        item.operator for item in plan.program.instructions if isinstance(item, Compute)
    )
    if len(ran) != len(graph.operators):
        return graph
    operators = tuple(graph.operators[graph.index[name]] for name in ran)
    return graph if operators == graph.operators else replace(graph, operators=operators)
