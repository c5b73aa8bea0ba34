"""Planners by name: ours, and those that others bring through the entry points."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from planners.errors import BadInput, UnknownName
from planners.graph.model import Graph
from planners.machine import Machine
from planners.plan import Plan
from planners.progress import ProgressCallback

PlanFunction: TypeAlias = Callable[
    [Graph, Machine, int, Mapping[str, Any], ProgressCallback | None], Plan
]
GROUP = "spillway.planners"


@dataclass(frozen=True)
class PlannerInfo:
    """A planner: its `plan` function as `module:function`, and its options with defaults.

    `always_counts` says that its plans count parameters whether they are asked to or not.
    """

    name: str
    title: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)
    always_counts: bool = False

    def function(self) -> PlanFunction:
        """Import the planner. Raises `BadInput` where it cannot be imported."""
        module, _, name = self.target.partition(":")
        try:
            found: PlanFunction = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise BadInput(f"planner {self.name!r} ({self.target}): {error}") from error
        return found


COSMA = PlannerInfo(
    "cosma",
    "COSMA: order, replacement and addresses",
    "planners.cosma:plan",
    {
        "schedule": ("default", "mpmf", "joint", "dnc"),
        "objective": ("traffic", "peak", "traffic_then_latency"),
        "replacement": ("optimal", "belady", "greedy", "size_ordered", "hill_climb"),
        "method": ("search", "ilp"),
    },
)
FUSION = PlannerInfo("fusion", "Optimus: fused groups", "planners.fusion:plan", always_counts=True)
OVERLAP = PlannerInfo(
    "overlap",
    "vMCU: outputs over dying inputs",
    "planners.overlap:plan",
    {"objective": ("macs", "ram", "latency"), "segment": ("pixel", "min", "gcd")},
)
STREAMING = PlannerInfo(
    "streaming",
    "Demand Layering: parameters layer by layer",
    "planners.streaming:plan",
    {"pipeline": ("exact", "pre", "seq", "sync", "async", "async-md", "2s", "2s-md")},
    always_counts=True,
)
AUTO = PlannerInfo(
    "auto",
    "the best of all planners",
    "planners.auto:plan",
    {"objective": ("latency", "traffic", "energy", "memory")},
    always_counts=True,
)


@cache
def planners() -> Mapping[str, PlannerInfo]:
    """All planners by name. An entry point in the group `spillway.planners` adds one."""
    found = {info.name: info for info in (COSMA, FUSION, OVERLAP, STREAMING, AUTO)}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, PlannerInfo(entry.name, entry.name, entry.value))
    return found


def planner(name: str) -> PlannerInfo:
    """The planner of that name. Raises `UnknownName` with the nearest and all names."""
    if name not in planners():
        nearest = difflib.get_close_matches(name, planners(), 1)
        raise UnknownName("planner", name, nearest, "available: " + ", ".join(planners()))
    return planners()[name]
