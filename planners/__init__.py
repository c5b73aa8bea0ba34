"""Spillway: plan how a neural network runs in a memory that is too small for it.

>>> import planners as sp
>>> graph = sp.load("squeezenet1_1")
>>> plan = sp.plan(graph, budget=sp.budgets(graph).MR)
>>> sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
True
"""

from importlib import import_module
from types import ModuleType

from planners.api import (
    audit,
    blame,
    execute,
    from_darknet,
    from_onnx,
    from_pt2,
    from_torch,
    plan,
    simulate,
    stream,
    write_code,
    write_weights,
)
from planners.catalogue import load, models
from planners.core.errors import (
    BadInput,
    BudgetTooSmall,
    Cancelled,
    ImportFailed,
    InvalidPlan,
    SpillwayError,
    UnknownName,
    WishesConflict,
)
from planners.core.graph import Graph, Operator, Tensor
from planners.core.machine import Machine, load_machine, presets, with_numbers
from planners.core.plan import Claims, Plan
from planners.core.progress import Progress
from planners.core.registry import PlannerInfo, planners
from planners.core.units import format_bytes, parse_size
from planners.core.version import installed_version
from planners.simulator.check import CheckReport, check
from planners.simulator.ground.interval import Interval
from planners.simulator.ground.residency import Residency
from planners.simulator.simulate import Trace
from planners.study.budgets import Budgets, budgets
from planners.study.sweep import even_budgets, summary, sweep

__version__ = installed_version()


def __getattr__(name: str) -> ModuleType:
    # Drawing takes a second to import, and few need it.
    if name == "plots":
        return import_module("planners.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BadInput",
    "BudgetTooSmall",
    "Budgets",
    "Cancelled",
    "CheckReport",
    "Claims",
    "Graph",
    "ImportFailed",
    "Interval",
    "InvalidPlan",
    "Machine",
    "Operator",
    "Plan",
    "PlannerInfo",
    "Progress",
    "Residency",
    "SpillwayError",
    "Tensor",
    "Trace",
    "UnknownName",
    "WishesConflict",
    "__version__",
    "audit",
    "blame",
    "budgets",
    "check",
    "even_budgets",
    "execute",
    "format_bytes",
    "from_darknet",
    "from_onnx",
    "from_pt2",
    "from_torch",
    "load",
    "load_machine",
    "models",
    "parse_size",
    "plan",
    "planners",
    "plots",
    "presets",
    "simulate",
    "stream",
    "summary",
    "sweep",
    "with_numbers",
    "write_code",
    "write_weights",
]
